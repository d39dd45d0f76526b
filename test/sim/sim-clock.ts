/** Simulated time: moves only when the world says so. */

import type { CancelTimer, Clock } from '../../lib/base/clock.ts'
import { Heap } from '../../lib/base/heap.ts'

interface Timer {
  readonly atMs: number
  readonly sequence: number
  task: (() => void) | undefined
}

export class SimClock implements Clock {
  #nowMs = 0
  #sequence = 0
  readonly #timers = new Heap<Timer>((a, b) => a.atMs - b.atMs || a.sequence - b.sequence)

  wallMs(): number {
    return 1_700_000_000_000 + this.#nowMs
  }

  monotonicMs(): number {
    return this.#nowMs
  }

  setTimer(delayMs: number, task: () => void): CancelTimer {
    const timer: Timer = { atMs: this.#nowMs + delayMs, sequence: this.#sequence++, task }
    this.#timers.add(timer)
    return () => {
      timer.task = undefined
    }
  }

  yield(): Promise<void> {
    return new Promise(resolve => {
      this.setTimer(0, resolve)
    })
  }

  advance(byMs: number): void {
    this.#nowMs += byMs
  }

  /** Runs one timer that is due; false when there is none. */
  runDue(): boolean {
    const first = this.#first()
    if (first === undefined || first.atMs > this.#nowMs) return false
    this.#timers.take()
    first.task?.()
    return true
  }

  /** Moves on to the next timer; false when there is none at all. */
  skipToNext(): boolean {
    const first = this.#first()
    if (first === undefined) return false
    this.#nowMs = Math.max(this.#nowMs, first.atMs)
    return true
  }

  #first(): Timer | undefined {
    for (;;) {
      const first = this.#timers.first
      if (first === undefined || first.task !== undefined) return first
      this.#timers.take()
    }
  }
}
