/** The log of a time without answers: one line when it begins, with the cause, and one when it is
 *  over, with how long it was. Between them whoever asks goes on asking, and says nothing. */

import type { Clock } from './clock.ts'
import type { LogFields, Logger } from './logger.ts'

export interface OutageOptions {
  readonly clock: Clock
  readonly logger: Logger
  /** Said when it begins, and when it is over. */
  readonly begins: string
  readonly ends: string
}

export class Outage {
  readonly #options: OutageOptions
  #sinceMs: number | undefined = undefined

  constructor(options: OutageOptions) {
    this.#options = options
  }

  /** Its length until now; 0 while there is none. */
  get lastsMs(): number {
    const { clock } = this.#options
    return this.#sinceMs === undefined ? 0 : clock.monotonicMs() - this.#sinceMs
  }

  failed(reason: string, fields: LogFields = {}): void {
    if (this.#sinceMs !== undefined) return
    const { clock, logger, begins } = this.#options
    this.#sinceMs = clock.monotonicMs()
    logger.warn(begins, { ...fields, reason })
  }

  answered(): void {
    if (this.#sinceMs === undefined) return
    const { logger, ends } = this.#options
    const seconds = Math.round(this.lastsMs / 100) / 10
    this.#sinceMs = undefined
    logger.info(ends, { seconds })
  }
}
