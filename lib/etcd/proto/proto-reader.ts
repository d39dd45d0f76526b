/** Reads the messages of gRPC: a reader of the wire whose input comes whole and is believed or
 *  refused whole. Keys come out as `Key` strings, values as windows on the buffer, integers of 64
 *  bits as numbers (exact up to 2^53) or, where all bits count, as bigint. What is malformed is
 *  thrown as an `invalid_request`. */

import { CacheError, type Key, WireReader } from '@watchglass/base'

export class ProtoReader extends WireReader {
  /** A view of `bytes` as a Buffer, from which texts are read. */
  readonly #buffer: Buffer

  constructor(bytes: Uint8Array) {
    super()
    this.#buffer =
      bytes instanceof Buffer
        ? bytes
        : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    this.reset(this.#buffer, 0, bytes.length)
  }

  /** A signed 64-bit number, exact up to 2^53. */
  int64(): number {
    const { at } = this
    const value = this.readVarint()
    if (value <= Number.MAX_SAFE_INTEGER) return value
    this.at = at
    return Number(this.readInt64())
  }

  /** An unsigned 64-bit number with all its bits. */
  biguint64(): bigint {
    return BigInt.asUintN(64, this.readInt64())
  }

  bool(): boolean {
    return this.readVarint() !== 0
  }

  /** The bytes of a length-delimited field: a view, not a copy. */
  view(): Buffer {
    this.readWindow()
    return this.#buffer.subarray(this.start, this.at)
  }

  key(): Key {
    this.readWindow()
    return this.#buffer.toString('latin1', this.start, this.at) as Key
  }

  text(): string {
    this.readWindow()
    return this.#buffer.toString('utf8', this.start, this.at)
  }

  /** Reads an embedded message: `read` sees only its bytes. */
  message<T>(read: (reader: ProtoReader) => T): T {
    this.readWindow()
    const { at: after, end } = this
    this.at = this.start
    this.end = after
    const value = read(this)
    this.at = after
    this.end = end
    return value
  }

  override malformed(): never {
    throw new CacheError('invalid_request', `malformed protobuf at byte ${this.at}`)
  }
}
