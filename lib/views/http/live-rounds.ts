/** The live pages of one range of keys, told of changes in rounds: one watcher of the hub hears for
 *  all of them that something has changed, and at most each half second each page says what it has
 *  to tell. A page that nothing concerns costs a few comparisons in a round, and nothing in
 *  between: to tell each of 200 pages of each of 500 changes a second took longer than to show what
 *  had changed (bench/views, November 2026).
 *
 *  ```
 *           a change, or a page that is due,
 *           500 ms after the last round began
 *    rest ──────────────────────────────────▶ round: each page in turn, in slices
 *         ◀──────────────────────────────────
 *  ``` */

import {
  Alarm,
  type Clock,
  type KeyRange,
  type Revision,
  Slice,
  type Steps,
} from '@watchglass/base'
import type { FollowedWatcher } from '@watchglass/cache'
import type { AudienceSpec, Event, Hub, Watcher } from '@watchglass/store'

/** The least time between two rounds. A person does not follow rows that change more often: `top`
 *  and consoles redraw every second or less, and half of the documents of a page are a record of
 *  TLS and a call of the system, whatever is in them. */
export const roundMs = 500

/** A page, as rounds know it. */
export interface LiveListener {
  /** Something in its range has changed. */
  heard(): void
  /** The moment of the monotonic clock at which it may have something to tell; Infinity if there is
   *  none, or it is telling something. */
  readonly dueAtMs: number
  /** Tells what has changed, if it may: begins to write it. */
  tell(): Steps<void>
  expired(oldest: Revision): void
  end(as: 'inexact'): void
}

export interface LiveRoundsOptions {
  readonly hub: Hub
  /** Differs from those of all other rounds. */
  readonly id: string
  readonly range: KeyRange
  /** Everything up to here is known to the first page. */
  readonly position: Revision
  readonly clock: Clock
  /** True if an object of the event cannot be shown yet: the hub is resumed when it can. */
  readonly isHeld: (event: Event) => boolean
  /** The last page is gone. */
  readonly onEmpty: () => void
}

export class LiveRounds {
  readonly hub: Hub
  readonly #clock: Clock
  readonly #onEmpty: () => void
  readonly #watcher: Watcher
  readonly #pages = new Set<LiveListener>()
  readonly #alarm: Alarm
  #hasChanged = false
  #isInRound = false
  #begunMs = Number.NEGATIVE_INFINITY
  /** The moment at which a page has something to tell. */
  #nextMs = Infinity

  constructor({ hub, id, range, position, clock, isHeld, onEmpty }: LiveRoundsOptions) {
    this.hub = hub
    this.#clock = clock
    this.#onEmpty = onEmpty
    this.#alarm = new Alarm(clock, () => void this.#round())
    const frameOf: AudienceSpec['frameOf'] = event => (isHeld(event) ? 'later' : changedFrame)
    this.#watcher = hub.add({ id, range, frameOf }, position, {
      write: () => {
        this.#heard()
        return true
      },
      expired: oldest => this.#pages.forEach(page => page.expired(oldest)),
      inexact: () => this.#pages.forEach(page => page.end('inexact')),
    })
  }

  /** False once its watcher has ended: pages that come later need another one. */
  get isOpen(): boolean {
    return this.#watcher.state !== 'ended'
  }

  /** Something has changed since the last round began. */
  get hasChanged(): boolean {
    return this.#hasChanged
  }

  /** Adds a page, which is asked in the next round what has changed since it began. */
  join(page: LiveListener): FollowedWatcher {
    this.#pages.add(page)
    page.heard()
    this.#plan(page.dueAtMs)
    const release = (): void => {
      if (!this.#pages.delete(page) || this.#pages.size > 0) return
      this.#alarm.clear()
      this.hub.delete(this.#watcher)
      this.#onEmpty()
    }
    return { watcher: this.#watcher, release }
  }

  /** A page that was telling something has told it. */
  told(page: LiveListener): void {
    if (this.#pages.has(page)) this.#plan(page.dueAtMs)
  }

  #heard(): void {
    if (this.#hasChanged) return
    this.#hasChanged = true
    this.#plan(Number.NEGATIVE_INFINITY)
  }

  /** Begins a round at that moment, or as soon after it as another one may begin. */
  #plan(atMs: number): void {
    this.#nextMs = Math.min(this.#nextMs, atMs)
    const isWanted = this.#pages.size > 0 && this.#nextMs < Infinity
    if (isWanted && !this.#isInRound) {
      this.#alarm.set(Math.max(this.#nextMs, this.#begunMs + roundMs))
    }
  }

  async #round(): Promise<void> {
    // One that takes longer than the time between two plans the next one when it ends.
    if (this.#isInRound) return
    this.#isInRound = true
    this.#begunMs = this.#clock.monotonicMs()
    this.#nextMs = Infinity
    const hasChanged = this.#hasChanged
    this.#hasChanged = false
    if (hasChanged) for (const page of this.#pages) page.heard()
    const slice = new Slice(this.#clock)
    for (const page of this.#pages) {
      // Contents have what cannot be shown yet. Its frame, which comes later, begins another round.
      if (this.#watcher.isHeld) break
      const steps = page.tell()
      while (steps.next().done !== true) if (slice.isOver) await slice.next()
      this.#nextMs = Math.min(this.#nextMs, page.dueAtMs)
      if (slice.isOver) await slice.next()
    }
    this.#isInRound = false
    this.#plan(Infinity)
  }
}

/** Says that something has changed. It is sent to nobody. */
const changedFrame = new Uint8Array(1)
