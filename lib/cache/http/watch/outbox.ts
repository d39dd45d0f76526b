/** Writes the frames of watches in rounds: each connection once, with all frames that have come
 *  since its last turn, in slices that are short enough for the event loop. After a long round it
 *  rests for as long as the round took, unless a buffer is full. So the busier the server, the more
 *  frames each write has, and the less an event costs. Events go before lists that are being sent,
 *  because behind a thousand lists they would be seconds late. */

import { type Clock, Slice } from '@watchglass/base'
import { zippedMember } from './zipped-frames.ts'

/** A watch with frames to write. */
export interface FrameSender {
  /** Writes them; returns the number of bytes. */
  flush(): number
}

/** The number of bytes written before the event loop sends them. All bytes that the streams of a
 *  connection get in one turn are encrypted and copied together, and if they do not fit in the
 *  processor's caches, an event costs a tenth more. So a few streams get much instead of each a
 *  little (bench/watch, November 2026). */
const burstBytes = 512 * 1024

/** A round gives way after so long. With 3 ms, as elsewhere, an event over HTTP/1.1 costs a tenth
 *  more (bench/watch, November 2026). */
const sliceMs = 4

/** After a shorter round there is no rest. */
const restMinMs = 0.5
/** The longest rest. */
const restMaxMs = 4

/** The number of joined pieces that are cached: watches with the same selectors may be at this many
 *  positions of the history. */
const joinsMax = 32

interface Join {
  readonly pieces: readonly Uint8Array[]
  readonly bytes: Uint8Array
}

export class Outbox {
  readonly #clock: Clock
  /** Totals written so far. */
  readonly sent = { frames: 0, bytes: 0 }
  #due: FrameSender[] = []
  #isSending = false
  /** No rest after this round. */
  #isHurried = false
  /** Ends the rest. Not an `AbortController`: each call of its `abort` makes an error with a stack,
   *  and `hurry` is called for every frame that a busy server writes. */
  #wake: (() => void) | undefined = undefined
  /** Joined bytes by their first piece. The map is replaced, never emptied: V8 lets each old table
   *  of an emptied map refer to the next, so that all of them, with the bytes in them, live until a
   *  full collection. */
  #joins: Map<Uint8Array | undefined, Join> | undefined = undefined
  /** Joined bytes of compressed frames. */
  #zips: Map<Uint8Array | undefined, Join> | undefined = undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Flushes `sender` soon. To be called once between two flushes. */
  add(sender: FrameSender): void {
    this.#due.push(sender)
    if (this.#isSending) return
    this.#isSending = true
    void this.#send()
  }

  /** Counts what is written. */
  count(frames: number, bytes: number): void {
    this.sent.frames += frames
    this.sent.bytes += bytes
  }

  /** Joins pieces. Watches that are sent the same pieces share the joined bytes; these are most
   *  watches with the same selectors. */
  join(pieces: readonly Uint8Array[]): Uint8Array {
    const known = this.#joins?.get(pieces[0])
    if (known !== undefined && isSame(known.pieces, pieces)) return known.bytes
    const bytes = Buffer.concat(pieces)
    if (this.#joins === undefined || this.#joins.size === joinsMax) this.#joins = new Map()
    this.#joins.set(pieces[0], { pieces, bytes })
    return bytes
  }

  /** Compresses frames that are written at once: one gzip member, which is shared like joined
   *  pieces. */
  zip(frames: readonly Uint8Array[]): Uint8Array {
    const known = this.#zips?.get(frames[0])
    if (known !== undefined && isSame(known.pieces, frames)) return known.bytes
    const bytes = zippedMember(frames)
    if (this.#zips === undefined || this.#zips.size === joinsMax) this.#zips = new Map()
    this.#zips.set(frames[0], { pieces: frames, bytes })
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
      // HTTP/2 encrypts and sends only now, which is most of the time of a round.
      await clock.yield('first')
      await this.#rest(clock.monotonicMs() - startMs)
    }
    this.#joins = undefined
    this.#zips = undefined
    this.#isSending = false
  }

  async #flush(): Promise<void> {
    const due = this.#due
    this.#due = []
    this.#isHurried = false
    const slice = new Slice(this.#clock, sliceMs)
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
