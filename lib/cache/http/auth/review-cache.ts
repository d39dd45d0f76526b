/** Caches the upstream's answers to access reviews for a short time.
 *
 *  The key has the hash of the credentials and all attributes in it, so two questions that differ
 *  in anything never share an answer. Failures are never cached. Requests with the same question
 *  share one review that is in flight.
 *
 *  When a rule changes, the cache is emptied at once. Answers to questions asked soon after the
 *  change are kept for a shorter time, because the upstream may see the change later than we do:
 *
 *  ```
 *         change seen      +5 s
 *  ── 10 s ──│── 1 s each ──│── 10 s ──▶
 *  ```
 *
 *  A review that was in flight when the change came still answers the requests that wait for it,
 *  but no others, and is not cached.
 *
 *  While the upstream has no answers (review-pause.ts), a yes that has expired holds for up to a
 *  minute more: not if a rule has changed since, not beyond the end of the credentials, and not if
 *  it may have been decided by old rules. */

import { LRUCache } from 'lru-cache'
import type { Clock } from '@watchglass/base'
import { lateAfterMs, type ReviewPause, Unreviewed } from './review-pause.ts'
import { ReviewQueue } from './review-queue.ts'

/** The upstream's answer to an access review. */
export type AccessAnswer =
  | { readonly type: 'allowed' }
  /** `reason` goes into the refusal. */
  | { readonly type: 'denied'; readonly reason: string }
  /** The upstream does not answer such questions for these credentials. */
  | { readonly type: 'refused' }

export interface ReviewCacheOptions<T> {
  readonly clock: Clock
  /** Time that an answer is kept. */
  readonly keptMs: (answer: T) => number
  /** Shared with other caches; one of its own if it is left out. */
  readonly queue?: Pick<ReviewQueue, 'run'> | undefined
  /** Which answers hold for longer while there are no others; none if it is left out. */
  readonly lasting?: Lasting<T> | undefined
}

interface Lasting<T> {
  readonly pause: ReviewPause
  readonly is: (answer: T) => boolean
}

/** Time for which a yes that has expired may hold. Kubernetes' own servers with a webhook as their
 *  authorizer use a yes for five minutes, whatever the webhook would say. */
export const lastingMs = 60_000

/** The upstream's aggregated API servers cache decisions for as long. */
export const reviewKeptMs = 10_000

/** For this long after a change the upstream may still decide by the old rules. */
const laggingMs = 5_000
/** The cache time of an answer that may have been decided by the old rules. */
const laggingKeptMs = 1_000

/** About 400 bytes each. A cluster of 5,000 nodes has about this many questions; beyond it the
 *  oldest answers are evicted. */
const keptMax = 100_000

/** At most this many namespaces with changed rules are tracked separately. */
const namespacesMax = 10_000

interface Kept<T> {
  readonly answer: T
  readonly untilMs: number
  /** Later than `untilMs` for an answer that may last while there are no others. */
  readonly lastsUntilMs: number
  readonly generation: number
  readonly namespace: string
}

/** Conditions that an answer depends on, beside its question. */
export interface DecideOptions {
  /** On the wall clock: no answer is cached beyond it. */
  readonly expiresAtMs?: number | undefined
  /** The upstream knows the caller. */
  readonly isAccepted?: boolean | undefined
  /** The namespace whose rules it may depend on, beside those of the whole cluster; empty: none. */
  readonly namespace?: string | undefined
  /** Nobody waits for it: while the upstream has no answers it is not asked, and a yes that has
   *  expired is none. */
  readonly canWait?: boolean | undefined
}

/** Asks a question. An answer that is somebody else's cached one may be kept for as long only as
 *  `limit` is told. */
export type AskReview<T> = (limit: (ms: number) => void) => Promise<T>

interface Drop {
  readonly generation: number
  readonly atMs: number
}

export class ReviewCache<T = AccessAnswer> {
  readonly #options: ReviewCacheOptions<T>
  readonly #queue: Pick<ReviewQueue, 'run'>
  readonly #kept = new LRUCache<string, Kept<T>>({ max: keptMax })
  readonly #asked = new Map<string, { readonly answer: Promise<T>; readonly generation: number }>()
  #drops = 0
  #dropOfAll: Drop = { generation: 0, atMs: Number.NEGATIVE_INFINITY }
  readonly #dropsOfNamespaces = new Map<string, Drop>()

  constructor(options: ReviewCacheOptions<T>) {
    this.#options = options
    this.#queue = options.queue ?? new ReviewQueue()
  }

  /** Number of cached answers. */
  get size(): number {
    return this.#kept.size
  }

  /** Changes with every drop that concerns a namespace: what was decided under another one may
   *  be wrong now. */
  generationOf(namespace: string): number {
    return this.#lastDrop(namespace).generation
  }

  /** The answer to a question; `ask` is called if it is not cached. Fails as `ask` does, and
   *  with `overloaded`. */
  decide(key: string, ask: AskReview<T>, options: DecideOptions = {}): T | Promise<T> {
    const { namespace = '', canWait = false } = options
    const known = canWait ? this.#fresh(key) : this.known(key)
    if (known !== undefined) return known
    if (canWait && this.#options.lasting?.pause.mayAsk === false) {
      throw new Unreviewed('the upstream has no answers to access reviews')
    }
    const asked = this.#asked.get(key)
    const isCurrent = asked?.generation === this.generationOf(namespace)
    const answer = (isCurrent ? asked?.answer : undefined) ?? this.#ask(key, ask, options)
    return canWait || this.#lasting(key) === undefined ? answer : this.#answerOrLast(key, answer)
  }

  /** For how long an answer may be used without another question; 0 if there is none. */
  leftMs(key: string): number {
    const kept = this.#kept.get(key)
    if (kept === undefined || this.known(key) === undefined) return 0
    const nowMs = this.#options.clock.monotonicMs()
    if (nowMs < kept.untilMs) return kept.untilMs - nowMs
    return Math.min(this.#options.lasting?.pause.leftMs ?? 0, kept.lastsUntilMs - nowMs)
  }

  /** The answer, if it is cached. One that has expired counts while no other is to be had. */
  known(key: string): T | undefined {
    const fresh = this.#fresh(key)
    if (fresh !== undefined || this.#options.lasting?.pause.mayAsk !== false) return fresh
    return this.#lasting(key)
  }

  /** True if the answer has expired, and is used because there is no other. */
  isLate(key: string): boolean {
    return this.#fresh(key) === undefined && this.#lasting(key) !== undefined
  }

  #fresh(key: string): T | undefined {
    const kept = this.#current(key)
    return kept !== undefined && this.#options.clock.monotonicMs() < kept.untilMs
      ? kept.answer
      : undefined
  }

  #lasting(key: string): T | undefined {
    const kept = this.#current(key)
    return kept !== undefined && this.#options.clock.monotonicMs() < kept.lastsUntilMs
      ? kept.answer
      : undefined
  }

  #current(key: string): Kept<T> | undefined {
    const kept = this.#kept.get(key)
    return kept?.generation === this.generationOf(kept?.namespace ?? '') ? kept : undefined
  }

  /** The answer, or the one that has expired as soon as it turns out that there is none now. */
  async #answerOrLast(key: string, answer: Promise<T>): Promise<T> {
    let stop: (() => void) | undefined
    const last = new Promise<T>(resolve => {
      stop = this.#options.lasting?.pause.onUnanswered(() => {
        const lasting = this.#lasting(key)
        if (lasting !== undefined) resolve(lasting)
      })
    })
    try {
      return await Promise.race([answer, last])
    } catch (error) {
      const lasting = error instanceof Unreviewed ? this.#lasting(key) : undefined
      if (lasting === undefined) throw error
      return lasting
    } finally {
      stop?.()
    }
  }

  /** Rules have changed, those of a namespace or of all: no answer from before is used again
   *  that may depend on them. */
  drop(namespace = ''): void {
    const drop = { generation: ++this.#drops, atMs: this.#options.clock.monotonicMs() }
    if (namespace !== '' && this.#dropsOfNamespaces.size < namespacesMax) {
      this.#dropsOfNamespaces.set(namespace, drop)
      return
    }
    this.#dropOfAll = drop
    this.#dropsOfNamespaces.clear()
    this.#kept.clear()
    this.#asked.clear()
  }

  #lastDrop(namespace: string): Drop {
    return this.#dropsOfNamespaces.get(namespace) ?? this.#dropOfAll
  }

  async #ask(
    key: string,
    ask: AskReview<T>,
    { expiresAtMs = Infinity, isAccepted = false, namespace = '' }: DecideOptions,
  ): Promise<T> {
    const { clock } = this.#options
    const generation = this.generationOf(namespace)
    const askedAtMs = clock.monotonicMs()
    let leftMs = Infinity
    const limit = (ms: number): void => void (leftMs = ms)
    const asked = { answer: this.#queue.run(() => this.#sent(ask, limit), isAccepted), generation }
    this.#asked.set(key, asked)
    try {
      const answer = await asked.answer
      if (generation === this.generationOf(namespace)) {
        const sinceDropMs = askedAtMs - this.#lastDrop(namespace).atMs
        const leftOfCredentialsMs = expiresAtMs - clock.wallMs()
        const mostMs = this.#keptMs(answer, sinceDropMs)
        const keptMs = Math.min(mostMs, leftMs, leftOfCredentialsMs)
        const untilMs = askedAtMs + keptMs
        const isLasting = sinceDropMs >= laggingMs && this.#options.lasting?.is(answer) === true
        const moreMs = isLasting ? Math.min(lastingMs, leftOfCredentialsMs - keptMs) : 0
        const kept = { answer, untilMs, lastsUntilMs: untilMs + moreMs, generation, namespace }
        if (keptMs > 0) this.#kept.set(key, kept)
      }
      return answer
    } finally {
      if (this.#asked.get(key) === asked) this.#asked.delete(key)
    }
  }

  async #sent(ask: AskReview<T>, limit: (ms: number) => void): Promise<T> {
    const { clock, lasting } = this.#options
    const pause = lasting?.pause
    pause?.begin()
    const late = (): void =>
      pause?.unanswered(new Unreviewed(`no answer to an access review within ${lateAfterMs} ms`))
    const cancel = pause && clock.setTimer(lateAfterMs, late)
    try {
      const answer = await ask(limit)
      pause?.answered()
      return answer
    } catch (error) {
      if (error instanceof Unreviewed) pause?.unanswered(error)
      else pause?.answered()
      throw error
    } finally {
      cancel?.()
    }
  }

  #keptMs(answer: T, sinceDropMs: number): number {
    const keptMs = this.#options.keptMs(answer)
    return sinceDropMs < laggingMs ? Math.min(keptMs, laggingKeptMs) : keptMs
  }
}
