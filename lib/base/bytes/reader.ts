/** Reads the protobuf wire format from a window of bytes, field by field, without copies.
 *
 *  The window usually lies in a slab beside other values, so every step is checked against the
 *  window's end, not the array's. Input is never trusted: whatever is wrong sets `isMalformed`,
 *  after which the reader stands at its end, and loops over fields stop. Nothing is ever allocated
 *  by a length that the input names. */

import { int64FromVarint, varintEnd } from './varint.ts'

/** Wire types. Groups (3 and 4) occur nowhere in Kubernetes, and are malformed here as they are in
 *  its own decoder. */
export const wireVarint = 0
export const wireFixed64 = 1
export const wireBytes = 2
export const wireFixed32 = 5

/** Shared, as an array of its own is the dearest part of a reader. */
const noBytes: Uint8Array = new Uint8Array(0)

/** A cursor over one message at a time. Meant to be kept and `reset`, so that a hot path makes no
 *  objects.
 *
 *      reader.reset(bytes, start, end)
 *      while (reader.nextField()) {
 *        if (reader.field === 3 && reader.wire === wireBytes && reader.readWindow()) use(reader.start, reader.at)
 *        else reader.skip()
 *      }
 *      if (reader.isMalformed) ... */
export class WireReader {
  bytes: Uint8Array = noBytes
  /** The position of the next byte. After `readWindow`, the end of that window. */
  at = 0
  end = 0
  /** Number of the field that `nextField` found. */
  field = 0
  wire = 0
  /** Beginning of the window that `readWindow` found; it ends at `at`. */
  start = 0
  isMalformed = false

  reset(bytes: Uint8Array, start: number, end: number): void {
    this.bytes = bytes
    this.at = start
    this.end = end
    this.isMalformed = false
  }

  /** Reads the next field's number and wire type; false at the end, and when the bytes are
   *  malformed. */
  nextField(): boolean {
    if (this.at >= this.end) return false
    let tag = this.bytes[this.at] as number
    if (tag < 0x80) this.at++
    else tag = this.readVarint()
    this.wire = tag & 7
    this.field = tag < 0x8000_0000 ? tag >>> 3 : Math.floor(tag / 8)
    if (this.field === 0 || this.field > maxFieldNumber) return this.malformed()
    return true
  }

  /** An unsigned varint as a number. Exact up to 2^53; use `readInt64` where negative values mean
   *  something. */
  readVarint(): number {
    let value = 0
    let scale = 1
    for (let count = 0; count < 10 && this.at < this.end; count++) {
      const byte = this.bytes[this.at++] as number
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
      scale *= 0x80
    }
    this.malformed()
    return 0
  }

  /** A varint as Go reads it into an `int64`. */
  readInt64(): bigint {
    const value = int64FromVarint(this.bytes, this.at, this.end)
    if (value === undefined) {
      this.malformed()
      return 0n
    }
    this.at = varintEnd(this.bytes, this.at, this.end)
    return value
  }

  /** Reads a length and steps over that many bytes: they lie from `start` to `at`. */
  readWindow(): boolean {
    let length = this.at < this.end ? (this.bytes[this.at] as number) : 0x80
    if (length < 0x80) this.at++
    else length = this.readVarint()
    if (length > this.end - this.at) return this.malformed()
    this.start = this.at
    this.at += length
    return !this.isMalformed
  }

  /** Steps over the value of the field that `nextField` found. */
  skip(): boolean {
    switch (this.wire) {
      case wireVarint:
        this.readVarint()
        return !this.isMalformed
      case wireBytes:
        return this.readWindow()
      case wireFixed64:
        return this.#step(8)
      case wireFixed32:
        return this.#step(4)
      default:
        return this.malformed()
    }
  }

  /** Gives up on the message. Always false, so that it can be returned. */
  malformed(): false {
    this.isMalformed = true
    this.at = this.end
    return false
  }

  #step(length: number): boolean {
    if (length > this.end - this.at) return this.malformed()
    this.at += length
    return true
  }
}

/** The largest that protobuf allows. */
const maxFieldNumber = 0x1fff_ffff
