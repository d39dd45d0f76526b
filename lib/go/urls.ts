/** URLs as Go's net/url.Parse reads them, as far as what is wrong with them goes. */

import { goQuote } from './text.ts'

export interface Url {
  readonly scheme: string
  readonly user: string | undefined
  readonly host: string
  readonly query: string
  readonly fragment: string
}

/** The parts that net/url.Parse finds, or why it finds none. */
export function parseUrl(text: string): Url | string {
  const [before = '', ...fragments] = text.split('#')
  // oxlint-disable-next-line no-control-regex
  if (/[\0-\x1f\x7f]/.test(before)) return 'net/url: invalid control character in URL'
  if (before.startsWith(':')) return 'missing protocol scheme'
  const [head = '', scheme = ''] = /^([a-zA-Z][a-zA-Z0-9+.-]*):/.exec(before) ?? []
  const [rest = '', ...queries] = before.slice(head.length).split('?')
  const isOpaque = scheme !== '' && !rest.startsWith('/')
  if (scheme === '' && !rest.startsWith('/') && /^[^/]*:/.test(rest)) {
    return 'first path segment in URL cannot contain colon'
  }
  const [, authority = ''] = isOpaque ? [] : (/^\/\/([^/]*)/.exec(rest) ?? [])
  const at = authority.lastIndexOf('@')
  const host = authority.slice(at + 1)
  const port = portIn(host)
  if (port !== undefined && !/^:\d*$/.test(port)) {
    return `invalid port ${goQuote(port)} after host`
  }
  const [, odd] = /([ "<>\\^`{|}])/.exec(host) ?? []
  if (odd !== undefined) return `invalid character ${goQuote(odd)} in host name`
  const [, escape] = /(%(?![0-9a-fA-F]{2}).{0,2})/s.exec(rest) ?? []
  if (escape !== undefined && !isOpaque) return `invalid URL escape ${goQuote(escape)}`
  return {
    scheme: scheme.toLowerCase(),
    user: at < 0 ? undefined : authority.slice(0, at),
    host,
    query: queries.join('?'),
    fragment: fragments.join('#'),
  }
}

/** The port with its colon; one inside of brackets is a part of an address. */
function portIn(host: string): string | undefined {
  const colon = host.lastIndexOf(':')
  const isInside = host.startsWith('[') && !host.slice(0, colon).includes(']')
  return colon < 0 || isInside ? undefined : host.slice(colon)
}
