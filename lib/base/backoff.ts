/** Growing pauses between attempts, with jitter so that many who failed together do not come back
 *  together. */

import type { Random } from './random.ts'

/** The bounds of growing pauses. */
export interface BackoffBounds {
  readonly firstMs: number
  readonly maxMs: number
}

/** The pauses of one series of attempts: each twice the one before, up to the bound, of which a
 *  random half is taken off. */
export class Backoff {
  readonly #bounds: BackoffBounds
  readonly #random: Random
  #pauseMs: number

  constructor(bounds: BackoffBounds, random: Random) {
    this.#bounds = bounds
    this.#random = random
    this.#pauseMs = bounds.firstMs
  }

  /** Returns the pause before the next attempt. */
  nextMs(): number {
    const pauseMs = this.#pauseMs
    this.#pauseMs = Math.min(pauseMs * 2, this.#bounds.maxMs)
    return pauseMs * (0.5 + this.#random.next() / 2)
  }

  /** An attempt has succeeded: the next series begins with the first pause. */
  reset(): void {
    this.#pauseMs = this.#bounds.firstMs
  }
}
