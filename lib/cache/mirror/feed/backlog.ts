/** The deliveries of a watch stream, taken in order, for a few milliseconds in each turn of the
 *  event loop. A member that has much to tell sends megabytes at once, and each change goes to all
 *  its watchers: applied as it is read, that would hold the loop for 50 ms. One of them may be a
 *  transaction that changed everything: it is taken in steps.
 *
 *  What comes at the usual rate is taken as it comes, without a turn's delay. The rest waits, and
 *  the stream is held meanwhile. */

import type { Clock, Steps } from '@watchglass/base'

export interface BacklogOptions<T> {
  readonly clock: Pick<Clock, 'monotonicMs' | 'yield'>
  /** For so long items are taken in one turn. */
  readonly sliceMaxMs: number
  /** Takes an item, or returns the steps that this takes: the next item comes after the last. */
  readonly take: (item: T) => Steps<void> | undefined
  /** Called when items begin to wait, and when none waits any more. */
  readonly hold: (isHeld: boolean) => void
}

export class Backlog<T> {
  readonly #options: BacklogOptions<T>
  #items: T[] = []
  /** Number of items taken. */
  #taken = 0
  /** The rest of the last one. */
  #steps: Steps<void> | undefined = undefined
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
    if (this.#hasWork || this.#isPaused || !this.#hasTime()) this.#items.push(item)
    else this.#take(item)
    if (this.#hasWork) this.#hold(true)
  }

  /** Takes nothing until `resume`. */
  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    if (this.#hasWork && !this.#isTurn) this.#nextTurn()
  }

  /** Nothing that waits is taken any more. */
  clear(): void {
    this.#items = []
    this.#taken = 0
    this.#steps = undefined
    this.#hold(false)
  }

  /** Whether anything waits. */
  get isWaiting(): boolean {
    return this.#hasWork
  }

  get #hasWork(): boolean {
    return this.#steps !== undefined || this.#taken < this.#items.length
  }

  /** Any step may clear what waits. */
  #take(item: T): void {
    this.#steps = this.#options.take(item)
    this.#goOn()
  }

  #goOn(): void {
    const steps = this.#steps
    if (steps === undefined) return
    do {
      if (steps.next().done === true && this.#steps === steps) this.#steps = undefined
    } while (this.#steps === steps && this.#hasTime())
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
    while (this.#hasWork && this.#hasTime()) {
      if (this.#steps === undefined) this.#take(this.#items[this.#taken++]!)
      else this.#goOn()
    }
    if (!this.#hasWork) this.clear()
  }

  #hold(isHeld: boolean): void {
    if (isHeld === this.#isHeld) return
    this.#isHeld = isHeld
    this.#options.hold(isHeld)
  }
}
