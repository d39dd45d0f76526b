/** URLs as Go's net/url reads them. */

import { goQuote } from '@watchglass/go'
import type { Library } from '../declarations.ts'
import { failure, noOverload } from '../values/errors.ts'
import { ArrayList, EntryMap, Opaque, type Value } from '../values/values.ts'
import { ofItems, spendWork } from '../values/work.ts'

interface Parts {
  readonly scheme: string
  readonly host: string
  readonly path: string
  readonly query: string
}

class Url extends Opaque {
  readonly typeName = 'kubernetes.URL'
  readonly source: string
  readonly parts: Parts

  constructor(text: string, parts: Parts) {
    super()
    this.source = text
    this.parts = parts
  }

  equals(other: Opaque): boolean {
    return other instanceof Url && other.source === this.source
  }
}

/** The parts of the target of a request, or what is wrong with it. */
function parse(text: string): Parts | string {
  spendWork(ofItems(text.length))
  // oxlint-disable-next-line no-control-regex
  if (/[\x00-\x1f\x7f]/.test(text)) return 'net/url: invalid control character in URL'
  if (text === '') return 'empty url'
  if (text.startsWith(':')) return 'missing protocol scheme'
  const scheme = /^[a-zA-Z][a-zA-Z0-9+.-]*(?=:)/.exec(text)?.[0] ?? ''
  const rest = scheme === '' ? text : text.slice(scheme.length + 1)
  const question = rest.indexOf('?')
  const [before, query] =
    question < 0 ? [rest, ''] : [rest.slice(0, question), rest.slice(question + 1)]
  const name = scheme.toLowerCase()
  if (!before.startsWith('/')) {
    return name === '' ? 'invalid URI for request' : { scheme: name, host: '', path: '', query }
  }
  const hasHost = name !== '' && before.startsWith('//')
  const slash = hasHost ? before.indexOf('/', 2) : 0
  const authority = hasHost ? before.slice(2, slash < 0 ? undefined : slash) : ''
  const path = slash < 0 ? '' : before.slice(slash)
  const problem =
    hostProblem(authority.slice(authority.lastIndexOf('@') + 1)) ?? escapeProblem(path)
  if (problem !== undefined) return problem
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  return { scheme: name, host, path, query }
}

function escapeProblem(text: string): string | undefined {
  const bad = /%(?![0-9a-fA-F]{2})[^]{0,2}/.exec(text)?.[0]
  return bad === undefined ? undefined : `invalid URL escape ${goQuote(bad)}`
}

function hostProblem(host: string): string | undefined {
  if (host.startsWith('[')) {
    const end = host.lastIndexOf(']')
    if (end < 0) return "missing ']' in host"
    return portProblem(host.slice(end + 1))
  }
  const colon = host.lastIndexOf(':')
  const problem = colon < 0 ? undefined : portProblem(host.slice(colon))
  if (problem !== undefined) return problem
  const bad = /[ <>"\\^`{|}]/.exec(host)?.[0]
  return bad === undefined ? escapeProblem(host) : `invalid character ${goQuote(bad)} in host name`
}

function portProblem(port: string): string | undefined {
  return /^(?::\d*)?$/.test(port) ? undefined : `invalid port ${goQuote(port)} after host`
}

/** The problem of the target of a request, as Go says it. */
export function requestUriProblem(text: string): string | undefined {
  const parts = parse(text)
  return typeof parts === 'string' ? `parse ${goQuote(text)}: ${parts}` : undefined
}

function urlOf(text: Value): Value {
  if (typeof text !== 'string') throw noOverload('url')
  const parts = parse(text)
  if (typeof parts !== 'string') return new Url(text, parts)
  throw failure(`URL parse error during conversion from string: parse ${goQuote(text)}: ${parts}`)
}

function partOf(read: (parts: Parts) => Value): (url: Value) => Value {
  return url => {
    if (!(url instanceof Url)) throw noOverload()
    return read(url.parts)
  }
}

function hostname({ host }: Parts): string {
  if (host.startsWith('[')) return host.slice(1, host.lastIndexOf(']'))
  return host.replace(/:\d*$/, '')
}

function escapedPath({ path }: Parts): string {
  spendWork(ofItems(path.length))
  return encodeURI(path).replaceAll('%25', '%')
}

/** The values of each name, in their order. */
function queryOf({ query }: Parts): Value {
  spendWork(query.length)
  const values = new Map<string, Value[]>()
  for (const [name, value] of new URLSearchParams(query)) {
    const known = values.get(name)
    if (known === undefined) values.set(name, [value])
    else known.push(value)
  }
  const map = new EntryMap()
  for (const [name, list] of values) map.add(name, new ArrayList(list))
  return map
}

const type = 'kubernetes.URL'

export const urls: Library = {
  signatures: {
    url: [`string_to_url: (string) ${type}`],
    isURL: ['is_url_string: (string) bool'],
    getScheme: [`url_get_scheme: ${type}.() string`],
    getHost: [`url_get_host: ${type}.() string`],
    getHostname: [`url_get_hostname: ${type}.() string`],
    getPort: [`url_get_port: ${type}.() string`],
    getEscapedPath: [`url_get_escaped_path: ${type}.() string`],
    getQuery: [`url_get_query: ${type}.() map(string, list(string))`],
  },
  implementations: {
    url: urlOf,
    isURL: (text: Value) => {
      if (typeof text !== 'string') throw noOverload('isURL')
      return typeof parse(text) !== 'string'
    },
    getScheme: partOf(({ scheme }) => scheme),
    getHost: partOf(({ host }) => host),
    getHostname: partOf(hostname),
    getPort: partOf(({ host }) => /:(\d*)$/.exec(host)?.[1] ?? ''),
    getEscapedPath: partOf(escapedPath),
    getQuery: partOf(queryOf),
  },
}
