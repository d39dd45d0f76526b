/** Ranges of IPv4 from which Services have their addresses. */

import { isIPv4 } from 'node:net'

/** IPv4 addresses, as numbers: the first one, and their count. */
export interface AddressRange {
  readonly first: number
  readonly size: number
}

/** The range of a cluster that was told none, as kubeadm has it. */
export const usualClusterIpRange = '10.96.0.0/12'

/** The first of the addresses that are drawn (generated-values.ts of writes). */
export const drawnFirst: number = numberOfAddress('10.96.0.0')

/** The first address that a Service may have: that of the API server. */
export function firstAddress(cidr: string): string {
  return addressOf((rangeOf(cidr)?.first ?? drawnFirst) + 1)
}

/** Undefined for what is not IPv4. */
export function rangeOf(text: string): AddressRange | undefined {
  const [address = '', bits = ''] = text.split('/')
  if (!isIPv4(address)) return undefined
  const size = 2 ** (32 - Number(bits))
  return { first: Math.floor(numberOfAddress(address) / size) * size, size }
}

export function numberOfAddress(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
}

export function addressOf(number: number): string {
  return [24, 16, 8, 0].map(bits => Math.floor(number / 2 ** bits) % 256).join('.')
}
