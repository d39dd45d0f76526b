/** Reads the protobuf wire format from one buffer. Keys come out as `Key` strings, values as windows on the buffer, integers of
 *  64 bits as numbers (exact up to 2^53) or, where all bits count, as bigint. What is malformed is an `invalid_request`. */

import { CacheError } from '../base/errors.ts'
import type { Key } from '../base/keys.ts'

/** How a field's value is laid out. Groups (3, 4) are not part of proto3. */
export const wireType = { varint: 0, fixed64: 1, delimited: 2, fixed32: 5 } as const

export class ProtoReader {
  readonly bytes: Buffer
  /** Where the next byte is read. */
  at: number
  /** Where the message under way ends. */
  end: number

  constructor(bytes: Uint8Array, start = 0, end: number = bytes.length) {
    this.bytes =
      bytes instanceof Buffer
        ? bytes
        : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.at = start
    this.end = end
  }

  /** True while the message under way has bytes left. */
  hasMore(): boolean {
    return this.at < this.end
  }

  /** An unsigned number of at most 32 bits: tags, lengths, enums. Higher bits are dropped, as every protobuf reader does. */
  uint32(): number {
    const first = this.#byte()
    if (first < 0x80) return first
    let value = first & 0x7f
    for (let shift = 7; shift < 70; shift += 7) {
      const byte = this.#byte()
      if (shift < 32) value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value >>> 0
    }
    throw malformed('a varint is longer than ten bytes')
  }

  /** A signed 64-bit number, exact up to 2^53. */
  int64(): number {
    const { at } = this
    const first = this.#byte()
    if (first < 0x80) return first
    this.at = at
    const [low, middle, high] = this.#parts()
    // 28 + 28 + 8 bits; the topmost is the sign.
    return high < 0x80
      ? low + middle * 0x1000_0000 + high * 0x100_0000_0000_0000
      : -(0x1000_0000 - low + (0xfff_ffff - middle) * 0x1000_0000) -
          (0xff - high) * 0x100_0000_0000_0000
  }

  /** A signed 64-bit number with all its bits. */
  bigint64(): bigint {
    return BigInt.asIntN(64, this.biguint64())
  }

  /** An unsigned 64-bit number with all its bits. */
  biguint64(): bigint {
    const { at } = this
    const first = this.#byte()
    if (first < 0x80) return BigInt(first)
    this.at = at
    const [low, middle, high] = this.#parts()
    return BigInt(low) | (BigInt(middle) << 28n) | (BigInt(high) << 56n)
  }

  bool(): boolean {
    return this.int64() !== 0
  }

  /** The bytes of a length-delimited field: a view, not a copy. */
  view(): Buffer {
    const length = this.delimited()
    return this.bytes.subarray(this.at - length, this.at)
  }

  key(): Key {
    const length = this.delimited()
    return this.bytes.toString('latin1', this.at - length, this.at) as Key
  }

  text(): string {
    const length = this.delimited()
    return this.bytes.toString('utf8', this.at - length, this.at)
  }

  /** Reads an embedded message: `read` sees only its bytes. */
  message<T>(read: (reader: ProtoReader) => T): T {
    const length = this.delimited()
    const { at: after, end } = this
    this.at = after - length
    this.end = after
    const value = read(this)
    this.at = after
    this.end = end
    return value
  }

  /** The failure of a known field that does not come as it should. */
  wrongType({ number, type }: { readonly number: number; readonly type: number }): CacheError {
    return malformed(`field ${number} has wire type ${type}`)
  }

  /** Passes over the value of a field that is not known. */
  skip(type: number): void {
    switch (type) {
      case wireType.varint:
        this.#parts()
        return
      case wireType.fixed64:
        this.#advance(8)
        return
      case wireType.delimited:
        this.delimited()
        return
      case wireType.fixed32:
        this.#advance(4)
        return
      default:
        throw malformed(`wire type ${type} is not known`)
    }
  }

  /** Passes over a length-delimited value, which then ends at `at`, and says how long it is. */
  delimited(): number {
    const length = this.uint32()
    this.#advance(length)
    return length
  }

  #advance(length: number): void {
    if (length > this.end - this.at) throw malformed('a field goes past the end of its message')
    this.at += length
  }

  #byte(): number {
    if (this.at >= this.end) throw malformed('a varint goes past the end of its message')
    return this.bytes[this.at++] ?? 0
  }

  /** A varint as its lowest 28 bits, the next 28 and the topmost 8. */
  #parts(): [number, number, number] {
    const parts: [number, number, number] = [0, 0, 0]
    for (let i = 0; i < 10; i++) {
      const byte = this.#byte()
      const bits = byte & 0x7f
      if (i < 4) parts[0] |= bits << (7 * i)
      else if (i < 8) parts[1] |= bits << (7 * (i - 4))
      else parts[2] |= (bits << (7 * (i - 8))) & 0xff
      if (byte < 0x80) return parts
    }
    throw malformed('a varint is longer than ten bytes')
  }
}

function malformed(what: string): CacheError {
  return new CacheError('invalid_request', `malformed protobuf: ${what}`)
}
