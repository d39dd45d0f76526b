/** JSON text that objects carry inside (managed fields, raw extensions, defaults of schemas),
 *  written as Go writes it: without white space, with `<`, `>`, `&`, U+2028 and U+2029 escaped; the
 *  order of members and the text of numbers stay. Go checks the syntax on the way, and so do we, as
 *  a text that is no JSON would break the object around it. */

import { needsChange } from './json-text.ts'
import { numberEnd } from '@watchglass/go'
import { giveUp } from '@watchglass/base'
import { type DecodeState } from './state.ts'

/** Writes the text from `start` to `end`, which must be one JSON value. */
export function writeRawJson(
  out: DecodeState,
  start: number,
  end: number,
  position: number,
): number {
  const { input, bytes } = out
  /** For each open bracket, whether it is an object's. */
  const open: boolean[] = []
  let to = position
  let at = skipSpace(input, start, end)
  for (;;) {
    // A value begins at `at`.
    const first = at < end ? (input[at] as number) : 0
    if (first === openBrace || first === openBracket) {
      if (open.length >= rawMaxDepth) giveUp('raw JSON is nested too deep')
      bytes[to++] = first
      at = skipSpace(input, at + 1, end)
      const isObject = first === openBrace
      if (input[at] === first + 2 && at < end) {
        bytes[to++] = first + 2
        at++
      } else {
        open.push(isObject)
        if (isObject) {
          to = writeKey(out, at, end, to)
          at = out.at
        }
        continue
      }
    } else {
      to = first === quote ? writeRawText(out, at, end, to) : writeScalar(out, at, end, to)
      at = out.at
    }
    // A value has ended at `at`: close what ends with it, or go on behind a comma.
    for (;;) {
      at = skipSpace(input, at, end)
      const isInObject = open.at(-1)
      if (isInObject === undefined) {
        if (at !== end) malformed()
        return to
      }
      const next = at < end ? (input[at] as number) : 0
      at++
      if (next === comma) {
        bytes[to++] = comma
        at = skipSpace(input, at, end)
        if (isInObject) {
          to = writeKey(out, at, end, to)
          at = out.at
        }
        break
      }
      if (next !== (isInObject ? closeBrace : closeBracket)) malformed()
      bytes[to++] = next
      open.pop()
    }
  }
}

/** As Go's own scanner. */
const rawMaxDepth = 10_000

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/** The classes of bytes inside a text: 0 is copied; see `textClass`. */
const endOfText = 1
const backslash = 2
const escaped = 3
const control = 4
const maybeSeparator = 5
const textClass: Uint8Array = new Uint8Array(256).fill(control, 0, 0x20)
textClass[quote] = endOfText
textClass[0x5c] = backslash
for (const byte of '<>&') textClass[byte.charCodeAt(0)] = escaped
textClass[0xe2] = maybeSeparator

function malformed(): never {
  return giveUp('raw JSON is malformed')
}

function skipSpace(input: Uint8Array, start: number, end: number): number {
  let at = start
  for (; at < end; at++) {
    const byte = input[at]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break
  }
  return at
}

/** A member's name with its colon; `out.at` becomes the position where the value begins. */
function writeKey(out: DecodeState, start: number, end: number, position: number): number {
  const { input } = out
  if (start >= end || input[start] !== quote) malformed()
  const to = writeRawText(out, start, end, position)
  const at = skipSpace(input, out.at, end)
  if (at >= end || input[at] !== colon) malformed()
  out.bytes[to] = colon
  out.at = skipSpace(input, at + 1, end)
  return to + 1
}

/** A text with its quotes. Bytes that are no UTF-8 stay: Go does not look at them here. */
function writeRawText(out: DecodeState, start: number, end: number, position: number): number {
  const { input, inputView, bytes, view } = out
  let at = start + 1
  let to = position
  bytes[to++] = quote
  while (at < end) {
    if (at + 4 <= end) {
      const word = inputView.getInt32(at, true)
      if (!needsChange(word)) {
        view.setInt32(to, word, true)
        at += 4
        to += 4
        continue
      }
    }
    const byte = input[at++] as number
    const kind = textClass[byte] as number
    if (kind === 0) {
      bytes[to++] = byte
    } else if (kind === endOfText) {
      bytes[to] = quote
      out.at = at
      return to + 1
    } else {
      to = writeSpecial(out, at, end, to)
      at = out.at
    }
  }
  return malformed()
}

/** Writes the text that the byte before `at` begins, when it is not simply copied. */
function writeSpecial(out: DecodeState, at: number, end: number, position: number): number {
  const { input, bytes } = out
  const byte = input[at - 1] as number
  out.at = at
  switch (textClass[byte] as number) {
    case escaped:
      return writeUnicodeEscape(out, byte, position)
    case backslash:
      return writeBackslash(out, at, end, position)
    case maybeSeparator:
      if (at + 1 < end && input[at] === 0x80 && ((input[at + 1] as number) & 0xfe) === 0xa8) {
        out.at = at + 2
        return writeUnicodeEscape(out, 0x2000 + ((input[at + 1] as number) & 0x29), position)
      }
      bytes[position] = byte
      return position + 1
    default:
      return malformed()
  }
}

/** An escape of the source, checked and kept as it is. */
function writeBackslash(out: DecodeState, at: number, end: number, position: number): number {
  const { input, bytes } = out
  const letter = at < end ? (input[at] as number) : 0
  const length = letter === 0x75 ? 5 : 1
  if (at + length > end || !'"\\/bfnrtu'.includes(String.fromCharCode(letter))) malformed()
  bytes[position] = 0x5c
  for (let i = 0; i < length; i++) {
    const byte = input[at + i] as number
    if (i > 0 && !isHexDigit(byte)) malformed()
    bytes[position + 1 + i] = byte
  }
  out.at = at + length
  return position + 1 + length
}

function writeUnicodeEscape(out: DecodeState, code: number, position: number): number {
  const text = `\\u${code.toString(16).padStart(4, '0')}`
  for (let i = 0; i < text.length; i++) out.bytes[position + i] = text.charCodeAt(i)
  return position + text.length
}

function isHexDigit(byte: number): boolean {
  const letter = byte | 0x20
  return (byte >= 0x30 && byte <= 0x39) || (letter >= 0x61 && letter <= 0x66)
}

/** A number, `true`, `false` or `null`, copied. */
function writeScalar(out: DecodeState, start: number, end: number, position: number): number {
  const { input, bytes } = out
  const after = scalarEnd(input, start, end)
  if (after < 0) malformed()
  for (let i = start; i < after; i++) bytes[position + i - start] = input[i] as number
  out.at = after
  return position + after - start
}

function scalarEnd(input: Uint8Array, start: number, end: number): number {
  switch (input[start] as number) {
    case 0x74:
      return literalEnd(input, start, end, 'true')
    case 0x66:
      return literalEnd(input, start, end, 'false')
    case 0x6e:
      return literalEnd(input, start, end, 'null')
    default:
      return numberEnd(input, start, end)
  }
}

function literalEnd(input: Uint8Array, start: number, end: number, literal: string): number {
  if (start + literal.length > end) malformed()
  for (let i = 0; i < literal.length; i++) {
    if (input[start + i] !== literal.charCodeAt(i)) malformed()
  }
  return start + literal.length
}
