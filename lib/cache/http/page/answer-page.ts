/** Answers with the page: to browsers only. Whoever does not ask for HTML gets the API's own
 *  answer. */

import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { HttpRequest } from '../server/http-request.ts'
import { type Response, sendWhole } from '../server/respond.ts'
import { type FleetPageSource, renderFleetPage } from './fleet-page.ts'
import type { Shows } from './objects.ts'
import { renderPage } from './page.ts'
import type { PageSource } from './page-source.ts'
import { scriptOf } from './script.ts'
import { style } from './style.ts'

const pageType = 'text/html; charset=utf-8'

/** Nothing but the page's own style and script is used, and it is shown in no other page. */
function policyOf(shows: Shows): string {
  return [
    "default-src 'none'",
    `style-src '${hashOf(style)}'`,
    `script-src '${hashOf(scriptOf(shows))}'`,
    "connect-src 'self'",
    // The icon.
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** The policy of each page, made when it is first asked for. */
const policies = new Map<Shows, string>()

function headersOf(shows: Shows): Record<string, string> {
  const policy = policies.get(shows) ?? policyOf(shows)
  policies.set(shows, policy)
  return {
    'content-type': pageType,
    'content-security-policy': policy,
    'cache-control': 'no-store',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    vary: 'Accept, Accept-Encoding',
  }
}

/** Whether a request for `/` comes from a browser's address bar: only these name HTML. */
export function isForPage(
  { method, headers: { accept = '' } }: Pick<HttpRequest, 'method' | 'headers'>,
  path: string,
): boolean {
  if (path !== '/' || (method !== 'GET' && method !== 'HEAD')) return false
  return accept.split(',').some(clause => clause.trim().split(';')[0] === 'text/html')
}

/** An answer with its whole body. */
type WholeAnswer = Response & { readonly body: Buffer }

/** The page of now. */
export async function pageAnswer(
  source: PageSource,
  shows: Shows,
  request: HttpRequest,
): Promise<WholeAnswer> {
  return documentAnswer(await renderPage(source, shows), shows, request)
}

/** A page is asked for every two seconds while somebody looks, so it goes compressed to browsers,
 *  all of which take that. */
async function documentAnswer(
  document: string,
  shows: Shows,
  { headers: { 'accept-encoding': encodings = '' } }: HttpRequest,
): Promise<WholeAnswer> {
  const headers = headersOf(shows)
  const body = Buffer.from(document)
  if (!/\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/.test(String(encodings))) {
    return { status: 200, headers, body }
  }
  return {
    status: 200,
    headers: { ...headers, 'content-encoding': 'gzip' },
    body: await promisify(gzip)(body),
  }
}

/** Sends the page of now on a listener that has no API: without objects. */
export async function answerPage(request: HttpRequest, source: PageSource): Promise<void> {
  const { body, ...response } = await pageAnswer(source, 'figures', request)
  sendWhole(request, response, body)
}

/** Sends the page of a process with many clusters. */
export async function answerFleetPage(
  request: HttpRequest,
  source: FleetPageSource,
): Promise<void> {
  const { body, ...response } = await documentAnswer(
    await renderFleetPage(source),
    'figures',
    request,
  )
  sendWhole(request, response, body)
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}
