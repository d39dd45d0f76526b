/** The fields of a record: numbers of fixed width, and texts of one byte a character with their
 *  length before them. */

export class RecordWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(64 * 1024)
  #length = 0

  /** Length of the record so far. */
  get length(): number {
    return this.#length
  }

  /** The record, valid until the next one is begun. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  begin(): void {
    this.#length = 0
  }

  byte(value: number): void {
    const at = this.#take(1)
    this.#bytes[at] = value
  }

  count(value: number): void {
    const at = this.#take(4)
    this.#bytes.writeUInt32LE(value, at)
  }

  /** A revision or a version: any safe integer. */
  integer(value: number): void {
    const at = this.#take(8)
    this.#bytes.writeDoubleLE(value, at)
  }

  big(value: bigint): void {
    const at = this.#take(8)
    this.#bytes.writeBigInt64LE(value, at)
  }

  text(value: string): void {
    this.count(value.length)
    const at = this.#take(value.length)
    this.#bytes.write(value, at, 'latin1')
  }

  raw(source: Uint8Array, start: number, end: number): void {
    this.count(end - start)
    const at = this.#take(end - start)
    if (end > start) this.#bytes.fill(source.subarray(start, end), at, at + end - start)
  }

  /** Writes a count over one that was left open at `at`. */
  patchCount(at: number, value: number): void {
    this.#bytes.writeUInt32LE(value, at)
  }

  #take(length: number): number {
    const at = this.#length
    if (at + length > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, at + length))
      this.#bytes.copy(larger, 0, 0, at)
      this.#bytes = larger
    }
    this.#length = at + length
    return at
  }
}

export class RecordReader {
  #bytes: Buffer = Buffer.alloc(0)
  #at = 0

  begin(bytes: Buffer, start: number): void {
    this.#bytes = bytes
    this.#at = start
  }

  byte(): number {
    return this.#bytes[this.#at++]!
  }

  count(): number {
    this.#at += 4
    return this.#bytes.readUInt32LE(this.#at - 4)
  }

  integer(): number {
    this.#at += 8
    return this.#bytes.readDoubleLE(this.#at - 8)
  }

  big(): bigint {
    this.#at += 8
    return this.#bytes.readBigInt64LE(this.#at - 8)
  }

  text(): string {
    const length = this.count()
    this.#at += length
    return this.#bytes.toString('latin1', this.#at - length, this.#at)
  }

  /** Bytes that stay where they are. */
  raw(): Buffer {
    const length = this.count()
    this.#at += length
    return this.#bytes.subarray(this.#at - length, this.#at)
  }
}
