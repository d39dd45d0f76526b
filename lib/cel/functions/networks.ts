/** Addresses and prefixes of networks: `cidr('10.0.0.0/8').containsIP(ip('10.1.2.3'))`. */

import {
  type Address,
  addressText,
  goQuote,
  parseAddress,
  parsePrefix,
  type Prefix,
} from '@watchglass/go'
import type { Library } from '../declarations.ts'
import { failure, noOverload } from '../values/errors.ts'
import { Opaque, type Value } from '../values/values.ts'
import { spendWork } from '../values/work.ts'

class Ip extends Opaque {
  readonly typeName = 'net.IP'
  readonly address: Address

  constructor(address: Address) {
    super()
    this.address = address
  }

  override get size(): number {
    return this.address.isV4 ? 4 : 16
  }

  override get text(): string {
    return addressText(this.address)
  }

  equals(other: Opaque): boolean {
    return other.text === this.text
  }
}

class Cidr extends Opaque {
  readonly typeName = 'net.CIDR'
  readonly prefix: Prefix

  constructor(prefix: Prefix) {
    super()
    this.prefix = prefix
  }

  override get size(): number {
    return Math.ceil(this.prefix.length / 8)
  }

  override get text(): string {
    return `${addressText(this.prefix.address)}/${this.prefix.length}`
  }

  equals(other: Opaque): boolean {
    return other.text === this.text
  }
}

/** The bytes of an address. */
function bytesOf({ parts, isV4 }: Address): readonly number[] {
  return (isV4 ? parts.slice(-2) : parts).flatMap(part => [part >> 8, part & 0xff])
}

function readIp(text: string): Address | string {
  const shown = goQuote(text)
  const zone = text.indexOf('%')
  const address = parseAddress(zone < 0 ? text : text.slice(0, zone))
  if (address === undefined || address.hasLeadingZeros) {
    return `IP Address ${shown} parse error during conversion from string: ParseAddr(${shown}): ${addressProblem(text)}`
  }
  if (zone >= 0) return `IP address ${shown} with zone value is not allowed`
  if (address.isMapped) return `IPv4-mapped IPv6 address ${shown} is not allowed`
  return address
}

/** Most of what netip finds wrong. */
function addressProblem(text: string): string {
  if (text.includes(':')) return 'unable to parse IP'
  if (!text.includes('.')) return 'unable to parse IP'
  const bad = /[^0-9.]/.exec(text)
  if (bad !== null) {
    return `unexpected character (at ${goQuote(text.slice(bad.index))})`
  }
  const fields = text.split('.')
  if (fields.includes('')) return 'IPv4 field must have at least one digit'
  if (fields.some(field => field.length > 1 && field.startsWith('0'))) {
    return 'IPv4 field has octet with leading zero'
  }
  if (fields.some(field => Number(field) > 255)) return 'IPv4 field has value >255'
  return fields.length < 4 ? 'IPv4 address too short' : 'IPv4 address too long'
}

function readCidr(text: string): Prefix | string {
  const shown = goQuote(text)
  const detail = 'network address parse error during conversion from string: '
  if (!text.includes('/')) return `${detail}netip.ParsePrefix(${shown}): no '/'`
  const prefix = parsePrefix(text)
  if (prefix === undefined || prefix.hasLeadingZeros) {
    const bits = text.slice(text.lastIndexOf('/') + 1)
    const isAddress = parseAddress(text.slice(0, text.lastIndexOf('/'))) !== undefined
    const problem = /^\d+$/.test(bits) ? 'prefix length out of range' : 'bad bits after slash'
    return `${detail}netip.ParsePrefix(${shown}): ${isAddress ? problem : `ParseAddr(${goQuote(text.slice(0, text.lastIndexOf('/')))}): unable to parse IP`}`
  }
  if (prefix.address.isMapped) return `IPv4-mapped IPv6 address ${shown} is not allowed`
  return prefix
}

function ipOf(value: Value): Ip {
  if (value instanceof Ip) return value
  const address = readIp(textIn(value))
  if (typeof address === 'string') throw failure(address)
  return new Ip(address)
}

function cidrOf(value: Value): Cidr {
  if (value instanceof Cidr) return value
  const prefix = readCidr(textIn(value))
  if (typeof prefix !== 'string') return new Cidr(prefix)
  throw failure(`network address parse error during conversion from string: ${prefix}`)
}

/** To read a character, and to quote it in an error. */
const charWork = 3

function textIn(value: Value): string {
  if (typeof value !== 'string') throw noOverload()
  spendWork(value.length * charWork)
  return value
}

function hasPrefix({ address, length }: Prefix, other: Address): boolean {
  if (address.isV4 !== other.isV4) return false
  const [a, b] = [bytesOf(address), bytesOf(other)]
  for (let bit = 0; bit < length; bit++) {
    const mask = 0x80 >> (bit & 7)
    if ((((a[bit >> 3] ?? 0) ^ (b[bit >> 3] ?? 0)) & mask) !== 0) return false
  }
  return true
}

function masked({ address, length, hasLeadingZeros }: Prefix): Prefix {
  const { parts } = address
  const first = address.isV4 ? parts.length - 2 : 0
  const kept = parts.map((part, i) => {
    const bits = Math.min(16, Math.max(0, length - (i - first) * 16))
    return i < first ? part : part & (0xffff << (16 - bits)) & 0xffff
  })
  return { address: { ...address, parts: kept }, length, hasLeadingZeros }
}

/** A question about an address, by its bytes. */
function ask(test: (bytes: readonly number[]) => boolean): (value: Value) => Value {
  return value => {
    if (!(value instanceof Ip)) throw noOverload()
    return test(bytesOf(value.address))
  }
}

const isZero = (bytes: readonly number[]): boolean => bytes.every(byte => byte === 0)
const isLoopback = (bytes: readonly number[]): boolean =>
  bytes.length === 4 ? bytes[0] === 127 : isZero(bytes.slice(0, 15)) && bytes[15] === 1
const isMulticast = ([a = 0]: readonly number[], isV4: boolean): boolean =>
  isV4 ? a >= 224 && a < 240 : a === 0xff
const isLinkLocal = (bytes: readonly number[]): boolean => {
  const [a = 0, b = 0] = bytes
  return bytes.length === 4 ? a === 169 && b === 254 : a === 0xfe && (b & 0xc0) === 0x80
}
const isLinkLocalMulticast = (bytes: readonly number[]): boolean => {
  const [a = 0, b = 0, c = 0] = bytes
  return bytes.length === 4 ? a === 224 && b === 0 && c === 0 : a === 0xff && (b & 0x0f) === 2
}
const isGlobal = (bytes: readonly number[]): boolean => {
  const isV4 = bytes.length === 4
  if (isV4 && bytes.every(byte => byte === 255)) return false
  return !isZero(bytes) && !isLoopback(bytes) && !isMulticast(bytes, isV4) && !isLinkLocal(bytes)
}

export function isGlobalUnicast(address: Address): boolean {
  return isGlobal(bytesOf(address))
}

const [ip, cidr] = ['net.IP', 'net.CIDR']

export const addresses: Library = {
  signatures: {
    ip: [`string_to_ip: (string) ${ip}`],
    family: [`ip_family: ${ip}.() int`],
    'ip.isCanonical': ['ip_is_canonical: (string) bool'],
    isUnspecified: [`ip_is_unspecified: ${ip}.() bool`],
    isLoopback: [`ip_is_loopback: ${ip}.() bool`],
    isLinkLocalMulticast: [`ip_is_link_local_multicast: ${ip}.() bool`],
    isLinkLocalUnicast: [`ip_is_link_local_unicast: ${ip}.() bool`],
    isGlobalUnicast: [`ip_is_global_unicast: ${ip}.() bool`],
    isIP: ['is_ip: (string) bool'],
    string: [`ip_to_string: (${ip}) string`],
  },
  implementations: {
    ip: (value: Value) => (value instanceof Cidr ? new Ip(value.prefix.address) : ipOf(value)),
    family: (value: Value) => (ipOf(value).address.isV4 ? 4 : 6),
    'ip.isCanonical': (text: Value) => ipOf(text).text === text,
    isUnspecified: ask(isZero),
    isLoopback: ask(isLoopback),
    isLinkLocalMulticast: ask(isLinkLocalMulticast),
    isLinkLocalUnicast: ask(isLinkLocal),
    isGlobalUnicast: ask(isGlobal),
    isIP: (text: Value) => typeof readIp(textIn(text)) !== 'string',
  },
}

export const prefixes: Library = {
  signatures: {
    cidr: [`string_to_cidr: (string) ${cidr}`],
    containsIP: [
      `cidr_contains_ip_string: ${cidr}.(string) bool`,
      `cidr_contains_ip_ip: ${cidr}.(${ip}) bool`,
    ],
    containsCIDR: [
      `cidr_contains_cidr_string: ${cidr}.(string) bool`,
      `cidr_contains_cidr: ${cidr}.(${cidr}) bool`,
    ],
    ip: [`cidr_ip: ${cidr}.() ${ip}`],
    prefixLength: [`cidr_prefix_length: ${cidr}.() int`],
    masked: [`cidr_masked: ${cidr}.() ${cidr}`],
    isCIDR: ['is_cidr: (string) bool'],
    string: [`cidr_to_string: (${cidr}) string`],
  },
  implementations: {
    cidr: (text: Value) => cidrOf(textIn(text)),
    containsIP: (of: Value, other: Value) => {
      const address = other instanceof Ip ? other.address : readIp(textIn(other))
      if (typeof address === 'string') throw noOverload()
      return hasPrefix(cidrOf(of).prefix, address)
    },
    containsCIDR: (of: Value, other: Value) => {
      const [outer, inner] = [cidrOf(of).prefix, cidrOf(other).prefix]
      return outer.length <= inner.length && hasPrefix(outer, inner.address)
    },
    prefixLength: (of: Value) => cidrOf(of).prefix.length,
    masked: (of: Value) => new Cidr(masked(cidrOf(of).prefix)),
    isCIDR: (text: Value) => typeof readCidr(textIn(text)) !== 'string',
  },
}
