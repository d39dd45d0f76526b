/** A growing buffer that outputs are written into, one after the other, and that is kept and used
 *  again, so that a list of objects becomes one run of bytes without a buffer for each. */

import { writeVarint } from './varint.ts'

/** Bytes `0..length` are written. Writers may overwrite what lies behind `length`, and replace
 *  `bytes` when they need room: read both anew after every call. */
export class ByteWriter {
  bytes: Uint8Array
  view: DataView
  length = 0

  constructor(capacity: number = 16 * 1024) {
    this.bytes = bytesOf(capacity)
    this.view = new DataView(this.bytes.buffer)
  }

  /** Makes room for `total` bytes, of which the first `kept` have been written. At least doubles,
   *  so that growing is linear in what is written. */
  reserve(total: number, kept: number = this.length): void {
    if (total <= this.bytes.length) return
    const grown = bytesOf(Math.max(total, this.bytes.length * 2))
    grown.set(this.bytes.subarray(0, kept))
    this.bytes = grown
    this.view = new DataView(grown.buffer)
  }

  /** Appends `source[start..end)`. */
  append(source: Uint8Array, start = 0, end: number = source.length): void {
    this.reserve(this.length + end - start)
    this.bytes.set(
      start === 0 && end === source.length ? source : source.subarray(start, end),
      this.length,
    )
    this.length += end - start
  }

  /** Appends ASCII text; it is not checked to be. */
  appendAscii(text: string): void {
    this.reserve(this.length + text.length)
    for (let i = 0; i < text.length; i++) this.bytes[this.length + i] = text.charCodeAt(i)
    this.length += text.length
  }

  appendByte(byte: number): void {
    this.reserve(this.length + 1)
    this.bytes[this.length++] = byte
  }

  /** A copy of `from..length`, of exactly that size. */
  copy(from = 0): Uint8Array {
    const copied = Buffer.allocUnsafeSlow(this.length - from)
    copied.set(this.bytes.subarray(from, this.length))
    return copied
  }

  /** Forgets what was written, and the memory too when a single large object has made it larger
   *  than `keptBytes`. */
  clear(keptBytes: number = 1024 * 1024): void {
    this.length = 0
    if (this.bytes.length > keptBytes) {
      this.bytes = bytesOf(keptBytes)
      this.view = new DataView(this.bytes.buffer)
    }
  }
}

/** A plain array of its own memory, not cleared: never a `Buffer`, so that hot loops see one kind
 *  of array. */
function bytesOf(capacity: number): Uint8Array {
  return new Uint8Array(Buffer.allocUnsafeSlow(capacity).buffer)
}

/** Appends text as UTF-8; a lone half of a surrogate pair becomes U+FFFD. */
export function appendText(out: ByteWriter, text: string): void {
  out.reserve(out.length + text.length * 3)
  out.length += asBuffer(out.bytes).write(text, out.length, 'utf8')
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

/** The bytes as a `Buffer` on the same memory, kept for the buffer that was asked for last: writers
 *  keep theirs for long. */
function asBuffer(bytes: Uint8Array): Buffer {
  if (lastBuffer.buffer !== bytes.buffer || lastBuffer.length !== bytes.length) {
    lastBuffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  }
  return lastBuffer
}

let lastBuffer: Buffer = Buffer.alloc(0)
