/** Texts and bytes as Go's JSON encoder writes them (FORMAT.md, section 3). All are `WriteValue`s,
 *  and rely on the room that those are promised. */

import { utf8Length } from '@watchglass/go'
import type { DecodeState } from './state.ts'

/** The escapes of bytes in a JSON text: 0 stays as it is, 1 is written as `\u00xx`, 2 belongs to a
 *  UTF-8 sequence; otherwise the letter that follows a backslash. */
const escapes: Uint8Array = escapeTable()

/** Writes the text without quotes.
 *
 *  Four bytes at a time as long as none of them needs a change: one test finds that out for all
 *  four, and reads of the input are not checked one by one. On texts of 12 bytes and more this
 *  takes half the time (bench/codec). */
export function writeText(out: DecodeState, start: number, end: number, position: number): number {
  const { inputView, view } = out
  let from = start
  let to = position
  const lastWord = end - 4
  while (from <= lastWord) {
    const word = inputView.getInt32(from, true)
    if (needsChange(word)) {
      to = writeToEscape(out, from, end, to)
      from = out.at
    } else {
      view.setInt32(to, word, true)
      from += 4
      to += 4
    }
  }
  while (from < end) {
    to = writeToEscape(out, from, end, to)
    from = out.at
  }
  return to
}

/** True if one of the four bytes is below 0x20 or above 0x7f, or one of `"&<>\`. A subtraction sets
 *  a byte's high bit when the byte was too small; a borrow that sets one wrongly comes from a lower
 *  byte that is special itself. A high bit that was set before is still set after it. */
export function needsChange(word: number): boolean {
  return (
    (((word - 0x20202020) |
      (((word & 0xfbfbfbfb) ^ 0x22222222) - 0x01010101) |
      (((word & 0xfdfdfdfd) ^ 0x3c3c3c3c) - 0x01010101) |
      ((word ^ 0x5c5c5c5c) - 0x01010101)) &
      0x80808080) !==
    0
  )
}

/** Writes bytes up to and with the first that needs a change; `out.at` is the position of the
 *  next. */
function writeToEscape(out: DecodeState, start: number, end: number, position: number): number {
  const { input, bytes } = out
  let from = start
  let to = position
  while (from < end) {
    const byte = input[from] as number
    const escape = escapes[byte] as number
    if (escape === 0) {
      bytes[to++] = byte
      from++
      continue
    }
    if (escape === 2) return writeSequence(out, from, end, to)
    bytes[to++] = 0x5c
    if (escape === 1) {
      to = writeUnicodeEscape(bytes, to, byte)
    } else {
      bytes[to++] = escape
    }
    from++
    break
  }
  out.at = from
  return to
}

/** One character of more than one byte: as it is, but for U+2028 and U+2029, and for bytes that are
 *  no UTF-8, each of which Go writes as the six characters `\ufffd`. */
function writeSequence(out: DecodeState, start: number, end: number, position: number): number {
  const { input, bytes } = out
  const length = utf8Length(input, start, end)
  if (length === 0) {
    bytes[position] = 0x5c
    out.at = start + 1
    return writeUnicodeEscape(bytes, position + 1, 0xfffd)
  }
  out.at = start + length
  if (length === 3 && input[start] === 0xe2 && input[start + 1] === 0x80) {
    const last = input[start + 2] as number
    if (last === 0xa8 || last === 0xa9) {
      bytes[position] = 0x5c
      return writeUnicodeEscape(bytes, position + 1, 0x2028 + (last - 0xa8))
    }
  }
  for (let i = 0; i < length; i++) bytes[position + i] = input[start + i] as number
  return position + length
}

/** `uXXXX`, after the backslash that the caller has written. */
function writeUnicodeEscape(bytes: Uint8Array, position: number, code: number): number {
  bytes[position] = 0x75
  bytes[position + 1] = hexDigit(code >> 12)
  bytes[position + 2] = hexDigit((code >> 8) & 0xf)
  bytes[position + 3] = hexDigit((code >> 4) & 0xf)
  bytes[position + 4] = hexDigit(code & 0xf)
  return position + 5
}

function hexDigit(value: number): number {
  return value < 10 ? 0x30 + value : 0x57 + value
}

/** Writes the bytes as standard base64 with padding, without quotes. */
export function writeBase64(
  out: DecodeState,
  start: number,
  end: number,
  position: number,
): number {
  const { input, bytes } = out
  let to = position
  let from = start
  for (; from + 2 < end; from += 3) {
    const group =
      ((input[from] as number) << 16) |
      ((input[from + 1] as number) << 8) |
      (input[from + 2] as number)
    bytes[to] = base64Digits[group >> 18] as number
    bytes[to + 1] = base64Digits[(group >> 12) & 63] as number
    bytes[to + 2] = base64Digits[(group >> 6) & 63] as number
    bytes[to + 3] = base64Digits[group & 63] as number
    to += 4
  }
  if (from < end) {
    const isTwo = from + 1 < end
    const group = ((input[from] as number) << 16) | (isTwo ? (input[from + 1] as number) << 8 : 0)
    bytes[to] = base64Digits[group >> 18] as number
    bytes[to + 1] = base64Digits[(group >> 12) & 63] as number
    bytes[to + 2] = isTwo ? (base64Digits[(group >> 6) & 63] as number) : 0x3d
    bytes[to + 3] = 0x3d
    to += 4
  }
  return to
}

/** Writes ASCII text that needs no change. */
export function writeAscii(out: DecodeState, position: number, text: string): number {
  const { bytes } = out
  for (let i = 0; i < text.length; i++) bytes[position + i] = text.charCodeAt(i)
  return position + text.length
}

const base64Digits: Uint8Array = Uint8Array.from(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
  digit => digit.charCodeAt(0),
)

function escapeTable(): Uint8Array {
  const table = new Uint8Array(256).fill(1, 0, 0x20).fill(2, 0x80)
  for (const byte of '<>&') table[byte.charCodeAt(0)] = 1
  for (const pair of ['""', '\\\\', '\bb', '\ff', '\nn', '\rr', '\tt']) {
    table[pair.charCodeAt(0)] = pair.charCodeAt(1)
  }
  return table
}
