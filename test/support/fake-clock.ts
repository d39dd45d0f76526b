/** A clock that stands still until a test moves it. */

import type { CancelTimer, Clock } from '../../lib/base/clock.ts'
import { Heap } from '../../lib/base/heap.ts'

interface Timer {
  readonly atMs: number
  readonly sequence: number
  readonly task: () => void
  isCancelled: boolean
}

export class FakeClock implements Clock {
  #nowMs: number
  #sequence = 0
  readonly #timers = new Heap<Timer>((a, b) => a.atMs - b.atMs || a.sequence - b.sequence)

  constructor(startMs = 1_000_000) {
    this.#nowMs = startMs
  }

  wallMs(): number {
    return this.#nowMs
  }

  monotonicMs(): number {
    return this.#nowMs
  }

  setTimer(delayMs: number, task: () => void): CancelTimer {
    const timer: Timer = {
      atMs: this.#nowMs + delayMs,
      sequence: this.#sequence++,
      task,
      isCancelled: false,
    }
    this.#timers.add(timer)
    return () => {
      timer.isCancelled = true
    }
  }

  yield(): Promise<void> {
    return Promise.resolve()
  }

  /** Timers that have neither fired nor been cancelled. */
  get pendingTimers(): number {
    this.#timers.retain(timer => !timer.isCancelled)
    return this.#timers.size
  }

  /** Moves time on, firing what falls due in order, and lets promises settle after each timer. */
  async advance(byMs: number): Promise<void> {
    const untilMs = this.#nowMs + byMs
    await settle()
    for (let timer = this.#timers.first; timer !== undefined; timer = this.#timers.first) {
      if (timer.atMs > untilMs) break
      this.#timers.take()
      this.#nowMs = Math.max(this.#nowMs, timer.atMs)
      if (timer.isCancelled) continue
      timer.task()
      await settle()
    }
    this.#nowMs = untilMs
  }
}

/** On which something takes as long as a slice may between any two looks, and which counts the
 *  turns that others get. */
export class SlowClock extends FakeClock {
  yields = 0
  #looks = 0
  override monotonicMs(): number {
    return 4 * this.#looks++
  }
  override yield(): Promise<void> {
    this.yields++
    return super.yield()
  }
}

/** Lets everything that promises have pending run. */
export function settle(): Promise<void> {
  return new Promise(resolve => {
    setImmediate(resolve)
  })
}
