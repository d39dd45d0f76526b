/** The body of a request as it comes: whoever reads it makes room for more. */

import { Readable } from 'node:stream'

/** A smaller piece would keep all of what came with it in memory. Small ones that wait are joined:
 *  of a few bytes each, they would take ten times as much. */
const copiedMaxBytes = 4 * 1024

export class RequestBody extends Readable {
  readonly #onTaken: (bytes: number) => void
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #isWanted = false
  #hasEnd = false

  /** `onTaken` is told how many bytes have left for whoever reads. */
  constructor(onTaken: (bytes: number) => void) {
    super()
    this.#onTaken = onTaken
    // A client that resets its stream is not a failure of ours.
    this.on('error', () => {})
  }

  /** Bytes that nobody has read. */
  get waitingBytes(): number {
    return this.#waitingBytes
  }

  add(bytes: Buffer, from: number, to: number): void {
    const piece = bytes.subarray(from, to)
    const waiting = this.#waiting
    const last = waiting.at(-1)
    if (last !== undefined && last.length + piece.length <= copiedMaxBytes) {
      waiting[waiting.length - 1] = Buffer.concat([last, piece])
    } else waiting.push(piece.length <= copiedMaxBytes ? Buffer.from(piece) : piece)
    this.#waitingBytes += piece.length
    this.#give()
  }

  finish(): void {
    this.#hasEnd = true
    this.#give()
  }

  override _read(): void {
    this.#isWanted = true
    this.#give()
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#waiting = []
    done(error)
  }

  #give(): void {
    if (this.destroyed) return
    while (this.#isWanted && this.#waiting.length > 0) {
      const piece = this.#waiting.shift()!
      this.#waitingBytes -= piece.length
      this.#onTaken(piece.length)
      this.#isWanted = this.push(piece)
    }
    if (this.#hasEnd && this.#waiting.length === 0) {
      this.#hasEnd = false
      this.push(null)
    }
  }
}
