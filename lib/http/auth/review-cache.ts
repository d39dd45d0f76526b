/** Caches the upstream's answers to access reviews for a short time.
 *
 *  The key is a hash over the credentials and all attributes, so two questions that differ in anything never share an answer. Failures
 *  are never cached. Requests with the same question share one review that is in flight.
 *
 *  When a rule changes, the cache is emptied at once. Answers to questions asked soon after the change are kept for a shorter time,
 *  because the upstream may see the change later than we do:
 *
 *  ```
 *         change seen      +5 s
 *  ── 10 s ──│── 1 s each ──│── 10 s ──▶
 *  ```
 *
 *  A review that was in flight when the change came still answers the requests that wait for it, but no others, and is not cached. */

import { LRUCache } from 'lru-cache'
import type { Clock } from '../../base/clock.ts'
import { CacheError } from '../../base/errors.ts'

/** What the upstream answers to the question whether somebody may do something. */
export type AccessAnswer =
  | { readonly type: 'allowed' }
  /** `reason` goes into the refusal. */
  | { readonly type: 'denied'; readonly reason: string }
  /** The upstream does not answer such questions for these credentials. */
  | { readonly type: 'refused' }

export interface ReviewCacheOptions<T> {
  readonly clock: Clock
  /** How long an answer is kept. */
  readonly keptMs: (answer: T) => number
}

/** The upstream's aggregated API servers cache decisions for as long. */
export const reviewKeptMs = 10_000

/** For this long after a change the upstream may still decide by the old rules. */
const laggingMs = 5_000
/** How long an answer is cached that may have been decided by the old rules. */
const laggingKeptMs = 1_000

/** About 300 bytes each. A cluster of 5,000 nodes has about this many questions; beyond it the oldest answers are evicted. */
const keptMax = 100_000

/** More reviews in flight than any upstream answers: requests beyond this are refused with Retry-After. */
const askedMax = 2_000

interface Kept<T> {
  readonly answer: T
  readonly untilMs: number
}

export class ReviewCache<T = AccessAnswer> {
  readonly #options: ReviewCacheOptions<T>
  readonly #kept = new LRUCache<string, Kept<T>>({ max: keptMax })
  readonly #asked = new Map<string, Promise<T>>()
  #underWay = 0
  #droppedAtMs = Number.NEGATIVE_INFINITY
  #generation = 0

  constructor(options: ReviewCacheOptions<T>) {
    this.#options = options
  }

  /** How many answers are cached. */
  get size(): number {
    return this.#kept.size
  }

  /** How many questions are not answered yet. */
  get underWay(): number {
    return this.#underWay
  }

  /** Counts how often the cache was emptied: what was decided under an older count may be wrong now. */
  get generation(): number {
    return this.#generation
  }

  /** The answer to a question; `ask` is called if it is not cached. No answer is cached beyond `expiresAtMs`, on the wall clock.
   *  Fails as `ask` does. */
  decide(
    key: string,
    ask: () => Promise<T>,
    expiresAtMs: number = Number.POSITIVE_INFINITY,
  ): T | Promise<T> {
    return this.known(key) ?? this.#asked.get(key) ?? this.#ask(key, ask, expiresAtMs)
  }

  /** The answer, if it is cached. */
  known(key: string): T | undefined {
    const kept = this.#kept.get(key)
    return kept !== undefined && this.#options.clock.monotonicMs() < kept.untilMs
      ? kept.answer
      : undefined
  }

  /** Rules have changed: no answer from before is used again. */
  drop(): void {
    this.#generation++
    this.#droppedAtMs = this.#options.clock.monotonicMs()
    this.#kept.clear()
    this.#asked.clear()
  }

  async #ask(key: string, ask: () => Promise<T>, expiresAtMs: number): Promise<T> {
    if (this.#underWay >= askedMax) {
      throw new CacheError('overloaded', `${askedMax} access reviews are in flight`, {
        retryAfterMs: 1_000,
      })
    }
    const { clock } = this.#options
    const generation = this.#generation
    const askedAtMs = clock.monotonicMs()
    this.#underWay++
    const asked = ask()
    this.#asked.set(key, asked)
    try {
      const answer = await asked
      if (generation === this.#generation) {
        const keptMs = Math.min(this.#keptMs(answer, askedAtMs), expiresAtMs - clock.wallMs())
        if (keptMs > 0) this.#kept.set(key, { answer, untilMs: askedAtMs + keptMs })
      }
      return answer
    } finally {
      this.#underWay--
      if (this.#asked.get(key) === asked) this.#asked.delete(key)
    }
  }

  #keptMs(answer: T, askedAtMs: number): number {
    const keptMs = this.#options.keptMs(answer)
    return askedAtMs - this.#droppedAtMs < laggingMs ? Math.min(keptMs, laggingKeptMs) : keptMs
  }
}
