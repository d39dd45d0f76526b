/** The address of a webhook: how the server reaches it. */

import { dnsSubdomain } from './formats.ts'
import type { Place } from './place.ts'

const form = 'https://host[:port]/path'

export function checkWebhookUrl(url: Place): void {
  const [, scheme = '', host = '', rest = ''] =
    /^([a-zA-Z][a-zA-Z0-9+.-]*):\/\/([^/?#]*)(.*)$/s.exec(url.text) ?? []
  if (scheme === '' && host === '' && !url.text.startsWith('/')) {
    if (!/^[^:/?#]*$/.test(url.text.split('/')[0] ?? '')) {
      url.required(`url must be a valid URL: parse "${url.text}": invalid URL`)
      return
    }
  }
  if (scheme !== 'https') {
    url.invalid(`'https' is the only allowed URL scheme; desired format: ${form}`, scheme)
  }
  if (host === '') url.invalid(`host must be specified; desired format: ${form}`, host)
  if (host.includes('@')) {
    url.invalid(`user information is not permitted in the URL; desired format: ${form}`, host)
  }
  if (rest.includes('#')) {
    url.invalid('fragments are not permitted in the URL', rest.slice(rest.indexOf('#') + 1))
  }
  if (rest.includes('?')) {
    url.invalid('query parameters are not permitted in the URL', rest.slice(rest.indexOf('?') + 1))
  }
}

export function checkWebhookService(service: Place): void {
  const [name, namespace, path, port] = [
    service.in('name'),
    service.in('namespace'),
    service.in('path'),
    service.in('port'),
  ]
  if (name.text === '') name.required('service name is required')
  if (namespace.text === '') namespace.required('service namespace is required')
  if (port.isSet && (port.number < 1 || port.number > 65535)) {
    port.invalid('port is not valid: must be between 1 and 65535, inclusive')
  }
  if (!path.isSet || path.text === '/') return
  if (path.text === '') {
    path.invalid('must not be empty')
    return
  }
  if (!path.text.startsWith('/')) path.invalid("must start with a '/'")
  const steps = path.text.slice(1).replace(/\/$/, '').split('/')
  for (const [i, step] of steps.entries()) {
    if (step === '') path.invalid(`segment[${i}] may not be empty`)
    else for (const error of dnsSubdomain(step)) path.invalid(`segment[${i}]: ${error}`)
  }
}
