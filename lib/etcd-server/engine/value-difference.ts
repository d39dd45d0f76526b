/** The difference of a value from another one: what is copied from there, and what is new.
 *
 *  ```
 *  ( length of new bytes | new bytes | length of a copy | zigzag( its start - end of the last ) )*
 *  ```
 *
 *  The numbers are varints. The values of objects that one template has made have most bytes in
 *  common, in the same order, and differ in names, ids, addresses and times. Of a pod of 4 KB 250
 *  bytes are left, for 8 µs, and 2 to make the value again. With zlib and a dictionary it is 220
 *  bytes, for 23 to 108 and 10 to 15 µs (November 2026). */

import { writeVarint } from '@watchglass/base'

/** Longer values are not compared: their copies would hold the event loop for too long, and few
 *  are alike. */
export const comparedMaxBytes: number = 32 * 1024

/** Copies that go on where they would without the new bytes cost three bytes, others up to six. */
const copyMinBytes = 6
const movedCopyMinBytes = 12
const hashBits = 11
/** Values that have nothing in common are found out after as many bytes. */
const startMaxBytes = 512

/** The new bytes and numbers of the difference that is being written. */
const scratch: Buffer = Buffer.alloc(comparedMaxBytes)

/** A value from which others may differ in little. */
export class Base {
  readonly bytes: Uint8Array
  /** Bytes that the last call looked at, those of this value included when it was the first. */
  readBytes = 0
  /** The last place, counted from 1, at which four bytes of that hash lie; made when needed. */
  #places: Uint16Array | undefined = undefined

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  /** The difference of a value from this one, valid until the next call; undefined if it would be
   *  longer than `maxBytes`, which is at most half of the value, or seems so from the first bytes.
   *  O(length of the value). */
  differenceOf(value: Uint8Array, maxBytes: number): Uint8Array | undefined {
    const { bytes } = this
    const before = this.#places === undefined ? bytes.length : 0
    const places = (this.#places ??= placesIn(bytes))
    const end = value.length
    let out = 0
    /** The first byte that is not written yet, and the end in the base of the last copy. */
    let fresh = 0
    let from = 0
    for (let at = 0; at < end;) {
      let place = from + at - fresh
      let length = equalLength(bytes, place, value, at)
      if (length < copyMinBytes) {
        place = at + 4 <= end ? places[hashAt(value, at)]! - 1 : -1
        length = place < 0 ? 0 : equalLength(bytes, place, value, at)
        if (length < movedCopyMinBytes) {
          this.readBytes = before + ++at
          if (out + at - fresh > Math.min(maxBytes, (at + startMaxBytes) >> 1)) return undefined
          continue
        }
      }
      out = writeFresh(out, value, fresh, at)
      out = writeVarint(scratch, out, length)
      out = writeVarint(scratch, out, place < from ? 2 * (from - place) - 1 : 2 * (place - from))
      at += length
      this.readBytes = before + at
      if (out > maxBytes) return undefined
      fresh = at
      from = place + length
    }
    if (fresh < end) out = writeFresh(out, value, fresh, end)
    return out > maxBytes ? undefined : scratch.subarray(0, out)
  }
}

function writeFresh(out: number, value: Uint8Array, start: number, end: number): number {
  let at = writeVarint(scratch, out, end - start)
  for (let i = start; i < end; i++) scratch[at++] = value[i]!
  return at
}

/** Writes the value of `end - at` bytes that differs from `base` so. */
export function writeDifferent(
  out: Uint8Array,
  { at, end }: { readonly at: number; readonly end: number },
  base: Uint8Array,
  difference: { readonly bytes: Uint8Array; readonly start: number },
): void {
  const { bytes } = difference
  reading = difference.start
  let to = at
  let from = 0
  while (to < end) {
    const fresh = readVarint(bytes)
    copy(out, to, bytes, { start: reading, length: fresh })
    reading += fresh
    to += fresh
    if (to === end) return
    const length = readVarint(bytes)
    const moved = readVarint(bytes)
    from += moved & 1 ? -(moved + 1) / 2 : moved / 2
    copy(out, to, base, { start: from, length })
    from += length
    to += length
  }
}

let reading = 0

function readVarint(bytes: Uint8Array): number {
  let value = 0
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[reading++]!
    value |= (byte & 0x7f) << shift
    if (byte < 0x80) return value
  }
}

/** A call for less costs more than the bytes. */
const calledMinBytes = 48

function copy(
  out: Uint8Array,
  at: number,
  from: Uint8Array,
  { start, length }: { readonly start: number; readonly length: number },
): void {
  if (length >= calledMinBytes) out.set(from.subarray(start, start + length), at)
  else for (let i = 0; i < length; i++) out[at + i] = from[start + i]!
}

function equalLength(base: Uint8Array, place: number, value: Uint8Array, at: number): number {
  const most = Math.min(base.length - place, value.length - at)
  let length = 0
  while (length < most && base[place + length] === value[at + length]) length++
  return length
}

function placesIn(bytes: Uint8Array): Uint16Array {
  const places = new Uint16Array(1 << hashBits)
  for (let i = 0; i + 4 <= bytes.length; i++) places[hashAt(bytes, i)] = i + 1
  return places
}

function hashAt(bytes: Uint8Array, at: number): number {
  const word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)
  return Math.imul(word, 0x9e3779b1) >>> (32 - hashBits)
}
