/** IP addresses and prefixes as Go reads and writes them. */

/** An address: its parts of 16 bits, and whether it was written as IPv4. */
export interface Address {
  readonly parts: readonly number[]
  readonly isV4: boolean
  /** Written as IPv6 around an IPv4 address. */
  readonly isMapped: boolean
  /** A part of an IPv4 address begins with a zero that it does not need. */
  readonly hasLeadingZeros: boolean
}

/** The address in a text; undefined if there is none. */
export function parseAddress(text: string): Address | undefined {
  return text.includes(':') ? parseV6(text) : parseV4(text)
}

export function isAddress(text: string): boolean {
  return parseAddress(text) !== undefined
}

/** A prefix as `10.0.0.0/8`. */
export interface Prefix {
  readonly address: Address
  readonly length: number
  readonly hasLeadingZeros: boolean
}

export function parsePrefix(text: string): Prefix | undefined {
  const slash = text.indexOf('/')
  if (slash < 0) return undefined
  const address = parseAddress(text.slice(0, slash))
  const length = text.slice(slash + 1)
  if (address === undefined || !/^[0-9]{1,7}$/.test(length)) return undefined
  if (Number(length) > (text.slice(0, slash).includes(':') ? 128 : 32)) return undefined
  const hasLeadingZeros = address.hasLeadingZeros || (length.length > 1 && length.startsWith('0'))
  return { address, length: Number(length), hasLeadingZeros }
}

export function isPrefix(text: string): boolean {
  return parsePrefix(text) !== undefined
}

/** The bits of an address, 32 or 128 of them, after a prefix of so many bits are zero. */
export function isMasked({ address, length }: Prefix): boolean {
  return bitsOf(address)
    .slice(length)
    .every(bit => bit === 0)
}

/** True if all of `inner` lies in `outer`, and `inner` is smaller. */
export function contains(outer: Prefix, inner: Prefix): boolean {
  if (outer.address.isV4 !== inner.address.isV4 || inner.length <= outer.length) return false
  const [a, b] = [bitsOf(outer.address), bitsOf(inner.address)]
  return a.slice(0, outer.length).every((bit, i) => bit === b[i])
}

/** The text that Go writes for an address. */
export function addressText({ parts, isV4, isMapped }: Address): string {
  if (isV4 || isMapped) {
    const [high = 0, low = 0] = parts.slice(-2)
    return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  }
  let best = { start: -1, length: 1 }
  for (let start = 0; start < 8; start++) {
    let length = 0
    while (start + length < 8 && parts[start + length] === 0) length++
    if (length > best.length) best = { start, length }
  }
  const hex = parts.map(part => part.toString(16))
  if (best.start < 0) return hex.join(':')
  return `${hex.slice(0, best.start).join(':')}::${hex.slice(best.start + best.length).join(':')}`
}

/** The text that Go writes for a prefix: with the bits after its length zeroed. */
export function prefixText(prefix: Prefix): string {
  const { address, length } = prefix
  const bits = bitsOf(address).map((bit, i) => (i < length ? bit : 0))
  const parts: number[] = []
  for (let i = 0; i < bits.length; i += 16) {
    parts.push(bits.slice(i, i + 16).reduce((value, bit) => value * 2 + bit, 0))
  }
  return `${addressText({ ...address, parts })}/${length}`
}

function bitsOf({ parts, isV4 }: Address): number[] {
  const used = isV4 ? parts.slice(-2) : parts
  return used.flatMap(part => Array.from({ length: 16 }, (_, i) => (part >> (15 - i)) & 1))
}

function parseV4(text: string): Address | undefined {
  const fields = text.split('.')
  if (fields.length !== 4 || fields.some(field => !/^[0-9]+$/.test(field))) return undefined
  const numbers = fields.map(Number)
  if (numbers.some(number => number > 255)) return undefined
  const [a = 0, b = 0, c = 0, d = 0] = numbers
  return {
    parts: [a * 256 + b, c * 256 + d],
    isV4: true,
    isMapped: false,
    hasLeadingZeros: fields.some(field => field.length > 1 && field.startsWith('0')),
  }
}

function parseV6(text: string): Address | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const [before, after] = halves.map(half => groupsOf(half)) as [Groups, Groups | undefined]
  if (before === undefined || (halves.length === 2 && after === undefined)) return undefined
  const known = before.length + (after?.length ?? 0)
  if (halves.length === 1 ? known !== 8 : known > 7) return undefined
  const parts = [...before, ...Array.from({ length: 8 - known }, () => 0), ...(after ?? [])]
  const isMapped = parts.slice(0, 5).every(part => part === 0) && parts[5] === 0xffff
  const last = text.slice(text.lastIndexOf(':') + 1)
  const hasLeadingZeros = last.includes('.') && (parseV4(last)?.hasLeadingZeros ?? false)
  return { parts, isV4: false, isMapped, hasLeadingZeros }
}

type Groups = number[] | undefined

/** The numbers between colons; the last may be an IPv4 address. */
function groupsOf(text: string): Groups {
  if (text === '') return []
  const groups: number[] = []
  const fields = text.split(':')
  for (const [i, field] of fields.entries()) {
    if (i === fields.length - 1 && field.includes('.')) {
      const inner = parseV4(field)
      if (inner === undefined) return undefined
      groups.push(...inner.parts)
    } else if (/^[0-9a-fA-F]{1,4}$/.test(field)) groups.push(Number.parseInt(field, 16))
    else return undefined
  }
  return groups
}
