/** Varints, fixed-width numbers and lengths, read where they lie and written as decimal text.
 *  Positions were checked against the end of the message when its fields were found, so the writers
 *  here need no end. */

import { giveUp, lowBits, varintEnd } from '@watchglass/base'
import type { DecodeState } from './state.ts'

/** Reads a length and sets `out.at` to the position after it; gives up if that many bytes do not
 *  follow before `end`. */
export function readLength(out: DecodeState, at: number, end: number): number {
  const { input } = out
  let length = 0
  let scale = 1
  let from = at
  for (let count = 0; count < 10 && from < end; count++) {
    const byte = input[from++] as number
    length += (byte & 0x7f) * scale
    if (byte < 0x80) {
      if (length > end - from) break
      out.at = from
      return length
    }
    scale *= 0x80
  }
  return giveUp('a length reaches beyond the end of its message')
}

/** The position after the varint that begins at `start`. */
export function skipVarint(out: DecodeState, start: number, end: number): number {
  const after = varintEnd(out.input, start, end)
  return after < 0 ? giveUp('a varint is not ended') : after
}

/** The low 32 bits of the varint at `at`, as Go reads an int32; `readHigh` gives the other half. */
export function readLow(out: DecodeState, at: number): number {
  return lowBits(out.input, at, at + 5)
}

/** The high 32 bits of the varint at `at`. */
export function readHigh(out: DecodeState, at: number): number {
  const { input } = out
  let value = 0
  for (let shift = 0, from = at; shift < 70; shift += 7, from++) {
    const byte = input[from] as number
    if (shift === 28) value |= (byte & 0x7f) >> 4
    else if (shift > 28) value |= (byte & 0x7f) << (shift - 32)
    if (byte < 0x80) break
  }
  return value
}

/** An int64 as a number: exact up to 2^53 on either side of zero, and beyond that still on the same
 *  side. */
export function readSafe(out: DecodeState, at: number): number {
  const byte = out.input[at] as number
  if (byte < 0x80) return byte
  return readHigh(out, at) * 0x1_0000_0000 + (readLow(out, at) >>> 0)
}

export function isNonZero32(out: DecodeState, at: number): boolean {
  const byte = out.input[at] as number
  return byte < 0x80 ? byte !== 0 : readLow(out, at) !== 0
}

export function isNonZero64(out: DecodeState, at: number): boolean {
  const byte = out.input[at] as number
  return byte < 0x80 ? byte !== 0 : readLow(out, at) !== 0 || readHigh(out, at) !== 0
}

export function isNegative64(out: DecodeState, at: number): boolean {
  const byte = out.input[at] as number
  return byte >= 0x80 && readHigh(out, at) < 0
}

/** Writes the varint at `at` as an int32. */
export function writeInt32(out: DecodeState, at: number, position: number): number {
  const byte = out.input[at] as number
  return writeSafe(out, byte < 0x80 ? byte : readLow(out, at), position)
}

/** Writes the varint at `at` as an int64, exact over its whole range. */
export function writeInt64(out: DecodeState, at: number, position: number): number {
  const byte = out.input[at] as number
  if (byte < 0x80) return writeSafe(out, byte, position)
  const high = readHigh(out, at)
  const low = readLow(out, at) >>> 0
  if (high >= -0x20_0000 && high < 0x20_0000) {
    return writeSafe(out, high * 0x1_0000_0000 + low, position)
  }
  const text = ((BigInt(high) << 32n) | BigInt(low)).toString()
  for (let i = 0; i < text.length; i++) out.bytes[position + i] = text.charCodeAt(i)
  return position + text.length
}

/** Writes a whole number up to 2^53 on either side of zero. */
export function writeSafe(out: DecodeState, value: number, position: number): number {
  const { bytes } = out
  let to = position
  let rest = value
  if (rest < 0) {
    bytes[to++] = 0x2d
    rest = -rest
  }
  if (rest < 10) {
    bytes[to] = 0x30 + rest
    return to + 1
  }
  let length = 2
  for (let bound = 100; bound <= rest; bound *= 10) length++
  const end = to + length
  for (let at = end - 1; at >= to; at--) {
    const next = Math.floor(rest / 10)
    bytes[at] = 0x30 + (rest - next * 10)
    rest = next
  }
  return end
}

/** Writes the eight bytes at `at` as Go writes a float64: the shortest text that reads back the
 *  same, as JavaScript does. */
export function writeFloat64(out: DecodeState, at: number, position: number): number {
  const value = out.inputView.getFloat64(at, true)
  if (!Number.isFinite(value)) giveUp('a number is not finite')
  const text = Object.is(value, -0) ? '-0' : String(value)
  for (let i = 0; i < text.length; i++) out.bytes[position + i] = text.charCodeAt(i)
  return position + text.length
}
