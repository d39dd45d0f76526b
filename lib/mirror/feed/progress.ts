/** How far a stream is proven complete, and who waits for more.
 *
 *  Progress is the highest revision R such that every event up to R has been applied. An event's batch moves it to its own
 *  revision, a progress mark to the revision of its header; the header of a response with events does not, because it may be
 *  far ahead of them.
 *
 *  Whoever waits for a revision lies in a heap, so that a step of progress costs nothing to those who wait for more. */

import { Heap } from '../../base/heap.ts'
import type { Revision } from '../../base/revision.ts'

export interface ProgressWaiter {
  /** The revision to be reached; does not change while waiting. */
  readonly awaited: Revision
  /** Decides among those who wait for the same revision: the lowest is woken first. */
  readonly sequence: number
  /** No longer interested. */
  readonly isSettled: boolean
  reached(): void
}

/** Settled waiters are let go of when there are more than this, and they are the majority. */
const settledMin = 64

export class Progress {
  #revision: Revision
  #settled = 0
  readonly #waiting = new Heap<ProgressWaiter>(
    (a, b) => a.awaited - b.awaited || a.sequence - b.sequence,
  )

  constructor(start: Revision) {
    this.#revision = start
  }

  get revision(): Revision {
    return this.#revision
  }

  /** Somebody waits for a revision that is not reached. */
  get isAwaited(): boolean {
    return this.#firstWaiting() !== undefined
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** Moves on to `revision`, unless it is there already, and wakes who waited for it, in order. True if it moved. */
  advance(revision: Revision): boolean {
    if (revision <= this.#revision) return false
    this.#revision = revision
    this.#wake()
    return true
  }

  /** The contents were replaced by those at `revision`, which may be lower. */
  restart(revision: Revision): void {
    this.#revision = revision
    this.#wake()
  }

  /** `waiter` is told once its revision is reached; it must be above the present one. */
  wait(waiter: ProgressWaiter): void {
    this.#waiting.add(waiter)
  }

  /** A waiter has been settled otherwise. */
  abandoned(): void {
    this.#settled++
    if (this.#settled <= settledMin || this.#settled * 2 <= this.#waiting.size) return
    this.#waiting.retain(waiter => !waiter.isSettled)
    this.#settled = 0
  }

  /** Lets go of all waiters: what they wait for has lost its meaning. */
  takeWaiting(): ProgressWaiter[] {
    this.#settled = 0
    return this.#waiting
      .takeAll()
      .filter(waiter => !waiter.isSettled)
      .sort((a, b) => a.sequence - b.sequence)
  }

  #wake(): void {
    for (;;) {
      const waiter = this.#firstWaiting()
      if (waiter === undefined || waiter.awaited > this.#revision) return
      this.#waiting.take()
      waiter.reached()
    }
  }

  #firstWaiting(): ProgressWaiter | undefined {
    for (;;) {
      const first = this.#waiting.first
      if (first === undefined || !first.isSettled) return first
      this.#waiting.take()
      this.#settled = Math.max(0, this.#settled - 1)
    }
  }
}
