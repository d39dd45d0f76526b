/** Decisions of the upstream that are kept for a while.
 *
 *  They are kept under hashes over the credentials and the complete attributes, so that no two questions share an answer that
 *  differ in anything. Failures are never kept. Askers of the same question share one that is under way.
 *
 *  When a rule changes all decisions are dropped at once, and those that are asked for soon after it are kept only shortly, since the
 *  upstream may see the change later than we do:
 *
 *  ```
 *         change seen      +5 s
 *  ── 10 s ──│── 1 s each ──│── 10 s ──▶
 *  ```
 *
 *  A question that was under way when the change came in still answers those who have asked, but nobody else, and is not kept. */

import { LRUCache } from 'lru-cache'
import type { Clock } from '../../base/clock.ts'
import { CacheError } from '../../base/errors.ts'

/** What the upstream says of a question. */
export type Decision =
  | { readonly type: 'allowed' }
  /** `reason` is for the refusal. */
  | { readonly type: 'denied'; readonly reason: string }
  /** It does not answer such questions to whoever asks, or does not know them. */
  | { readonly type: 'refused' }

export interface DecisionsOptions<T> {
  readonly clock: Clock
  /** How long an answer is kept. */
  readonly keptMs: (answer: T) => number
}

/** kube's aggregated servers keep decisions so long. */
export const decisionMs = 10_000

/** So long after a change the upstream may still decide by the old rules. */
const laggingMs = 5_000
/** So long is kept what may be decided by the old rules. */
const laggingKeptMs = 1_000

/** About 300 bytes each. A cluster of 5,000 nodes has that many questions open; who asks more is asked for again. */
const keptMax = 100_000

/** More at a time than any upstream answers: who asks beyond it is told to come again. */
const askedMax = 2_000

interface Kept<T> {
  readonly answer: T
  readonly untilMs: number
}

export class Decisions<T = Decision> {
  readonly #options: DecisionsOptions<T>
  readonly #kept = new LRUCache<string, Kept<T>>({ max: keptMax })
  readonly #asked = new Map<string, Promise<T>>()
  #underWay = 0
  #droppedAtMs = Number.NEGATIVE_INFINITY
  #generation = 0

  constructor(options: DecisionsOptions<T>) {
    this.#options = options
  }

  /** How many are kept. */
  get size(): number {
    return this.#kept.size
  }

  /** Counts drops: whatever was decided under an older count may be wrong now. */
  get generation(): number {
    return this.#generation
  }

  /** The decision on a question, asked by `ask` if it is not known. A decision is not kept beyond `expiresAtMs`, on the wall clock.
   *  Fails as `ask` does. */
  decide(
    key: string,
    ask: () => Promise<T>,
    expiresAtMs: number = Number.POSITIVE_INFINITY,
  ): T | Promise<T> {
    return this.known(key) ?? this.#asked.get(key) ?? this.#ask(key, ask, expiresAtMs)
  }

  /** The decision, if it is kept. */
  known(key: string): T | undefined {
    const kept = this.#kept.get(key)
    return kept !== undefined && this.#options.clock.monotonicMs() < kept.untilMs
      ? kept.answer
      : undefined
  }

  /** Rules have changed: nothing that was decided before is used again. */
  drop(): void {
    this.#generation++
    this.#droppedAtMs = this.#options.clock.monotonicMs()
    this.#kept.clear()
    this.#asked.clear()
  }

  async #ask(key: string, ask: () => Promise<T>, expiresAtMs: number): Promise<T> {
    if (this.#underWay >= askedMax) {
      throw new CacheError('overloaded', `${askedMax} access reviews are under way`, {
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
