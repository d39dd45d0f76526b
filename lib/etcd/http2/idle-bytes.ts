/** The flood rule, the same for both ends. What carries nothing (PRIORITY, WINDOW_UPDATE, PING,
 *  SETTINGS, frames of types that nobody knows, padding, frames of streams that are refused or
 *  gone) is allowed as peers need it: an allowance that fills slowly, and a quarter of what was
 *  sent to the peer, since it acknowledges that. nginx compares likewise what came with what was
 *  made of it. */

import type { Clock } from '@watchglass/base'
import { Allowance, type AllowanceBounds } from './allowance.ts'
import { errorCode } from './frames.ts'
import { acknowledged } from './limits.ts'

export class IdleBytes {
  readonly #allowance: Allowance
  readonly #most: number
  #sentBefore = 0

  constructor(clock: Pick<Clock, 'monotonicMs'>, bounds: AllowanceBounds) {
    this.#allowance = new Allowance(clock, bounds)
    this.#most = bounds.most
  }

  /** More has come than was allowed. */
  get isSpent(): boolean {
    return this.#allowance.isSpent
  }

  /** Adds what time, and what was sent since the last call, give. `sentBytes` counts from the
   *  beginning of the connection. */
  refill(sentBytes: number): void {
    this.#allowance.refill()
    this.#allowance.give((sentBytes - this.#sentBefore) * acknowledged)
    this.#sentBefore = sentBytes
  }

  /** Forgives all: the peer has sent something of worth. */
  forgive(): void {
    this.#allowance.give(2 * this.#most)
  }

  /** Counts bytes that carry nothing; the code with which the connection fails if they are too
   *  many. */
  spend(bytes: number): number | undefined {
    return this.#allowance.take(bytes) ? undefined : errorCode.enhanceYourCalm
  }
}
