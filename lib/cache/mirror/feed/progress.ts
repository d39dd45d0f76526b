/** The revision up to which a stream is proven complete, and the reads that wait for more.
 *
 *  Progress is the highest revision R such that every event up to R has been applied. An event's
 *  batch moves it to its own revision, a progress mark to the revision of its header; the header of
 *  a response with events does not, because it may be far ahead of them.
 *
 *  Waiters are in a heap by revision, so that a step of progress touches only those whose revision
 *  is reached. */

import { Heap, type Revision } from '@watchglass/base'

export interface ProgressWaiter {
  /** The revision to reach; it does not change while waiting. */
  readonly awaited: Revision
  /** The order among waiters for the same revision: the lowest is woken first. */
  readonly sequence: number
  /** True once the waiter does not wait any more. */
  readonly isSettled: boolean
  reached(): void
}

/** Settled waiters are removed when there are more than this, and they are the majority. */
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

  /** True if a waiter's revision is not reached. */
  get isAwaited(): boolean {
    return this.#firstWaiting() !== undefined
  }

  get waiting(): number {
    return this.#waiting.size
  }

  /** Raises the progress to `revision`, and wakes the waiters that it reaches, in order. True if it
   *  rose. */
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

  /** Adds a waiter, which is woken when its revision is reached. The revision must be above the
   *  present one. */
  wait(waiter: ProgressWaiter): void {
    this.#waiting.add(waiter)
  }

  /** Notes that a waiter was settled in another way. */
  abandoned(): void {
    this.#settled++
    if (this.#settled <= settledMin || this.#settled * 2 <= this.#waiting.size) return
    this.#waiting.retain(waiter => !waiter.isSettled)
    this.#settled = 0
  }

  /** Removes and returns all waiters: their revisions belong to an old epoch. */
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
