/** Writes what watches have been told, in turns: each connection once for all that came meanwhile, and never so many in one go that
 *  the event loop is held. The busier the server, the more each write carries, and the less an event costs. News go before lists
 *  that are being sent: behind a thousand of them they would come seconds late. */

import type { Clock } from '../base/clock.ts'

/** Something with frames to write. */
export interface Sender {
  flush(): void
}

/** Writing gives way to everything else after so long. */
const sliceMs = 4

export class Outbox {
  readonly #clock: Clock
  #due: Sender[] = []
  #isSending = false
  #pieces: readonly Uint8Array[] = []
  #joined: Uint8Array = Buffer.alloc(0)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Has `sender` flushed soon. Once until it was. */
  add(sender: Sender): void {
    this.#due.push(sender)
    if (this.#isSending) return
    this.#isSending = true
    void this.#send()
  }

  /** Pieces as one. Whoever has been told the same as the one before, which is most who watch the same, is given the same bytes. */
  join(pieces: readonly Uint8Array[]): Uint8Array {
    const isSame =
      pieces.length === this.#pieces.length && pieces.every((piece, i) => piece === this.#pieces[i])
    if (!isSame) {
      this.#pieces = pieces
      this.#joined = Buffer.concat(pieces)
    }
    return this.#joined
  }

  async #send(): Promise<void> {
    const clock = this.#clock
    await clock.yield('first')
    let endMs = clock.monotonicMs() + sliceMs
    while (this.#due.length > 0) {
      const due = this.#due
      this.#due = []
      for (const sender of due) {
        sender.flush()
        if (clock.monotonicMs() < endMs) continue
        await clock.yield('first')
        endMs = clock.monotonicMs() + sliceMs
      }
    }
    this.#isSending = false
  }
}
