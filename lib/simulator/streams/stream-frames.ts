/** Reads the frames of a client one after the other, some in each turn of the event loop: a packet
 *  may bring ten thousand, each of which is answered. */

import type { Clock } from '@watchglass/base'
import type { ClientSide } from './client-side.ts'
import type { HeldStreamBytes } from './held-bytes.ts'
import { Unread } from './unread.ts'

/** Frames that are read at once: a millisecond of small ones. */
const framesAtOnce = 500

/** Services that a stream needs. */
export interface StreamServices {
  readonly clock: Pick<Clock, 'yield'>
  readonly held: HeldStreamBytes
}

export interface FrameSyntax {
  /** Bytes that may wait; beyond, the client has to. */
  readonly aheadMaxBytes: number
  /** Length of the first frame; undefined if that is not known yet. A frame that none may be has
   *  ended the connection. */
  readonly lengthOf: (bytes: Buffer) => number | undefined
  /** Takes a frame. The next one waits for what it returns. */
  readonly take: (frame: Buffer) => Promise<void> | undefined
}

export class StreamFrames {
  readonly #client: ClientSide
  readonly #clock: Pick<Clock, 'yield'>
  readonly #syntax: FrameSyntax
  readonly #unread: Unread
  #isReading = false

  constructor(client: ClientSide, { clock, held }: StreamServices, syntax: FrameSyntax) {
    this.#client = client
    this.#clock = clock
    this.#syntax = syntax
    this.#unread = new Unread(held)
  }

  /** Bytes of the client. */
  push(bytes: Buffer): void {
    const { aheadMaxBytes } = this.#syntax
    const isTooMuch = this.#unread.size + bytes.length > 2 * aheadMaxBytes
    if (isTooMuch || !this.#unread.add(bytes)) return this.#client.destroy()
    if (!this.#isReading) void this.#read()
    this.#hold()
  }

  async #read(): Promise<void> {
    this.#isReading = true
    try {
      for (;;) {
        const waits = this.#client.batch(() => this.#readSome())
        this.#hold()
        if (waits === undefined) return
        await waits
      }
    } finally {
      this.#isReading = false
    }
  }

  /** Undefined if there is nothing more to read now. */
  #readSome(): Promise<void> | undefined {
    for (let i = 0; i < framesAtOnce; i++) {
      const length = this.#client.isEnded ? undefined : this.#syntax.lengthOf(this.#unread.view)
      if (length === undefined || this.#unread.size < length) return undefined
      const waits = this.#syntax.take(this.#unread.take(length))
      if (waits !== undefined) return waits
    }
    return this.#clock.yield()
  }

  /** A client that has sent more than is read has to wait. */
  #hold(): void {
    if (this.#unread.size > this.#syntax.aheadMaxBytes) this.#client.hold(this)
    else this.#client.release(this)
  }
}
