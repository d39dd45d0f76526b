/** The address of a webhook: how the server reaches it. The rules are those of
 *  k8s.io/apiserver/pkg/util/webhook/validation.go, texts included. */

import { goQuote } from '../../../go/text.ts'
import { dnsSubdomain, portNumber } from './formats.ts'
import type { Place } from './place.ts'

const form = '; desired format: https://host[/path]'

export function checkWebhookUrl(place: Place): void {
  const url = parsed(place.text)
  if (typeof url === 'string') {
    const problem = `parse ${goQuote(place.text)}: ${url}`
    place.required(`url must be a valid URL: ${problem}${form}`)
    return
  }
  const { scheme, user, host, query, fragment } = url
  if (scheme !== 'https') place.invalid(`'https' is the only allowed URL scheme${form}`, scheme)
  if (host === '') place.invalid(`host must be specified${form}`, host)
  if (user !== undefined) place.invalid('user information is not permitted in the URL', user)
  if (fragment !== '') place.invalid('fragments are not permitted in the URL', fragment)
  if (query !== '') place.invalid('query parameters are not permitted in the URL', query)
}

interface Url {
  readonly scheme: string
  readonly user: string | undefined
  readonly host: string
  readonly query: string
  readonly fragment: string
}

/** The parts that net/url.Parse finds, or why it finds none. */
function parsed(text: string): Url | string {
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
  const [, port] = /(?<!^\[[^\]]*)(:[^:]*)$/.exec(host) ?? []
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

export function checkWebhookService(service: Place): void {
  const [name, namespace, path, port] = [
    service.in('name'),
    service.in('namespace'),
    service.in('path'),
    service.in('port'),
  ]
  if (name.text === '') name.required()
  if (namespace.text === '') namespace.required()
  if (port.isSet) {
    for (const problem of portNumber(port.number)) port.invalid(`port is not valid: ${problem}`)
  }
  if (path.text === '' || path.text === '/') return
  if (path.text === '//') {
    path.invalid('segment[0] may not be empty')
    return
  }
  if (!path.text.startsWith('/')) path.invalid("must start with a '/'")
  const steps = path.text.slice(1).replace(/\/$/, '').split('/')
  for (const [i, step] of steps.entries()) {
    if (step === '') path.invalid(`segment[${i}] may not be empty`)
    else for (const error of dnsSubdomain(step)) path.invalid(`segment[${i}]: ${error}`)
  }
}
