/** Writes the frames of watches in rounds: each connection once for all frames that have come meanwhile, and never so much in one slice
 *  that the event loop is held. After a round that took a while it rests for as long, unless a buffer is full: the busier the server,
 *  the more each write carries, and the less an event costs. Events go before lists that are being sent: behind a thousand of them they
 *  would be seconds late. */

import type { Clock } from '../../base/clock.ts'
import { Slice } from '../../base/slice.ts'

/** Something with frames to write. */
export interface Sender {
  /** Writes them; how many bytes that is. */
  flush(): number
}

/** So much is handed over before the event loop sends it. What the streams of a connection are given in one turn is encrypted and copied
 *  as a whole, and when it does not fit in the processor's caches, an event costs a tenth more. Streams are rather given more, one
 *  after the other, than each a little (bench/watch, November 2026). */
const burstBytes = 512 * 1024

/** After a shorter round there is no rest. */
const restMinMs = 0.5
/** The longest rest. */
const restMaxMs = 4

/** Joined pieces that are remembered: watches of the same selection may be at this many positions of the history. */
const joinsMax = 32

interface Join {
  readonly pieces: readonly Uint8Array[]
  readonly bytes: Uint8Array
}

export class Outbox {
  readonly #clock: Clock
  #due: Sender[] = []
  #isSending = false
  /** No rest after this round. */
  #isHurried = false
  /** Ends the rest. Not an `AbortController`: each call of its `abort` makes an error with a stack, and `hurry` is called for every
   *  frame that a busy server writes. */
  #wake: (() => void) | undefined = undefined
  /** By their first piece. Begun anew and never emptied: of a map that is, each table refers to the next, and once one has grown old,
   *  all that come after it do, with the bytes in them, until a full collection. */
  #joins: Map<Uint8Array | undefined, Join> | undefined = undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Flushes `sender` soon. To be called once between two flushes. */
  add(sender: Sender): void {
    this.#due.push(sender)
    if (this.#isSending) return
    this.#isSending = true
    void this.#send()
  }

  /** Joins pieces. Watches that are sent the same pieces share the joined bytes, which is most of those with the same selection. */
  join(pieces: readonly Uint8Array[]): Uint8Array {
    const known = this.#joins?.get(pieces[0])
    if (known !== undefined && isSame(known.pieces, pieces)) return known.bytes
    const bytes = Buffer.concat(pieces)
    if (this.#joins === undefined || this.#joins.size === joinsMax) this.#joins = new Map()
    this.#joins.set(pieces[0], { pieces, bytes })
    return bytes
  }

  /** The buffer of a sender that is due is full: there is no reason to rest. */
  hurry(): void {
    this.#isHurried = true
    this.#wake?.()
  }

  async #send(): Promise<void> {
    const clock = this.#clock
    await clock.yield('first')
    while (this.#due.length > 0) {
      const startMs = clock.monotonicMs()
      await this.#flush()
      // What goes over HTTP/2 is encrypted and sent only now: that is most of what a round takes.
      await clock.yield('first')
      await this.#rest(clock.monotonicMs() - startMs)
    }
    this.#joins = undefined
    this.#isSending = false
  }

  async #flush(): Promise<void> {
    const due = this.#due
    this.#due = []
    this.#isHurried = false
    const slice = new Slice(this.#clock)
    let bytes = 0
    for (const sender of due) {
      bytes += sender.flush()
      if (bytes < burstBytes && !slice.isOver) continue
      await slice.next('first')
      bytes = 0
    }
  }

  #rest(roundMs: number): Promise<void> | undefined {
    if (roundMs < restMinMs || this.#isHurried) return undefined
    return new Promise(resolve => {
      const done = (): void => {
        this.#wake = undefined
        cancel()
        resolve()
      }
      const cancel = this.#clock.setTimer(Math.min(roundMs, restMaxMs), done)
      this.#wake = done
    })
  }
}

function isSame(some: readonly Uint8Array[], others: readonly Uint8Array[]): boolean {
  return some.length === others.length && some.every((piece, i) => piece === others[i])
}
