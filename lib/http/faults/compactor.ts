/** Compacts etcd on purpose, once or again and again, so that old revisions expire for clients. */

import type { CancelTimer, Clock } from '../../base/clock.ts'
import { CacheError } from '../../base/errors.ts'
import type { Logger } from '../../base/logger.ts'
import type { Revision } from '../../base/revision.ts'
import type { Compaction } from './rule.ts'

export interface CompactorOptions {
  /** Compacts at the newest revision. */
  readonly compact: () => Promise<Revision>
  readonly clock: Clock
  readonly logger: Logger
}

export class Compactor {
  readonly #options: CompactorOptions
  readonly #timers = new Set<CancelTimer>()

  constructor(options: CompactorOptions) {
    this.#options = options
  }

  /** Replaces what is to be done; `onDone` is called after each. */
  follow(compactions: readonly Compaction[], onDone: (compaction: Compaction) => void): void {
    this.stop()
    for (const compaction of compactions) this.#plan(compaction, onDone, compaction.everyMs ?? 0)
  }

  stop(): void {
    for (const cancel of this.#timers) cancel()
    this.#timers.clear()
  }

  #plan(compaction: Compaction, onDone: (compaction: Compaction) => void, delayMs: number): void {
    const { clock, logger, compact } = this.#options
    const timers = this.#timers
    const cancel = clock.setTimer(delayMs, () => {
      timers.delete(cancel)
      if (compaction.everyMs !== undefined) this.#plan(compaction, onDone, compaction.everyMs)
      compact().then(
        revision => {
          onDone(compaction)
          logger.info('compacted etcd on purpose', { revision })
        },
        (error: unknown) => {
          const { message } = CacheError.from(error, 'source_failed')
          logger.warn('etcd could not be compacted', { reason: message })
        },
      )
    })
    timers.add(cancel)
  }
}
