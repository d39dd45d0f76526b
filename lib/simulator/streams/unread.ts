/** Bytes that have come and are not read yet. Pieces are joined: each of a million pieces of one
 *  byte would otherwise take a hundred, and to join them all for each would take hours. */

import type { HeldStreamBytes } from './held-bytes.ts'

const nothing = Buffer.alloc(0)
/** The least room that is made. */
const roomMinBytes = 1024

export class Unread {
  readonly #held: HeldStreamBytes
  /** Bytes not read are between `#from` and `#to`. Those before may be in use: they are never
   *  written again. */
  #bytes: Buffer = nothing
  #from = 0
  #to = 0

  constructor(held: HeldStreamBytes) {
    this.#held = held
  }

  get size(): number {
    return this.#to - this.#from
  }

  /** The bytes, which stay. */
  get view(): Buffer {
    return this.#bytes.subarray(this.#from, this.#to)
  }

  /** False if the stream may not hold so much. */
  add(piece: Buffer): boolean {
    if (this.size === 0) return this.#set(piece, piece.length)
    if (this.#bytes.length - this.#to < piece.length && !this.#widen(piece.length)) return false
    this.#to += piece.copy(this.#bytes, this.#to)
    return true
  }

  /** The first so many bytes, which are read. */
  take(count: number): Buffer {
    const taken = this.#bytes.subarray(this.#from, this.#from + count)
    this.#from += count
    if (this.#from === this.#to) this.#set(nothing, 0)
    return taken
  }

  #widen(more: number): boolean {
    const { size } = this
    const room = Buffer.allocUnsafeSlow(Math.max(roomMinBytes, 2 * (size + more)))
    this.#bytes.copy(room, 0, this.#from, this.#to)
    return this.#set(room, size)
  }

  #set(bytes: Buffer, size: number): boolean {
    if (!this.#held.change(bytes.length - this.#bytes.length)) return false
    this.#bytes = bytes
    this.#from = 0
    this.#to = size
    return true
  }
}
