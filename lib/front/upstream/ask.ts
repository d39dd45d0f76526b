/** Our own requests to the upstream for JSON documents. */

import { CacheError } from '../../base/errors.ts'
import type { Upstream } from './upstream.ts'
import type { UpstreamAnswer } from '../../http/auth/upstream-calls.ts'

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
export async function askDocument(
  upstream: Pick<Upstream, 'call'>,
  asked: Asked,
): Promise<unknown> {
  return documentOf(asked.path, await ask(upstream, asked))
}

/** The document of an answer that must be 200. */
export function documentOf(path: string, { code, body }: UpstreamAnswer): unknown {
  if (code !== 200) throw new CacheError('upstream_failed', `${path} is answered ${code}`)
  try {
    return JSON.parse(Buffer.from(body).toString())
  } catch (error) {
    throw new CacheError('upstream_failed', `${path} is not answered with JSON`, { cause: error })
  }
}

/** The document of what one of several servers has answered: undefined when it gave none. */
export function readableDocument(path: string, answer: UpstreamAnswer | undefined): unknown {
  if (answer === undefined) return undefined
  try {
    return documentOf(path, answer)
  } catch (error) {
    if (error instanceof CacheError) return undefined
    throw error
  }
}
