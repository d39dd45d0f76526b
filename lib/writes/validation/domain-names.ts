/** Fields that hold names of several parts. */

import { dnsLabel, dnsSubdomain } from './formats.ts'
import type { Place } from './place.ts'

/** A path behind a domain: `example.com/controller`. */
export function domainPrefixedPath(place: Place): void {
  if (place.text === '') {
    place.required()
    return
  }
  const slash = place.text.indexOf('/')
  const [host, path] = [place.text.slice(0, slash), place.text.slice(slash + 1)]
  if (slash <= 0 || path === '') {
    place.invalid('must be a domain-prefixed path (such as "acme.io/foo")')
    return
  }
  place.invalidFor(dnsSubdomain(host), host)
  if (/^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(path)) return
  const pattern = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+"
  place.invalid(`Invalid path (regex used for validation is '${pattern}')`, path)
}

/** The name of a webhook: a domain of at least three parts. */
export function fullyQualifiedName(place: Place): void {
  const { text } = place
  if (text === '') {
    place.required()
    return
  }
  const errors = dnsSubdomain(text)
  if (errors.length > 0) place.invalid(errors.join(','), text)
  else if (text.split('.').length < 3) {
    place.invalid('should be a domain with at least three segments separated by dots', text)
  }
}

/** A fully qualified domain name, which may end with a dot. */
export function fullyQualifiedDomainName(place: Place): void {
  const name = place.text.replace(/\.$/, '')
  if (place.text === '') {
    place.required()
    return
  }
  const errors = dnsSubdomain(name)
  if (errors.length > 0) place.invalid(errors.join(','), name)
  else if (!name.includes('.')) {
    place.invalid('should be a domain with at least two segments separated by dots', name)
  } else {
    for (const part of name.split('.')) {
      const problems = dnsLabel(part)
      if (problems.length === 0) continue
      place.invalid(problems.join(','), part)
      return
    }
  }
}
