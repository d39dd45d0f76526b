/** Bytes of chunks that are encoded, for whoever is sent them next. Streams that take what they
 *  are sent are not far from each other: only the newest bytes are kept, and a stream that is far
 *  behind has them encoded again. */

/** Bound of the bytes that are kept for all streams: more than the deletes of a hundred thousand
 *  keys. */
const keptMaxBytes = 32 * 1024 * 1024

export class KeptChunks {
  readonly #maxBytes: number
  /** Oldest first. */
  readonly #chunks = new Map<object, Buffer>()
  #bytes = 0

  constructor(maxBytes: number = keptMaxBytes) {
    this.#maxBytes = maxBytes
  }

  get(chunk: object): Buffer | undefined {
    return this.#chunks.get(chunk)
  }

  keep(chunk: object, bytes: Buffer): void {
    this.#chunks.set(chunk, bytes)
    this.#bytes += bytes.length
    for (const oldest of this.#chunks.keys()) {
      if (this.#bytes <= this.#maxBytes) break
      this.forget(oldest)
    }
  }

  forget(chunk: object): void {
    this.#bytes -= this.#chunks.get(chunk)?.length ?? 0
    this.#chunks.delete(chunk)
  }
}
