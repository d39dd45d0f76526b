/** Writes the protobuf wire format from the end of a buffer to its front.
 *
 *  A length-delimited field needs its length before its content. Written backwards, the length is
 *  known when its turn comes, so that no message is measured first and none is moved; a caller
 *  writes fields, and elements, last first. */

import { bigVarint, type Key, varintLength, wireBytes, writeVarint } from '@watchglass/base'

export class ProtoWriter {
  #bytes: Buffer
  /** Beginning of the written bytes. */
  #at: number

  /** A writer with room for `sizeHint` bytes; it grows when that is not enough. */
  constructor(sizeHint = 256) {
    this.#bytes = Buffer.allocUnsafe(sizeHint)
    this.#at = sizeHint
  }

  /** Number of written bytes. */
  get length(): number {
    return this.#bytes.length - this.#at
  }

  /** The written bytes. The writer must not be used after it. */
  finish(): Buffer {
    return this.#bytes.subarray(this.#at)
  }

  tag(field: number, type: number): void {
    this.uint(field * 8 + type)
  }

  /** An unsigned number up to 2^53 - 1. */
  uint(value: number): void {
    const size = varintLength(value)
    this.#reserve(size)
    this.#at -= size
    writeVarint(this.#bytes, this.#at, value)
  }

  /** A signed number of at most 2^53 - 1 either way. */
  int64(value: number): void {
    if (value >= 0) this.uint(value)
    else this.bigint64(BigInt(value))
  }

  /** A number with all its 64 bits, signed or not. */
  bigint64(value: bigint): void {
    this.raw(bigVarint(value))
  }

  /** Bytes as they are: fields that were written elsewhere. */
  raw(bytes: ArrayLike<number>): void {
    this.#reserve(bytes.length)
    this.#at -= bytes.length
    this.#bytes.set(bytes, this.#at)
  }

  /** The bytes from `start` to `end`, with their length before them. */
  window(bytes: Uint8Array, start: number, end: number): void {
    const length = end - start
    this.#reserve(length)
    this.#at -= length
    if (bytes instanceof Buffer) bytes.copy(this.#bytes, this.#at, start, end)
    else this.#bytes.set(bytes.subarray(start, end), this.#at)
    this.uint(length)
  }

  key(key: Key): void {
    const { length } = key
    this.#reserve(length)
    this.#at -= length
    this.#bytes.write(key, this.#at, length, 'latin1')
    this.uint(length)
  }

  text(text: string): void {
    const bytes = Buffer.from(text, 'utf8')
    this.window(bytes, 0, bytes.length)
  }

  /** Ends (that is, begins) an embedded message that was begun when `length` was `lengthBefore`. */
  closeMessage(field: number, lengthBefore: number): void {
    this.uint(this.length - lengthBefore)
    this.tag(field, wireBytes)
  }

  #reserve(size: number): void {
    if (this.#at >= size) return
    const used = this.length
    const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, used + size))
    this.#bytes.copy(grown, grown.length - used, this.#at)
    this.#at = grown.length - used
    this.#bytes = grown
  }
}
