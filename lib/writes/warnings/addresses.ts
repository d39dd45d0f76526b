/** Addresses and prefixes that are taken although nobody should write them so. */

import { addressText, isMasked, parseAddress, parsePrefix, prefixText } from '@watchglass/go'
import type { Place } from '../validation/place.ts'

export function ofAddress({ path, text }: Place): string[] {
  const address = parseAddress(text)
  if (address === undefined) return []
  const usual = addressText(address)
  if (address.hasLeadingZeros || address.isMapped) {
    return [`${path}: non-standard IP address "${text}" is invalid: use "${usual}"`]
  }
  return address.isV4 || usual === text
    ? []
    : [`${path}: IPv6 address "${text}" should be in RFC 5952 canonical format ("${usual}")`]
}

export function ofPrefix({ path, text }: Place): string[] {
  const prefix = parsePrefix(text)
  if (prefix === undefined) return []
  const warnings: string[] = []
  const usual = prefixText(prefix)
  if (!isMasked(prefix)) {
    const single = `${addressText(prefix.address)}/${prefix.address.isV4 ? 32 : 128}`
    warnings.push(
      `${path}: CIDR value "${text}" is ambiguous in this context (should be "${usual}" or "${single}"?)`,
    )
  }
  if (prefix.hasLeadingZeros || prefix.address.isMapped) {
    warnings.push(`${path}: non-standard CIDR value "${text}" is invalid: use "${usual}"`)
  }
  if (warnings.length > 0 || prefix.address.isV4 || usual === text) return warnings
  return [`${path}: IPv6 CIDR value "${text}" should be in RFC 5952 canonical format ("${usual}")`]
}
