/** The pace of whole lists, so that small requests of other users are answered between their
 *  slices. One pace belongs to one event loop: services that share a thread share it. */

import { type Clock, sleep } from '@watchglass/base'

/** With fewer whole lists than this, pacing is not needed: a single list gives way often enough. */
const pacedLists = 3
/** A user who asked for something small within this time is likely to ask again. */
const smallRecentMs = 50
const sliceMinMs = 1
const sliceMaxMs = 8

interface Small {
  readonly user: string
  readonly atMs: number
}

export class ListPace {
  readonly #clock: Clock
  #lists = 0
  #lastSmall: Small = { user: '', atMs: Number.NEGATIVE_INFINITY }
  /** The last small request of another user than that. */
  #otherSmall: Small = this.#lastSmall
  #nextSliceMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts a whole list that is running. Call the returned function once, when it is over. */
  began(): () => void {
    this.#lists++
    return () => this.#lists--
  }

  /** Notes a small request of a user: it must not wait for the long work of others. */
  noteSmall(user: string): void {
    const nowMs = this.#clock.monotonicMs()
    if (this.#lastSmall.user !== user) this.#otherSmall = this.#lastSmall
    this.#lastSmall = { user, atMs: nowMs }
  }

  /** Resolves when a whole list may do its next slice; the last one took `workedMs`. While three or
   *  more lists are running and other users send small requests, the lists together use half of the
   *  time: an event loop that is never idle answers a get only between two slices, and the clients
   *  need a processor, too. */
  async next(user: string, workedMs: number): Promise<void> {
    const nowMs = this.#clock.monotonicMs()
    const { user: last, atMs } = this.#lastSmall
    const othersAtMs = last === user ? this.#otherSmall.atMs : atMs
    if (this.#lists < pacedLists || nowMs - othersAtMs > smallRecentMs) return this.#clock.yield()
    const beginMs = Math.max(nowMs, this.#nextSliceMs)
    this.#nextSliceMs = beginMs + Math.min(sliceMaxMs, Math.max(sliceMinMs, 2 * workedMs))
    return sleep(this.#clock, Math.max(1, beginMs - nowMs))
  }
}
