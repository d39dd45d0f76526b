/** A buffer that grows as bytes are written to it. One instance serves many answers, one after the other: `take` hands out an
 *  exact copy, and `view` what was written until the next write. */

/** Grows by doubling, so that writing n bytes copies at most 2n. */
export class ByteWriter {
  #bytes: Buffer
  #length = 0

  constructor(capacity: number = 4096) {
    this.#bytes = Buffer.allocUnsafeSlow(capacity)
  }

  get length(): number {
    return this.#length
  }

  /** Forgets everything from `length` on. */
  truncate(length: number): void {
    this.#length = length
  }

  byte(value: number): void {
    if (this.#length === this.#bytes.length) this.#grow(1)
    this.#bytes[this.#length++] = value
  }

  /** Copies `source` from `start` to `end`. */
  copy(source: Uint8Array, start = 0, end: number = source.length): void {
    const count = end - start
    if (this.#length + count > this.#bytes.length) this.#grow(count)
    const bytes = this.#bytes
    let at = this.#length
    // A short copy costs less than the call that makes a long one fast.
    if (count < 24) for (let i = start; i < end; i++) bytes[at++] = source[i] as number
    else bytes.set(source.subarray(start, end), at)
    this.#length += count
  }

  /** Writes characters below U+0080, one byte each. */
  ascii(text: string): void {
    const count = text.length
    if (this.#length + count > this.#bytes.length) this.#grow(count)
    const bytes = this.#bytes
    let at = this.#length
    if (count < 24) for (let i = 0; i < count; i++) bytes[at++] = text.charCodeAt(i)
    else bytes.write(text, at, "latin1")
    this.#length += count
  }

  /** Writes text as UTF-8. */
  text(text: string): void {
    const most = text.length * 3
    if (this.#length + most > this.#bytes.length) this.#grow(most)
    this.#length += this.#bytes.write(text, this.#length, "utf8")
  }

  /** An integer in decimal. */
  integer(value: number | bigint): void {
    this.ascii(String(value))
  }

  /** An unsigned protobuf varint. */
  varint(value: number): void {
    let rest = value
    while (rest >= 0x80) {
      this.byte((rest % 0x80) | 0x80)
      rest = Math.floor(rest / 0x80)
    }
    this.byte(rest)
  }

  /** What was written, valid until the next write. */
  view(from = 0): Uint8Array {
    return this.#bytes.subarray(from, this.#length)
  }

  /** A copy of what was written, after which this is empty. */
  take(): Uint8Array {
    const copy = Buffer.allocUnsafeSlow(this.#length)
    copy.set(this.#bytes.subarray(0, this.#length))
    this.#length = 0
    return copy
  }

  #grow(count: number): void {
    const grown = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#length + count))
    grown.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = grown
  }
}

/** How many bytes `value` takes as a protobuf varint. */
export function varintLength(value: number): number {
  let length = 1
  for (let rest = value; rest >= 0x80; rest = Math.floor(rest / 0x80)) length++
  return length
}
