/** Who sent a request, as far as it matters here: what tells them apart from others, how they are shown to the upstream, and until
 *  when their credentials last. Credentials are passed on and hashed; they are never kept, and never logged. */

import { hash, randomBytes } from 'node:crypto'
import type { Identity } from '../../kube/access-review.ts'
import type { UpstreamIdentity } from '../../upstream/upstream.ts'

/** Headers for the upstream: names in lower case. */
export type PassedHeaders = Readonly<Record<string, string | string[]>>

export interface Caller {
  /** A hash over the credentials: the same for the same ones, of no use to whoever finds it. */
  readonly key: string
  /** Known without asking when we have authenticated them ourselves; the upstream knows it otherwise. */
  readonly identity: Identity | undefined
  /** What shows the upstream who they are. */
  readonly headers: PassedHeaders
  /** What vouches for these headers: nothing but themselves, our certificate of a front proxy, or, for an impersonation, our own
   *  credentials. */
  readonly as: UpstreamIdentity
  /** On the wall clock; undefined if nothing says. */
  readonly expiresAtMs: number | undefined
}

/** Without it, who finds a hash could try guessed credentials against it. */
const salt = randomBytes(16).toString('hex')

/** What stands for credentials, and for questions about them, in maps. Each text counts with its length, so that no two lists of texts
 *  make the same. */
export function hashed(texts: readonly string[]): string {
  let all = salt
  for (const text of texts) all += `${text.length}:${text}`
  return hash('sha256', all, 'base64')
}

/** Somebody with an Authorization header, read as upstream reads it: the word after the first space, if there is one. Undefined if there
 *  is none, or one that upstream does not look at: they are anonymous. */
export function tokenCaller(authorization: string | undefined): Caller | undefined {
  if (authorization === undefined) return undefined
  const [scheme = '', token = ''] = authorization.trim().split(' ', 3)
  if (scheme.toLowerCase() !== 'bearer' || token === '') return undefined
  return {
    // Of the token alone: whoever spells the rest differently is the same caller.
    key: hashed(['token', token]),
    identity: undefined,
    headers: { authorization: `Bearer ${token}` },
    as: 'caller',
    expiresAtMs: expiryOfToken(token),
  }
}

/** When a token says that it ends, if it is a JSON Web Token that does. It is not verified, and so decides nothing but that a
 *  watch ends early. */
export function expiryOfToken(token: string): number | undefined {
  const [, payload, signature, ...rest] = token.split('.')
  if (payload === undefined || signature === undefined || rest.length > 0) return undefined
  try {
    const claims: unknown = JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
    if (typeof claims !== 'object' || claims === null || !('exp' in claims)) return undefined
    const { exp } = claims
    return typeof exp === 'number' && Number.isFinite(exp) ? exp * 1000 : undefined
  } catch {
    return undefined
  }
}
