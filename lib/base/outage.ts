/** A time without answers, as the log and checks of health tell it: a line when it begins, with the
 *  cause, and one when it is over, with how long it was. Between them whoever asks goes on asking;
 *  the line is said again each minute where an operator has to act. */

import type { Clock } from './clock.ts'
import type { LogFields, Logger } from './logger.ts'

export interface OutageOptions {
  readonly clock: Clock
  readonly logger: Logger
  /** Said when it begins, and when it is over. */
  readonly begins: string
  readonly ends: string
  /** An operator has to act: it is an error, and said again each minute. */
  readonly isUrgent?: boolean | undefined
  /** An outage that is shorter is not told. */
  readonly toldAfterMs?: number | undefined
}

const saidAgainMs = 60_000

interface Failing {
  /** The last cause. */
  reason: string
  readonly since: string
  readonly sinceMs: number
}

export class Outage {
  readonly #options: OutageOptions
  #failing: Failing | undefined = undefined
  #saidMs: number | undefined = undefined

  constructor(options: OutageOptions) {
    this.#options = options
  }

  /** Its length until now; 0 while there is none. */
  get lastsMs(): number {
    const { clock } = this.#options
    return this.#failing === undefined ? 0 : clock.monotonicMs() - this.#failing.sinceMs
  }

  /** Its beginning, length and last cause in words; undefined while there is none, or it is too
   *  short to be told. */
  get words(): string | undefined {
    const { toldAfterMs = 0 } = this.#options
    if (this.#failing === undefined || this.lastsMs < toldAfterMs) return undefined
    const { since, reason } = this.#failing
    return `since ${since} (${Math.round(this.lastsMs / 1000)} s): ${reason}`
  }

  failed(reason: string, fields: LogFields = {}): void {
    const { clock, logger, begins, isUrgent = false, toldAfterMs = 0 } = this.#options
    const nowMs = clock.monotonicMs()
    // oxlint-disable-next-line no-restricted-globals -- the time is the given clock's
    const since = this.#failing?.since ?? new Date(clock.wallMs()).toISOString()
    const failing = (this.#failing ??= { reason, since, sinceMs: nowMs })
    failing.reason = reason
    if (this.lastsMs < toldAfterMs) return
    if (this.#saidMs !== undefined && (!isUrgent || nowMs - this.#saidMs < saidAgainMs)) return
    this.#saidMs = nowMs
    if (!isUrgent) logger.warn(begins, { ...fields, reason })
    else {
      const seconds = Math.round(this.lastsMs / 1000)
      logger.error(begins, { ...fields, error: reason, since, seconds })
    }
  }

  answered(): void {
    const failing = this.#failing
    if (failing === undefined) return
    const { lastsMs } = this
    this.#failing = undefined
    if (this.#saidMs === undefined) return
    this.#saidMs = undefined
    const { logger, ends, isUrgent = false } = this.#options
    if (!isUrgent) logger.info(ends, { seconds: Math.round(lastsMs / 100) / 10 })
    else logger.warn(ends, { since: failing.since, seconds: Math.round(lastsMs / 1000) })
  }
}
