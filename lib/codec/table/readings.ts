/** The readers of protobuf values for a Table. The compiled functions of pick-source.ts call these
 *  by name.
 *
 *  Input is never trusted: whatever is wrong is noted in `isMalformed`, and what has been read is
 *  then of no use. Every position that comes out lies beyond the one that went in, so that loops
 *  end. */

import { int64FromVarint, textFromBytes, varintEnd } from '@watchglass/base'

type Pairs = readonly (readonly [name: string, value: string])[]

class Readings {
  isMalformed = false
  /** The position after the varint that was read last. */
  at = 0

  readonly text: typeof textFromBytes = textFromBytes

  /** An unsigned varint, exact up to 2^53. */
  varint(bytes: Uint8Array, start: number, end: number): number {
    let value = 0
    let scale = 1
    for (let at = start; at < end; at++) {
      const byte = bytes[at] as number
      value += (byte & 0x7f) * scale
      if (byte < 0x80) {
        this.at = at + 1
        return value
      }
      scale *= 0x80
    }
    this.fail()
    this.at = end + 1
    return 0
  }

  /** A varint as int64. */
  long(bytes: Uint8Array, start: number, end: number): bigint {
    const value = int64FromVarint(bytes, start, end)
    this.at = value === undefined ? end + 1 : varintEnd(bytes, start, end)
    if (value === undefined) this.fail()
    return value ?? 0n
  }

  /** A varint as int64, rounded to a double. */
  integer(bytes: Uint8Array, start: number, end: number): number {
    const value = this.varint(bytes, start, end)
    // Negative numbers take ten bytes.
    return this.at - start < 8 ? value : Number(this.long(bytes, start, end))
  }

  /** The position after the value of a field that is of no interest. */
  skip(bytes: Uint8Array, tag: number, start: number, end: number): number {
    switch (tag & 7) {
      case 0:
        this.varint(bytes, start, end)
        return this.at
      case 1:
        return start + 8
      case 2: {
        const length = this.varint(bytes, start, end)
        return this.at + length
      }
      case 5:
        return start + 4
      default:
        return this.fail()
    }
  }

  /** Notes that the input is malformed; a position beyond all others. */
  fail(): number {
    this.isMalformed = true
    return Number.MAX_SAFE_INTEGER
  }

  /** `{1 string}` */
  quantity(bytes: Uint8Array, start: number, end: number): string {
    if (start === end) return ''
    const tag = this.varint(bytes, start, end)
    const length = this.varint(bytes, this.at, end)
    const { at } = this
    if (tag === 0x0a && length <= end - at) return textFromBytes(bytes, at, at + length)
    this.fail()
    return ''
  }

  /** `{1 seconds, 2 nanoseconds}` as milliseconds; nothing is the zero time. */
  time(bytes: Uint8Array, start: number, end: number): number | null {
    if (start === end) return null
    let milliseconds = 0
    for (let at = start; at < end; at = this.at) {
      const tag = this.varint(bytes, at, end)
      const value = this.integer(bytes, this.at, end)
      if (tag === 0x08) milliseconds += value * 1000
      else if (tag === 0x10) milliseconds += value / 1e6
      else this.fail()
    }
    return milliseconds
  }

  /** `{1 type, 2 integer, 3 text}` as text. */
  choice(bytes: Uint8Array, start: number, end: number): string {
    let isText = false
    let integer = 0
    let text = ''
    for (let at = start; at < end; at = this.at) {
      const tag = this.varint(bytes, at, end)
      const value = this.integer(bytes, this.at, end)
      if (tag === 0x08) {
        isText = value !== 0
      } else if (tag === 0x10) {
        integer = value | 0
      } else if (tag === 0x1a && value <= end - this.at) {
        text = textFromBytes(bytes, this.at, this.at + value)
        this.at += value
      } else {
        this.fail()
      }
    }
    return isText ? text : String(integer)
  }

  /** The name of an entry, `{1 name, 2 value}`. */
  nameOf(bytes: Uint8Array, start: number, end: number): string {
    let name = ''
    for (let at = start; at < end;) {
      const tag = this.varint(bytes, at, end)
      const length = this.varint(bytes, this.at, end)
      const from = this.at
      at = from + length
      if (at > end || (tag !== 0x0a && tag !== 0x12)) this.fail()
      else if (tag === 0x0a) name = textFromBytes(bytes, from, at)
    }
    return name
  }

  /** The pairs and one more, `{1 name, 2 value}`, by name; the last of equal names wins. */
  pair(pairs: Pairs, window: Window, isQuantity: boolean): Pairs {
    const { bytes, end } = window
    let name = ''
    let value = ''
    for (let at = window.start; at < end;) {
      const tag = this.varint(bytes, at, end)
      const length = this.varint(bytes, this.at, end)
      const start = this.at
      at = start + length
      if (at > end) this.fail()
      else if (tag === 0x0a) name = textFromBytes(bytes, start, at)
      else if (tag !== 0x12) this.fail()
      else if (isQuantity) value = this.quantity(bytes, start, at)
      else value = textFromBytes(bytes, start, at)
    }
    const others = pairs.filter(([other]) => other !== name)
    const place = others.findIndex(([other]) => other > name)
    return others.toSpliced(place < 0 ? others.length : place, 0, [name, value])
  }
}

interface Window {
  readonly bytes: Uint8Array
  readonly start: number
  readonly end: number
}

/** One at a time: nothing here is called while another message is read. */
export const readings: Readings = new Readings()
