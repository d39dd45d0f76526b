/** The headers of requests and responses that pass. Headers of one connection are removed (RFC
 *  9110, 7.6.1), and so are identity headers, which only a front proxy may send. Headers that the
 *  client names in `Connection` are removed first and ours are added afterwards, so that a client
 *  cannot remove one of ours by naming it there. What frames or routes a message is removed with
 *  `_` for `-`, too: servers in between may take the one for the other (CGI has one name for both),
 *  and would see a second length or host beside ours. */

import type { IncomingHttpHeaders } from 'node:http'
import { UpstreamFailure } from '../upstream/failure.ts'
import { type ResponseHeaders, singleHeaders } from '@watchglass/cache'

/** Headers of one connection, and those that are written anew for each. We have answered `expect`
 *  ourselves. */
const connectionHeaders: ReadonlySet<string> = new Set([
  'connection',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
])

/** Trailers follow only a body without a length. */
function hasTrailers(code: number, method: string, headers: IncomingHttpHeaders): boolean {
  const hasBody = method !== 'HEAD' && code !== 204 && code !== 205 && code !== 304
  return hasBody && headers['content-length'] === undefined
}

/** Headers that may occur once. Node's HTTP/2 sends only one of each; a response with two different
 *  values is ambiguous. */
const sentOnce: ReadonlySet<string> = new Set([...singleHeaders, 'alt-svc', 'content-length'])

/** Forwarding headers, which we write ourselves: a client must not forge them. */
const forwardedHeaders: ReadonlySet<string> = new Set([
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
])

export interface ClientHeaders {
  /** Names and values alternating, as they were sent. */
  readonly rawHeaders: readonly string[]
  readonly method: string
  readonly host: string
  readonly address: string
  readonly isSecure: boolean
  readonly hasBody: boolean
}

export interface HeaderRules {
  /** True for an identity header, in any spelling. */
  readonly isIdentityHeader: (name: string) => boolean
  /** Headers that are not passed on, in lower case. */
  readonly replaced: readonly string[]
  /** Ours, in lower case. */
  readonly added: Readonly<Record<string, string | string[]>>
}

/** The headers of a request to the upstream: names and values alternating. */
export function requestHeaders(client: ClientHeaders, rules: HeaderRules): string[] {
  const { rawHeaders, hasBody } = client
  const named = namedByConnection(rawHeaders)
  const { replaced } = rules
  const passed: string[] = []
  const addresses: string[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    const value = rawHeaders[i + 1] ?? ''
    const plain = name.toLowerCase()
    if (named.has(plain) || replaced.includes(plain) || isDisguised(plain)) continue
    if (plain === 'x-forwarded-for') addresses.push(value)
    if (plain === 'te' && /\btrailers\b/i.test(value)) passed.push('TE', 'trailers')
    const isKept =
      !name.startsWith(':') &&
      !connectionHeaders.has(plain) &&
      !forwardedHeaders.has(plain) &&
      !rules.isIdentityHeader(plain) &&
      // Trailers follow a body.
      (hasBody || (plain !== 'content-length' && plain !== 'trailer'))
    if (isKept) passed.push(name, value)
  }
  passed.push('X-Forwarded-For', [...addresses, client.address].join(', '))
  passed.push('X-Forwarded-Host', client.host)
  passed.push('X-Forwarded-Proto', client.isSecure ? 'https' : 'http')
  for (const [name, values] of Object.entries(rules.added)) {
    for (const value of [values].flat()) passed.push(name, value)
  }
  return passed
}

/** True for a header that frames or routes a message, with `_` for `-`. */
function isDisguised(name: string): boolean {
  if (!name.includes('_')) return false
  const plain = name.replaceAll('_', '-')
  return connectionHeaders.has(plain) || forwardedHeaders.has(plain) || headersOnly.has(plain)
}

/** The trailers of a request to the upstream: names and values alternating. Headers that frame or
 *  route a message, or identify its sender, are removed from trailers (RFC 9110, 6.5.1), because
 *  some servers treat trailers as headers. */
export function requestTrailers(
  rawTrailers: readonly string[],
  rawHeaders: readonly string[],
  isIdentityHeader: (name: string) => boolean,
): string[] {
  const passed: string[] = []
  const named = rawTrailers.length === 0 ? noTokens : namedByConnection(rawHeaders)
  for (let i = 0; i + 1 < rawTrailers.length; i += 2) {
    const name = rawTrailers[i] ?? ''
    const plain = name.toLowerCase().replaceAll('_', '-')
    const isKept =
      !name.startsWith(':') &&
      !named.has(name.toLowerCase()) &&
      !connectionHeaders.has(plain) &&
      !forwardedHeaders.has(plain) &&
      !headersOnly.has(plain) &&
      !plain.startsWith('impersonate-') &&
      !isIdentityHeader(plain)
    if (isKept) passed.push(name, rawTrailers[i + 1] ?? '')
  }
  return passed
}

/** Never trailers. */
const headersOnly: ReadonlySet<string> = new Set([
  'authorization',
  'content-encoding',
  'content-length',
  'content-range',
  'content-type',
  'cookie',
  'max-forwards',
  'set-cookie',
  'trailer',
])

/** True for an identity header of any configured name. Some servers treat `_` as `-`. */
export function isRemoteHeader(name: string): boolean {
  const isLikely = name.startsWith('x') || name.startsWith('X')
  return isLikely && name.toLowerCase().replaceAll('_', '-').startsWith('x-remote-')
}

/** The part of a request that the headers of its response depend on. */
export interface AnsweredRequest {
  readonly method: string
  /** The client can receive trailers. */
  readonly canHaveTrailers: boolean
}

/** The headers of the upstream's response, for the client. Fails with `upstream_failed` if they
 *  contradict each other. */
export function answerHeaders(
  code: number,
  headers: IncomingHttpHeaders,
  { method, canHaveTrailers }: AnsweredRequest,
): Record<string, string | string[]> {
  const passed = withoutConnection(headers)
  for (const name in passed) {
    const value = passed[name]
    if (!Array.isArray(value) || !sentOnce.has(name)) continue
    const [first = '', ...others] = value
    if (others.some(other => other !== first)) {
      throw new UpstreamFailure('broken', `the upstream's answer has two values of ${name}`)
    }
    passed[name] = first
  }
  if (!canHaveTrailers || !hasTrailers(code, method, headers)) delete passed['trailer']
  return passed
}

function withoutConnection(headers: IncomingHttpHeaders): Record<string, string | string[]> {
  const named = tokensOf([headers.connection ?? ''].flat())
  const passed = Object.create(null) as Record<string, string | string[]>
  for (const name in headers) {
    const value = headers[name]
    if (value === undefined || connectionHeaders.has(name) || named.has(name)) continue
    passed[name] = value
  }
  return passed
}

/** The trailers of the upstream's response; undefined if there are none. If one that may occur once
 *  is repeated, all of it is dropped. */
export function answerTrailers(trailers: IncomingHttpHeaders): ResponseHeaders | undefined {
  const passed = withoutConnection(trailers)
  for (const name of Object.keys(passed)) {
    const isDoubled = Array.isArray(passed[name]) && sentOnce.has(name)
    if (isDoubled || headersOnly.has(name)) delete passed[name]
  }
  return Object.keys(passed).length === 0 ? undefined : passed
}

function namedByConnection(rawHeaders: readonly string[]): ReadonlySet<string> {
  const values: string[] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === 'connection') values.push(rawHeaders[i + 1] ?? '')
  }
  return tokensOf(values)
}

const noTokens: ReadonlySet<string> = new Set()

/** Most clients and servers send no `Connection` header, or only `keep-alive`, which names no other
 *  header. */
function tokensOf(values: readonly string[]): ReadonlySet<string> {
  const [first = '', ...rest] = values
  if (rest.length === 0 && (first === '' || first === 'keep-alive')) return noTokens
  const tokens = values.flatMap(value => value.split(','))
  return new Set(tokens.map(token => token.trim().toLowerCase()).filter(token => token !== ''))
}
