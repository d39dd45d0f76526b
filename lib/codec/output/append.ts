/** What outputs append to a `ByteWriter` beside bytes: text, JSON strings, lengths. */

import { goJsonString } from '../../go/text.ts'
import type { ByteWriter } from './byte-writer.ts'
import { writeVarint } from '../../wire/varint.ts'

/** Appends text as UTF-8; a lone half of a surrogate pair becomes U+FFFD. */
export function appendText(out: ByteWriter, text: string): void {
  out.reserve(out.length + text.length * 3)
  out.length += asBuffer(out.bytes).write(text, out.length, 'utf8')
}

/** Appends a JSON string as Go's encoder writes it, quotes included. */
export function appendJsonString(out: ByteWriter, text: string): void {
  const { length } = text
  out.reserve(out.length + length * 6 + 2)
  const { bytes } = out
  let at = out.length
  bytes[at++] = 0x22
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    const kind = code < 0x80 ? (characterKinds[code] as number) : other
    if (kind === plain) {
      bytes[at++] = code
    } else if (kind === other) {
      appendText(out, goJsonString(text))
      return
    } else {
      // `<`, `>` and `&`: a cell without a value says `<none>`.
      at = writeEscape(bytes, at, code)
    }
  }
  bytes[at++] = 0x22
  out.length = at
}

const plain = 0
const forHtml = 1
const other = 2

/** What becomes of the characters of a JSON string. */
const characterKinds: Uint8Array = Uint8Array.from({ length: 0x80 }, (_, code) => {
  if (code < 0x20 || code === 0x22 || code === 0x5c) return other
  return code === 0x3c || code === 0x3e || code === 0x26 ? forHtml : plain
})

/** `\u00xx` */
function writeEscape(bytes: Uint8Array, position: number, code: number): number {
  let at = position
  bytes[at++] = 0x5c
  bytes[at++] = 0x75
  bytes[at++] = 0x30
  bytes[at++] = 0x30
  bytes[at++] = hexDigit(code >> 4)
  bytes[at++] = hexDigit(code & 15)
  return at
}

function hexDigit(value: number): number {
  return value < 10 ? 0x30 + value : 0x57 + value
}

/** Appends an unsigned protobuf varint. */
export function appendVarint(out: ByteWriter, value: number): void {
  if (out.length + 10 > out.bytes.length) out.reserve(out.length + 10)
  out.length = writeVarint(out.bytes, out.length, value)
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
