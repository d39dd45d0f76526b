/** The deliveries of a watch stream, taken in order, for a few milliseconds in each turn of the
 *  event loop. A member that has much to tell sends megabytes at once, and each change goes to all
 *  its watchers: applied as it is read, that would hold the loop for 50 ms.
 *
 *  What comes at the usual rate is taken as it comes, without a turn's delay. The rest waits, and
 *  the stream is held meanwhile. */

import type { Clock } from '@watchglass/base'

export interface BacklogOptions<T> {
  readonly clock: Pick<Clock, 'monotonicMs' | 'yield'>
  /** For so long items are taken in one turn. */
  readonly sliceMaxMs: number
  readonly take: (item: T) => void
  /** Called when items begin to wait, and when none waits any more. */
  readonly hold: (isHeld: boolean) => void
}

export class Backlog<T> {
  readonly #options: BacklogOptions<T>
  #items: T[] = []
  /** Number of items taken. */
  #taken = 0
  /** Items were taken in this turn already. */
  #isTurn = false
  #endMs = 0
  #isHeld = false
  #isPaused = false

  constructor(options: BacklogOptions<T>) {
    this.#options = options
  }

  /** Takes the item now, or in a later turn. */
  add(item: T): void {
    if (this.#items.length === 0 && !this.#isPaused && this.#hasTime()) this.#options.take(item)
    else {
      this.#items.push(item)
      this.#hold(true)
    }
  }

  /** Takes nothing until `resume`. */
  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    if (this.#items.length > 0 && !this.#isTurn) this.#nextTurn()
  }

  /** Nothing that waits is taken any more. */
  clear(): void {
    this.#items = []
    this.#taken = 0
    this.#hold(false)
  }

  #hasTime(): boolean {
    const { clock, sliceMaxMs } = this.#options
    const nowMs = clock.monotonicMs()
    if (this.#isTurn) return nowMs < this.#endMs
    this.#isTurn = true
    this.#endMs = nowMs + sliceMaxMs
    void clock.yield('first').then(this.#nextTurn)
    return true
  }

  readonly #nextTurn = (): void => {
    this.#isTurn = false
    if (this.#isPaused) return
    while (this.#taken < this.#items.length && this.#hasTime()) {
      // The last one may clear what waits.
      this.#options.take(this.#items[this.#taken++]!)
    }
    if (this.#taken < this.#items.length) return
    this.clear()
  }

  #hold(isHeld: boolean): void {
    if (isHeld === this.#isHeld) return
    this.#isHeld = isHeld
    this.#options.hold(isHeld)
  }
}
