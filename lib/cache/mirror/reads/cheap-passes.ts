/** Consistent reads that go elsewhere at once, because a proof of progress would cost more than
 *  they do there: a get, a page, a list of little. So many a second may: what is read more often
 *  than that costs less if all readers share one proof. */

import type { Clock } from '@watchglass/base'

export interface CheapPassLimits {
  /** Reads a second, and how many may come at once. */
  readonly perSecond: number
  readonly burst: number
  /** A list of contents up to this size is as cheap as so many others. */
  readonly listMaxBytes: number
  readonly listCost: number
}

export class CheapPasses {
  readonly #limits: CheapPassLimits
  readonly #clock: Pick<Clock, 'monotonicMs'>
  #left: number
  #countedMs: number

  constructor(limits: CheapPassLimits, clock: Pick<Clock, 'monotonicMs'>) {
    this.#limits = limits
    this.#clock = clock
    this.#left = limits.burst
    this.#countedMs = clock.monotonicMs()
  }

  /** True if a read of this cost may go elsewhere now; it is counted then. */
  take(cost: number): boolean {
    const { perSecond, burst } = this.#limits
    const nowMs = this.#clock.monotonicMs()
    this.#left = Math.min(burst, this.#left + ((nowMs - this.#countedMs) * perSecond) / 1000)
    this.#countedMs = nowMs
    if (this.#left < cost) return false
    this.#left -= cost
    return true
  }
}
