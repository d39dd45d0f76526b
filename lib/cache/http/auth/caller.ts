/** The caller of a request: a key that identifies the caller, how the caller is shown to the
 *  upstream, and when their credentials expire. Credentials are passed on and hashed; they are
 *  never stored and never logged. */

import { hash, randomBytes } from 'node:crypto'
import { type Identity, protocolToken } from '@watchglass/kube'
import type { HttpRequest } from '../server/http-request.ts'
import type { UpstreamIdentity } from './upstream-calls.ts'

/** Headers for the upstream: names in lower case. */
export type PassedHeaders = Readonly<Record<string, string | string[]>>

export interface Caller {
  /** A keyed hash of the credentials: equal for equal ones, and useless to anyone who finds it. */
  readonly key: string
  /** Known if we have authenticated the caller ourselves; otherwise only the upstream knows. */
  readonly identity: Identity | undefined
  /** The headers that tell the upstream who the caller is. */
  readonly headers: PassedHeaders
  /** Why the upstream believes these headers: they are the caller's own credentials, or they are
   *  sent with our certificate of a front proxy, or (for an impersonation) with our own
   *  credentials. */
  readonly as: UpstreamIdentity
  /** On the wall clock; undefined if it is not known. */
  readonly expiresAtMs: number | undefined
}

/** The key of the hash. Without it, anyone who finds a hash could check guessed credentials
 *  against it. */
let salt = randomBytes(16).toString('hex')

/** For other threads of this process, which must know callers by the same keys. */
export function saltOfHashes(): string {
  return salt
}

/** Takes the salt of the thread that has started this one, before anything is hashed. */
export function adoptSalt(given: string): void {
  salt = given
}

/** The hash that stands for credentials, and for questions about them, in maps. The length of
 *  each text is hashed with it, so that different lists of texts never hash alike. */
export function hashed(texts: readonly string[]): string {
  let all = salt
  for (const text of texts) all += `${text.length}:${text}`
  return hash('sha256', all, 'base64')
}

/** The token in the header `Authorization`, read as upstream reads it: the word after the first
 *  space. Undefined if there is none, or if upstream ignores the header: the caller is
 *  anonymous. */
export function bearerToken(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined
  const [scheme = '', token = ''] = authorization.trim().split(' ', 3)
  return scheme.toLowerCase() === 'bearer' && token !== '' ? token : undefined
}

/** The header `Authorization` of a request, or what stands for it: a token among the subprotocols
 *  of a WebSocket, which upstream looks for where that header has none. */
export function authorizationOf({ headers, takeover }: HttpRequest): string | undefined {
  const { authorization } = headers
  if (takeover === undefined || bearerToken(authorization) !== undefined) return authorization
  const token = protocolToken(headers)
  return token === undefined ? authorization : `Bearer ${token}`
}

/** The caller of a bearer token; undefined if there is none. */
export function tokenCaller(authorization: string | undefined): Caller | undefined {
  const token = bearerToken(authorization)
  if (token === undefined) return undefined
  return {
    // The hash of the token alone: the scheme may be spelled in several ways.
    key: hashed(['token', token]),
    identity: undefined,
    headers: { authorization: `Bearer ${token}` },
    as: 'caller',
    expiresAtMs: expiryOfToken(token),
  }
}

/** When a JSON Web Token says that it expires. The token is not verified here, so this only
 *  makes a watch end early. */
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
