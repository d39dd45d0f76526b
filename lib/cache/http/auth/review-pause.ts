/** A time in which the upstream has no answers to access reviews: it is busy (429), fails (5xx), is
 *  late or cannot be reached. Callers who were allowed a moment ago are not asked about again and
 *  again meanwhile: after Retry-After, or a growing pause with jitter, one review finds out whether
 *  there are answers again. Reviews of others are asked as always. */

import { Backoff, CacheError, type Clock, type Logger, Outage, type Random } from '@watchglass/base'

/** There is no answer to a review now. What was answered before may still hold. */
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
/** A server that asks to be left alone for longer is asked after this time all the same. */
const retryAfterMaxMs = 30_000
/** Some callers may have answers while others have none: it is over when all have had some for so
 *  long. */
const overAfterMs = 5_000

export class ReviewPause {
  readonly #clock: Clock
  readonly #backoff: Backoff
  readonly #outage: Outage
  #untilMs = 0
  #failedAtMs = Number.NEGATIVE_INFINITY
  /** A review is under way that finds out. */
  #isTried = false
  /** Those who wait for an answer, and have a former one. */
  readonly #waiting = new Set<() => void>()

  constructor(options: ReviewPauseOptions) {
    this.#clock = options.clock
    this.#backoff = new Backoff(pauses, options.random)
    this.#outage = new Outage({
      ...options,
      begins:
        'the upstream has no answers to access reviews: who was allowed a moment ago is answered for up to a minute, all others pass',
      ends: 'the upstream answers access reviews again',
    })
  }

  /** Its rest; 0 if there is none. */
  get leftMs(): number {
    return Math.max(0, this.#untilMs - this.#clock.monotonicMs())
  }

  /** False if whoever can wait should not ask now. */
  get mayAsk(): boolean {
    return this.#untilMs === 0 || (!this.#isTried && this.leftMs === 0)
  }

  /** Calls `use` when a review, whosever it is, has no answer, until the returned function is
   *  called. */
  onUnanswered(use: () => void): () => void {
    this.#waiting.add(use)
    return () => void this.#waiting.delete(use)
  }

  /** A review is asked. */
  begin(): void {
    if (this.#untilMs > 0 && this.leftMs === 0) this.#isTried = true
  }

  answered(): void {
    this.#untilMs = 0
    this.#isTried = false
    if (this.#clock.monotonicMs() - this.#failedAtMs < overAfterMs) return
    this.#backoff.reset()
    this.#outage.answered()
  }

  unanswered({ message, details }: Unreviewed): void {
    this.#isTried = false
    this.#failedAtMs = this.#clock.monotonicMs()
    this.#outage.failed(message)
    for (const use of this.#waiting) use()
    // Of several that were under way at once, the first one counts.
    if (this.leftMs > 0) return
    const afterMs = Math.min(retryAfterMaxMs, details.retryAfterMs ?? 0)
    this.#untilMs = this.#failedAtMs + afterMs + this.#backoff.nextMs()
  }
}
