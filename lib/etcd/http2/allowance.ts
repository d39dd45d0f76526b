/** An amount that may be taken at once, and that fills again with each second. */

import type { Clock } from '@watchglass/base'

export interface AllowanceBounds {
  readonly most: number
  readonly perSecond: number
}

export class Allowance {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #bounds: AllowanceBounds
  #left: number
  #atMs: number

  constructor(clock: Pick<Clock, 'monotonicMs'>, bounds: AllowanceBounds) {
    this.#clock = clock
    this.#bounds = bounds
    this.#left = bounds.most
    this.#atMs = clock.monotonicMs()
  }

  /** More was taken than there was. */
  get isSpent(): boolean {
    return this.#left < 0
  }

  /** Adds what the time since the last call gives. */
  refill(): void {
    const nowMs = this.#clock.monotonicMs()
    this.give(((nowMs - this.#atMs) / 1_000) * this.#bounds.perSecond)
    this.#atMs = nowMs
  }

  give(amount: number): void {
    this.#left = Math.min(this.#bounds.most, this.#left + amount)
  }

  /** False if there is not so much left. */
  take(amount: number): boolean {
    this.#left -= amount
    return this.#left >= 0
  }
}
