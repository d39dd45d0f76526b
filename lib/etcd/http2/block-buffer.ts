/** A header block that comes in several frames. */

import type { Frame } from './frames.ts'

const firstBytes = 4 * 1024

export class BlockBuffer {
  #bytes: Buffer = Buffer.allocUnsafe(firstBytes)
  #length = 0
  readonly #maxBytes: number

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** False if it is longer than a block may be. */
  add({ bytes, from, to }: Frame): boolean {
    const length = this.#length + to - from
    if (length > this.#maxBytes) return false
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, 2 * this.#bytes.length))
      this.#bytes.copy(larger, 0, 0, this.#length)
      this.#bytes = larger
    }
    bytes.copy(this.#bytes, this.#length, from, to)
    this.#length = length
    return true
  }

  whole(): Pick<Frame, 'bytes' | 'from' | 'to'> {
    return { bytes: this.#bytes, from: 0, to: this.#length }
  }
}
