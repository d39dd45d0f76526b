/** Looks at the beginning of each message of a stream that passes, without keeping the rest. */

import { prefixBytes } from '@watchglass/etcd'

export class MessageHeads {
  readonly #headBytes: number
  readonly #onHead: (head: Buffer) => void
  /** The first bytes of the message that passes now, with its prefix. */
  #head: Buffer[] = []
  #held = 0
  /** Bytes of the message that are still to come; undefined until its prefix is there. */
  #left: number | undefined

  /** `onHead` is given at most `headBytes` of each message, or all of a shorter one, with its
   *  prefix; not of one whose end never comes. */
  constructor(headBytes: number, onHead: (head: Buffer) => void) {
    this.#headBytes = headBytes
    this.#onHead = onHead
  }

  push(chunk: Buffer): void {
    for (let at = 0; at < chunk.length;) at += this.#take(chunk.subarray(at))
  }

  /** Takes bytes of one message; how many. */
  #take(bytes: Buffer): number {
    if (this.#left === undefined) {
      const taken = this.#hold(bytes, prefixBytes)
      if (this.#held < prefixBytes) return taken
      this.#left = Buffer.concat(this.#head).readUInt32BE(1)
      this.#endIfWhole()
      return taken
    }
    const taken = Math.min(this.#left, bytes.length)
    this.#hold(bytes.subarray(0, taken), this.#headBytes)
    this.#left -= taken
    this.#endIfWhole()
    return taken
  }

  /** Keeps what belongs to the head; how many bytes that are. */
  #hold(bytes: Buffer, untilBytes: number): number {
    const taken = Math.min(untilBytes - this.#held, bytes.length)
    if (taken <= 0) return 0
    // The chunk would stay in memory with a few bytes of it.
    this.#head.push(Buffer.from(bytes.subarray(0, taken)))
    this.#held += taken
    return taken
  }

  #endIfWhole(): void {
    if (this.#left !== 0) return
    const head = Buffer.concat(this.#head)
    this.#head = []
    this.#held = 0
    this.#left = undefined
    this.#onHead(head)
  }
}
