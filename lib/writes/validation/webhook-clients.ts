/** The address of a webhook: how the server reaches it. The rules are those of
 *  k8s.io/apiserver/pkg/util/webhook/validation.go, texts included. */

import { goQuote, parseUrl } from '@watchglass/go'
import { dnsSubdomain, portNumber } from './formats.ts'
import type { Place } from './place.ts'

const form = '; desired format: https://host[/path]'

export function checkWebhookUrl(place: Place): void {
  const url = parseUrl(place.text)
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
