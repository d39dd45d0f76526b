/** A clock that stands still until it is told to move on. */

import type { Clock } from '../../lib/base/clock.ts'

export class ManualClock implements Clock {
  #nowMs = 0
  #timers: { readonly atMs: number; readonly task: () => void }[] = []

  wallMs(): number {
    return 1_700_000_000_000 + this.#nowMs
  }

  monotonicMs(): number {
    return this.#nowMs
  }

  setTimer(delayMs: number, task: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, task }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter(other => other !== timer)
    }
  }

  yield(): Promise<void> {
    return new Promise(resolve => setImmediate(resolve))
  }

  get pendingTimers(): number {
    return this.#timers.length
  }

  /** Moves time on and runs what has become due, in order of time. */
  advance(ms: number): void {
    const end = this.#nowMs + ms
    for (;;) {
      const [next] = this.#timers.filter(timer => timer.atMs <= end).sort((a, b) => a.atMs - b.atMs)
      if (next === undefined) break
      this.#timers = this.#timers.filter(timer => timer !== next)
      this.#nowMs = Math.max(this.#nowMs, next.atMs)
      next.task()
    }
    this.#nowMs = end
  }
}
