/** Answers with the page: to browsers only. Whoever does not ask for HTML gets the API's own
 *  answer. */

import { createHash } from 'node:crypto'
import type { Exchange } from '../server/exchange.ts'
import { type Response, sendWhole } from '../server/respond.ts'
import { renderPage } from './page.ts'
import type { PageSource } from './page-source.ts'
import { script } from './script.ts'
import { style } from './style.ts'

const pageType = 'text/html; charset=utf-8'

/** Nothing but the page's own style and script is used, and it is shown in no other page. */
const policy = [
  "default-src 'none'",
  `style-src '${hashOf(style)}'`,
  `script-src '${hashOf(script)}'`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const headers: Record<string, string> = {
  'content-type': pageType,
  'content-security-policy': policy,
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  vary: 'Accept',
}

/** Whether a request for `/` comes from a browser's address bar: only these name HTML. */
export function isForPage({ method, headers: { accept = '' } }: Exchange, path: string): boolean {
  if (path !== '/' || (method !== 'GET' && method !== 'HEAD')) return false
  return accept.split(',').some(clause => clause.trim().split(';')[0] === 'text/html')
}

/** The page of now. */
export async function pageAnswer(
  source: PageSource,
): Promise<Response & { readonly body: Buffer }> {
  return { status: 200, headers, body: Buffer.from(await renderPage(source)) }
}

/** Sends the page of now. */
export async function answerPage(exchange: Exchange, source: PageSource): Promise<void> {
  const { body, ...response } = await pageAnswer(source)
  sendWhole(exchange, response, body)
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}
