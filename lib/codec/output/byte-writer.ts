/** A growing buffer that outputs are written into, one after the other, and that is kept and used again, so that a list of
 *  objects becomes one run of bytes without a buffer for each. */

/** Bytes `0..length` are written. Writers may overwrite what lies behind `length`, and replace `bytes` when they need
 *  room: read both anew after every call. */
export class ByteWriter {
  bytes: Uint8Array
  view: DataView
  length = 0

  constructor(capacity: number = 16 * 1024) {
    this.bytes = bytesOf(capacity)
    this.view = new DataView(this.bytes.buffer)
  }

  /** Makes room for `total` bytes, of which the first `kept` have been written. At least doubles, so that growing is linear in
   *  what is written. */
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

  /** Forgets what was written, and the memory too when a single large object has made it larger than `keptBytes`. */
  clear(keptBytes: number = 1024 * 1024): void {
    this.length = 0
    if (this.bytes.length > keptBytes) {
      this.bytes = bytesOf(keptBytes)
      this.view = new DataView(this.bytes.buffer)
    }
  }
}

/** A plain array of its own memory, not cleared: never a `Buffer`, so that hot loops see one kind of array. */
function bytesOf(capacity: number): Uint8Array {
  return new Uint8Array(Buffer.allocUnsafeSlow(capacity).buffer)
}
