/** Our own requests to the upstream for JSON documents, and what an answer says about a fact that
 *  is known already.
 *
 *  A fact that was learnt stays known while an answer merely cannot be had: the upstream is busy
 *  (429), fails (5xx), takes too long, cannot be reached, or refuses us (401, 403). It has not
 *  become another server by that, and an upstream in trouble must not get our clients' reads on
 *  top. Another document, and none (404), are answers, and replace what was known. */

import { CacheError } from '@watchglass/base'
import { UnexpectedAnswer, UpstreamFailure } from './failure.ts'
import type { Upstream } from './upstream.ts'
import type { UpstreamAnswer } from '@watchglass/cache'

/** The limit of an answer. Discovery of a cluster with a thousand definitions has some
 *  megabytes. */
const documentMaxBytes = 32 * 1024 * 1024

export interface Asked {
  readonly path: string
  readonly accept?: string | undefined
  readonly signal: AbortSignal
}

/** The answer, whatever its code. */
export function ask(
  upstream: Pick<Upstream, 'call'>,
  { path, accept = 'application/json', signal }: Asked,
): Promise<UpstreamAnswer> {
  const request = { method: 'GET', path, headers: { accept }, maxBytes: documentMaxBytes, signal }
  return upstream.call(request, 'ourselves')
}

/** The document of an answer that must be 200. */
export function documentOf(path: string, { code, body }: UpstreamAnswer): unknown {
  if (code !== 200) throw new UnexpectedAnswer(path, code)
  try {
    return JSON.parse(Buffer.from(body).toString())
  } catch (error) {
    throw new CacheError('upstream_failed', `${path} is not answered with JSON`, { cause: error })
  }
}

/** The word of a server about a fact:
 *  - `document`: this
 *  - `none`: it has no such document
 *  - `unanswered`: nothing; `isGone` if it cannot even be reached */
export type Heard =
  | { readonly type: 'document'; readonly document: unknown }
  | { readonly type: 'none' }
  | { readonly type: 'unanswered'; readonly isGone: boolean; readonly error: CacheError }

/** Reads the answer of a server, or the failure to get one. */
export function heardFrom(path: string, answer: UpstreamAnswer | CacheError): Heard {
  if (answer instanceof CacheError) {
    const isGone = answer instanceof UpstreamFailure && answer.fault === 'unreachable'
    return { type: 'unanswered', isGone, error: answer }
  }
  if (answer.code === 404 || answer.code === 410) return { type: 'none' }
  try {
    return { type: 'document', document: documentOf(path, answer) }
  } catch (error) {
    if (!(error instanceof CacheError)) throw error
    return { type: 'unanswered', isGone: false, error }
  }
}

/** Asks for a document. Fails with `closed` only. */
export async function hear(upstream: Pick<Upstream, 'call'>, asked: Asked): Promise<Heard> {
  try {
    return heardFrom(asked.path, await ask(upstream, asked))
  } catch (error) {
    if (asked.signal.aborted) throw error
    return heardFrom(asked.path, CacheError.from(error, 'upstream_failed'))
  }
}
