/** A time in which the upstream has no answers to access reviews: it is busy (429), fails (5xx), is
 *  late or cannot be reached. Callers who were allowed a moment ago are not asked about again and
 *  again meanwhile: after Retry-After, or a growing pause with jitter, one review finds out whether
 *  there are answers again. Reviews of others are asked as always. */

import { CacheError, type Clock, type Logger, Outage, Pause, type Random } from '@watchglass/base'

/** The failure of a review that has no answer now. What was answered before may still hold. */
export class Unreviewed extends CacheError {
  constructor(message: string, retryAfterMs?: number) {
    super('upstream_failed', message, { retryAfterMs })
  }
}

export interface ReviewPauseOptions {
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

/** A review that takes longer counts as one without an answer, until it has one: whoever may use a
 *  former yes does not wait for as long as a review may take. */
export const lateAfterMs = 1_000

const pauses = { firstMs: 500, maxMs: 8_000 }
/** Some callers may have answers while others have none: it is over when all have had some for so
 *  long. */
const overAfterMs = 5_000

export class ReviewPause {
  readonly #clock: Clock
  readonly #pause: Pause
  readonly #outage: Outage
  #failedAtMs = Number.NEGATIVE_INFINITY
  /** Callers who wait for an answer, and have a former one. */
  readonly #waiting = new Set<() => void>()

  constructor(options: ReviewPauseOptions) {
    this.#clock = options.clock
    this.#pause = new Pause(options.clock, options.random, pauses)
    this.#outage = new Outage({
      ...options,
      begins:
        'the upstream has no answers to access reviews: who was allowed a moment ago is answered for up to a minute, all others pass',
      ends: 'the upstream answers access reviews again',
    })
  }

  /** Its rest; 0 if there is none. */
  get leftMs(): number {
    return this.#pause.leftMs
  }

  /** False if whoever can wait should not ask now. */
  get mayAsk(): boolean {
    return this.#pause.mayAsk
  }

  /** Calls `use` when a review, whosever it is, has no answer, until the returned function is
   *  called. */
  onUnanswered(use: () => void): () => void {
    this.#waiting.add(use)
    return () => void this.#waiting.delete(use)
  }

  /** A review is asked. */
  begin(): void {
    this.#pause.begin()
  }

  answered(): void {
    this.#pause.end()
    if (this.#clock.monotonicMs() - this.#failedAtMs < overAfterMs) return
    this.#pause.reset()
    this.#outage.answered()
  }

  unanswered({ message, details }: Unreviewed): void {
    this.#failedAtMs = this.#clock.monotonicMs()
    this.#outage.failed(message)
    for (const use of this.#waiting) use()
    this.#pause.begins(details.retryAfterMs ?? 0)
  }
}
