/** Fields that hold IP addresses or prefixes. */

import {
  addressText,
  isMasked,
  parseAddress,
  parsePrefix,
  type Prefix,
  prefixText,
} from '@watchglass/go'
import type { Place } from './place.ts'

const noAddress = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'
const noPrefix = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'

/** An address in a field that is older than strict parsing: it need not be canonical, and old
 *  values stay allowed. */
export function checkLegacyAddress(place: Place, allowed: readonly string[] = []): void {
  if (allowed.includes(place.text)) return
  const address = parseAddress(place.text)
  if (address === undefined) place.invalid(noAddress, place.text)
  else if (address.hasLeadingZeros) place.invalid('must not have leading 0s')
  else if (address.isMapped) place.invalid('must not be an IPv4-mapped IPv6 address')
}

/** The problems of an address that must be in canonical form. */
export function addressProblems(text: string): readonly string[] {
  const address = parseAddress(text)
  if (address === undefined) return [noAddress]
  const problems = [
    ...(address.hasLeadingZeros ? ['must not have leading 0s'] : []),
    ...(address.isMapped && !address.hasLeadingZeros
      ? ['must not be an IPv4-mapped IPv6 address']
      : []),
  ]
  const canonical = addressText(address)
  if (problems.length > 0 || canonical === text) return problems
  return [`must be in canonical form ("${canonical}")`]
}

/** An address in canonical form. */
export function checkAddress(place: Place): void {
  place.mustBe(addressProblems)
}

export function checkLegacyPrefix(place: Place, allowed: readonly string[] = []): void {
  if (allowed.includes(place.text)) return
  const prefix = parsePrefix(place.text)
  if (prefix === undefined) place.invalid(noPrefix, place.text)
  else checkPrefixForm(place, prefix)
}

/** False if its form is not that of a prefix, canonical or not. */
function checkPrefixForm(place: Place, prefix: Prefix): boolean {
  if (prefix.hasLeadingZeros) place.invalid('must not have leading 0s in IP or prefix length')
  else if (prefix.address.isMapped) place.invalid('must not have an IPv4-mapped IPv6 address')
  else if (!isMasked(prefix)) place.invalid('must not have bits set beyond the prefix length')
  else return true
  return false
}

/** A prefix in canonical form. */
export function checkPrefix(place: Place): void {
  const prefix = parsePrefix(place.text)
  if (prefix === undefined) {
    place.invalid(noPrefix, place.text)
    return
  }
  if (checkPrefixForm(place, prefix) && prefixText(prefix) !== place.text) {
    place.invalid(`must be in canonical form ("${prefixText(prefix)}")`)
  }
}

/** An address that others may be sent to. */
export function checkReachable(place: Place): void {
  const address = parseAddress(place.text)
  if (address === undefined) {
    place.invalid('must be a valid IP address', place.text)
    return
  }
  const { isV4, isMapped, parts } = address
  const text = addressText(address)
  const isFour = isV4 || isMapped
  const high = (isFour ? parts.at(-2) : parts[0]) ?? 0
  if (text === '0.0.0.0' || text === '::') {
    place.invalid(`may not be unspecified (${place.text})`)
  }
  if (isFour ? high >> 8 === 127 : text === '::1') {
    place.invalid('may not be in the loopback range (127.0.0.0/8, ::1/128)')
  }
  if (isFour ? high === 0xa9fe : (high & 0xffc0) === 0xfe80) {
    place.invalid('may not be in the link-local range (169.254.0.0/16, fe80::/10)')
  }
  const isLocalGroup = isFour
    ? high === 0xe000 && (parts.at(-1) ?? 0) >> 8 === 0
    : (high & 0xff0f) === 0xff02
  if (isLocalGroup) {
    place.invalid('may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)')
  }
}
