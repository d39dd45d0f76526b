/** The attempts of one read of etcd, with growing pauses. */

import { Backoff, CacheError, sleep } from '@watchglass/base'
import type { PagesOptions } from './page.ts'

export class Attempts {
  readonly #options: PagesOptions
  readonly #max: number
  readonly #backoff: Backoff
  #made = 0

  constructor(options: PagesOptions, attemptsMax: number) {
    this.#options = options
    this.#max = attemptsMax
    this.#backoff = new Backoff(options.limits.reconnectBackoff, options.random)
  }

  /** Waits before another attempt. Throws the failure if that is not worthwhile, or was tried too
   *  often. */
  async failed(error: unknown): Promise<void> {
    const { clock, signal } = this.#options
    const failure = CacheError.from(error, 'source_failed')
    const isWorthwhile = failure.code === 'source_failed' || failure.code === 'overloaded'
    if (signal.aborted) throw new CacheError('closed', 'paged read was abandoned')
    this.#made++
    if (!isWorthwhile || this.#made >= this.#max) throw failure
    await sleep(clock, this.#backoff.nextMs(), signal)
  }

  /** Something has come: attempts are counted anew. */
  succeeded(): void {
    this.#made = 0
  }
}
