/** Values of ASN.1 in its distinguished encoding (X.690), as Go reads them. */

export interface DerPart {
  readonly content: Buffer
  /** The bytes after it. */
  readonly rest: Buffer
}

/** The beginning of a value. */
export interface DerHead {
  readonly class: number
  readonly tag: number
  readonly length: number
  readonly isCompound: boolean
  /** The place where the content begins. */
  readonly at: number
}

/** Lengths and numbers of 31 bits are the largest that Go takes. */
const lengthMax = 2 ** 31

/** The value with which the bytes begin, if it has this tag and is whole. */
export function readDer(bytes: Buffer, tag: number): DerPart | undefined {
  if (bytes[0] !== tag) return undefined
  const head = readHead(bytes, 0)
  if (typeof head === 'string' || head.at + head.length > bytes.length) return undefined
  const end = head.at + head.length
  return { content: bytes.subarray(head.at, end), rest: bytes.subarray(end) }
}

/** The beginning of the value at a place where there is one; or what is wrong with it, in the words
 *  of encoding/asn1. */
export function readHead(bytes: Buffer, from: number): DerHead | string {
  const first = bytes[from] ?? 0
  let [tag, at] = [first & 0x1f, from + 1]
  if (tag === 0x1f) {
    const long = readBase128(bytes, at)
    if (typeof long === 'string') return long
    ;[tag, at] = long
    if (tag < 0x1f) return syntax('non-minimal tag')
  }
  let length = bytes[at++]
  if (length === undefined) return truncated
  if (length >= 0x80) {
    const count = length & 0x7f
    if (count === 0) return syntax('indefinite length found (not DER)')
    length = 0
    for (let i = 0; i < count; i++) {
      const byte = bytes[at++]
      if (byte === undefined) return truncated
      if (length >= 2 ** 23) return structure('length too large')
      length = length * 256 + byte
      if (length === 0) return structure('superfluous leading zeros in length')
    }
    if (length < 0x80) return structure('non-minimal length')
  }
  return { class: first >> 6, tag, length, isCompound: (first & 0x20) !== 0, at }
}

/** The number at a place, and the place after it; or what is wrong with it. */
export function readBase128(bytes: Buffer, from: number): [number, at: number] | string {
  let number = 0
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (at - from === 5) return structure('base 128 integer too large')
    if (at === from && byte === 0x80) return syntax('integer is not minimally encoded')
    number = number * 128 + (byte & 0x7f)
    if (byte >= 0x80) continue
    return number < lengthMax ? [number, at + 1] : structure('base 128 integer too large')
  }
  return syntax('truncated base 128 integer')
}

/** True for the content of an integer that has no byte too many at its beginning. */
export function isShortest([first, second]: Buffer): boolean {
  return second === undefined || first !== (second < 0x80 ? 0 : 0xff)
}

/** A value that cannot be read. */
export function syntax(problem: string): string {
  return `asn1: syntax error: ${problem}`
}

/** A value that is another one than that which is expected. */
export function structure(problem: string): string {
  return `asn1: structure error: ${problem}`
}

const truncated = syntax('truncated tag or length')
