/** Parses a request line: the method and the raw target, as upstream reads them. Nothing here knows
 *  which resources exist.
 *
 *  The rules are those of Go's net/url and of kube-apiserver's RequestInfo, oddities included.
 *  Upstream's authorization and routing use exactly these values, so a different reading of a path
 *  would be a security hole. */

import { goParseDuration, goText } from '@watchglass/go'
import { badRequest } from '../status.ts'

/** A parsed request target. */
export interface RequestTarget {
  /** Path and query as they were sent. */
  readonly raw: string
  /** Decoded. */
  readonly path: string
  readonly query: Query
  /** False when the path has encoded slashes, dot segments or empty segments, or is not UTF-8:
   *  servers and proxies disagree about these, so nothing is answered from the mirror when there is
   *  an upstream to ask. */
  readonly isCanonical: boolean
}

/** The parameters of a query. */
export class Query {
  readonly #values: ReadonlyMap<string, readonly string[]>

  constructor(values: ReadonlyMap<string, readonly string[]>) {
    this.#values = values
  }

  /** The first value; undefined if the parameter is not there. */
  first(name: string): string | undefined {
    return this.#values.get(name)?.[0]
  }

  /** Every value. */
  all(name: string): readonly string[] {
    return this.#values.get(name) ?? []
  }

  /** The first value, or an empty text. */
  text(name: string): string {
    return this.first(name) ?? ''
  }

  /** Upstream's booleans: a parameter is true if it is present and not `0` or `false`. */
  flag(name: string): boolean {
    return this.optionalFlag(name) ?? false
  }

  optionalFlag(name: string): boolean | undefined {
    const value = this.first(name)
    return value === undefined ? undefined : value !== '0' && value.toLowerCase() !== 'false'
  }

  names(): string[] {
    return [...this.#values.keys()]
  }
}

/** The target of an HTTP request, or undefined where upstream closes the connection with a plain
 *  `400 Bad Request`. */
export function parseTarget(target: string): RequestTarget | undefined {
  const origin = originForm(target)
  if (origin === undefined || /[\0-\x20\x7f]/.test(origin)) return undefined
  const mark = origin.indexOf('?')
  const rawPath = mark < 0 ? origin : origin.slice(0, mark)
  const path = unescapeText(rawPath, false)
  if (path === undefined) return undefined
  const query = parseQuery(mark < 0 ? '' : origin.slice(mark + 1))
  return { raw: origin, path, query, isCanonical: isCanonicalPath(rawPath, path) }
}

/** The path and query, also of a target that names its server. */
function originForm(target: string): string | undefined {
  if (target.startsWith('/')) return target
  const absolute = /^https?:\/\/[^/?]*(.*)$/is.exec(target)
  if (absolute === null) return undefined
  const rest = absolute[1] ?? ''
  return rest.startsWith('/') ? rest : `/${rest}`
}

function isCanonicalPath(rawPath: string, path: string): boolean {
  if (/^(?:\/[\w~:@=,+-][\w.~:@=,+-]*)+\/?$/.test(rawPath)) return true
  if (/%2f|%5c|%00|\\/i.test(rawPath) || /\p{Surrogate}/u.test(path)) return false
  const segments = path.replace(/\/$/, '').split('/').slice(1)
  return segments.every(segment => segment !== '' && segment !== '.' && segment !== '..')
}

/** url.ParseQuery: a pair with `;` or a bad escape is dropped, the others count. */
export function parseQuery(text: string): Query {
  if (text === '') return noQuery
  const values = new Map<string, string[]>()
  for (const pair of text.split('&')) {
    if (pair === '' || pair.includes(';')) continue
    const equals = pair.indexOf('=')
    const name = unescapeText(equals < 0 ? pair : pair.slice(0, equals), true)
    const value = equals < 0 ? '' : unescapeText(pair.slice(equals + 1), true)
    if (name === undefined || value === undefined) continue
    const known = values.get(name)
    if (known === undefined) values.set(name, [value])
    else known.push(value)
  }
  return new Query(values)
}

const noQuery = new Query(new Map())

/** Percent decoding to text, which need not be UTF-8; undefined if an escape is broken. */
function unescapeText(text: string, isQuery: boolean): string | undefined {
  const spaced = isQuery && text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!text.includes('%')) return spaced
  if (/%(?![0-9a-fA-F]{2})/.test(text)) return undefined
  return spaced.replace(/(?:%[0-9a-fA-F]{2})+/g, escapes =>
    goText(Buffer.from(escapes.replaceAll('%', ''), 'hex')),
  )
}

/** The verbs of reads, of writes, and none for methods that upstream does not know. */
export type Verb =
  | 'get'
  | 'list'
  | 'watch'
  | 'create'
  | 'update'
  | 'patch'
  | 'delete'
  | 'deletecollection'
  | 'proxy'
  | ''

/** A resource request as upstream's authorization sees it. Absent texts are empty. */
export interface RequestInfo {
  readonly verb: Verb
  readonly group: string
  readonly version: string
  readonly namespace: string
  readonly resource: string
  readonly subresource: string
  readonly name: string
  /** True under the deprecated /watch/ paths. */
  readonly isWatchPath: boolean
}

const verbByMethod: ReadonlyMap<string, Verb> = new Map([
  ['POST', 'create'],
  ['GET', 'get'],
  ['HEAD', 'get'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
])

/** Below a namespace, these names are subresources of the namespace; all others are resources in
 *  it. */
const namespaceSubresources = new Set(['status', 'finalize'])

/** Subresources whose requests have no time limit, by kube-apiserver's own rule. */
export const longSubresources: ReadonlySet<string> = new Set([
  'attach',
  'exec',
  'log',
  'portforward',
  'proxy',
])

/** The resource request of a method and a decoded path; undefined if the path is not one. Whether a
 *  read without a name is a list or a watch, and the name that its field selector may require,
 *  depend on the query: see `refineInfo`. */
export function requestInfo(method: string, path: string): RequestInfo | undefined {
  let parts = splitPath(path)
  if (parts.length < 3) return undefined
  const prefix = parts[0]
  if (prefix !== 'api' && prefix !== 'apis') return undefined
  if (prefix === 'apis' && parts.length < 4) return undefined
  const group = prefix === 'api' ? '' : (parts[1] ?? '')
  parts = parts.slice(prefix === 'api' ? 1 : 2)
  const version = parts[0] ?? ''
  parts = parts.slice(1)
  let verb = verbByMethod.get(method) ?? ''
  const special = parts[0]
  if (special === 'watch' || special === 'proxy') {
    if (parts.length < 2) return undefined
    verb = special
    parts = parts.slice(1)
  }
  let namespace = ''
  if (parts[0] === 'namespaces' && parts.length > 1) {
    namespace = parts[1] ?? ''
    if (parts.length > 2 && !namespaceSubresources.has(parts[2] ?? '')) parts = parts.slice(2)
  }
  const [resource = '', name = '', subresource = ''] = parts
  return {
    verb: name === '' && verb === 'delete' ? 'deletecollection' : verb,
    group,
    version,
    namespace,
    resource,
    subresource: verb === 'proxy' ? '' : subresource,
    name,
    isWatchPath: special === 'watch',
  }
}

const slash = 0x2f

/** The segments between the slashes. Slashes at both ends are ignored; empty segments in the middle
 *  are kept. */
export function splitPath(path: string): string[] {
  let start = 0
  let end = path.length
  while (start < end && path.charCodeAt(start) === slash) start++
  while (start < end && path.charCodeAt(end - 1) === slash) end--
  const parts: string[] = []
  // Nearly twice as fast as to split what is between the ends.
  while (start < end) {
    const found = path.indexOf('/', start)
    const to = found < 0 || found > end ? end : found
    parts.push(path.slice(start, to))
    start = to + 1
  }
  return parts
}

/** Why a text cannot be a name in a path; undefined if it can. */
export function invalidPathName(name: string): string | undefined {
  if (name === '.' || name === '..') return `may not be '${name}'`
  const found = ['/', '%'].filter(char => name.includes(char))
  return found.length === 0 ? undefined : found.map(char => `may not contain '${char}'`).join(';')
}

/** The `timeout` parameter of the request; undefined if it has none. Long-running requests have no
 *  such limit. Refuses an invalid duration. */
export function requestTimeoutMs(query: Query): number | undefined {
  const text = query.text('timeout')
  if (text === '') return undefined
  const parsed = goParseDuration(text)
  if (typeof parsed !== 'number') {
    throw badRequest(`invalid timeout specified in the request URL - ${parsed.error}`)
  }
  return parsed > 0 ? parsed : undefined
}
