/** What outputs append to a `ByteWriter` beside bytes: text, JSON strings, lengths. */

import type { ByteWriter } from './byte-writer.ts'

/** Appends text as UTF-8; a lone half of a surrogate pair becomes U+FFFD. */
export function appendText(out: ByteWriter, text: string): void {
  out.reserve(out.length + text.length * 3)
  out.length += asBuffer(out.bytes).write(text, out.length, 'utf8')
}

/** Appends a JSON string as Go's encoder writes it, quotes included. */
export function appendJsonString(out: ByteWriter, text: string): void {
  out.appendByte(0x22)
  if (plainText.test(text)) out.appendAscii(text)
  else appendText(out, escapeJson(text))
  out.appendByte(0x22)
}

/** A text as it stands between the quotes of a JSON string. */
export function escapeJson(text: string): string {
  return JSON.stringify(text)
    .slice(1, -1)
    .replace(/[<>&\u2028\u2029]|\\ud[89a-f]../g, escapeForGo)
}

/** Nothing that JSON or Go's caution about HTML would change. */
const plainText = /^[ !#-%'-;=?-[\]-~]*$/

function escapeForGo(character: string): string {
  // Go has no text with half a character in it.
  if (character.length > 1) return '\ufffd'
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/** Appends an unsigned protobuf varint. */
export function appendVarint(out: ByteWriter, value: number): void {
  let rest = value
  while (rest >= 0x80) {
    out.appendByte((rest % 0x80) | 0x80)
    rest = Math.floor(rest / 0x80)
  }
  out.appendByte(rest)
}

/** How many bytes `value` takes as a protobuf varint. */
export function varintLength(value: number): number {
  let length = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length++
  return length
}

/** Appends a protobuf field that holds ASCII text. */
export function appendTextField(out: ByteWriter, field: number, text: string): void {
  appendVarint(out, field * 8 + 2)
  appendVarint(out, text.length)
  out.appendAscii(text)
}

/** The bytes as a `Buffer` on the same memory, kept for the buffer that was asked for last: writers keep theirs for long. */
function asBuffer(bytes: Uint8Array): Buffer {
  if (lastBuffer.buffer !== bytes.buffer || lastBuffer.length !== bytes.length) {
    lastBuffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  }
  return lastBuffer
}

let lastBuffer: Buffer = Buffer.alloc(0)
