/** Compacts etcd on purpose, once or again and again, so that old revisions expire for clients. */

import {
  CacheError,
  type CancelTimer,
  type Clock,
  type Logger,
  repeat,
  type Revision,
} from '@watchglass/base'
import type { Compaction } from './rule.ts'

export interface CompactorOptions {
  /** Compacts at the newest revision. */
  readonly compact: () => Promise<Revision>
  readonly clock: Clock
  readonly logger: Logger
}

export class Compactor {
  readonly #options: CompactorOptions
  #timers: CancelTimer[] = []

  constructor(options: CompactorOptions) {
    this.#options = options
  }

  /** Replaces what is to be done; `onDone` is called after each. */
  follow(compactions: readonly Compaction[], onDone: (compaction: Compaction) => void): void {
    this.stop()
    const { clock } = this.#options
    for (const compaction of compactions) {
      const compact = (): void => this.#compact(() => onDone(compaction))
      this.#timers.push(clock.setTimer(0, compact))
      const { everyMs } = compaction
      if (everyMs !== undefined) this.#timers.push(repeat(clock, everyMs, compact))
    }
  }

  stop(): void {
    for (const cancel of this.#timers) cancel()
    this.#timers = []
  }

  #compact(onDone: () => void): void {
    const { logger, compact } = this.#options
    compact().then(
      revision => {
        onDone()
        logger.info('compacted etcd on purpose', { revision })
      },
      (error: unknown) => {
        const { message } = CacheError.from(error, 'source_failed')
        logger.warn('etcd could not be compacted', { reason: message })
      },
    )
  }
}
