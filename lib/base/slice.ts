/** Work in slices: our own code looks at the clock every so often, and gives way to whatever else is due once it has had its time. */

import type { Clock } from './clock.ts'

/** So long work goes on before it gives way: half of what the event loop may be held for, since two slices may meet. */
const defaultSliceMs = 4

export class Slice {
  readonly #clock: Clock
  readonly #lengthMs: number
  #endMs: number

  constructor(clock: Clock, lengthMs: number = defaultSliceMs) {
    this.#clock = clock
    this.#lengthMs = lengthMs
    this.#endMs = clock.monotonicMs() + lengthMs
  }

  /** True once its time is over: whoever works must await `next` then. */
  get isOver(): boolean {
    return this.#clock.monotonicMs() >= this.#endMs
  }

  /** Gives way, and begins the next slice. */
  async next(): Promise<void> {
    await this.#clock.yield()
    this.#endMs = this.#clock.monotonicMs() + this.#lengthMs
  }
}
