/** Decisions about callers hold for the process: of its threads each caches them, and one asks the
 *  upstream.
 *
 *  ```
 *  worker   cache ─▶ RemoteReviews ──message──▶ ReviewDesk ─▶ cache ─▶ queue ─▶ upstream   main thread
 *  ```
 *
 *  An answer comes with the time for which it may still be kept, so that two caches do not keep
 *  it for twice as long. The main thread hears of changed rules first, so whoever asks after
 *  having heard of a change gets no answer from before it. */

import { LRUCache } from 'lru-cache'
import type { Identity } from '@watchglass/kube'
import type { ReviewCache, AccessAnswer } from './review-cache.ts'
import type { AccessQuestion, AskedReviews, IdentityQuestion } from './reviews.ts'

/** Questions of a worker. */
export type DeskQuestion =
  | { readonly type: 'access'; readonly question: AccessQuestion }
  | { readonly type: 'identity'; readonly question: IdentityQuestion }

export interface DeskAnswer {
  readonly answer: AccessAnswer | Identity | undefined
  readonly leftMs: number
}

export interface ReviewDeskOptions {
  readonly reviews: AskedReviews
  readonly reviewCache: ReviewCache
  readonly identities: ReviewCache<Identity | undefined>
}

/** Callers for whom the upstream has answered a review, in whichever thread: several times those
 *  of a large cluster. */
const callersMax = 50_000

export class ReviewDesk {
  readonly #options: ReviewDeskOptions
  readonly #accepted = new LRUCache<string, true>({ max: callersMax })

  constructor(options: ReviewDeskOptions) {
    this.#options = options
  }

  async answer({ type, question }: DeskQuestion): Promise<DeskAnswer> {
    const { reviews, reviewCache, identities } = this.#options
    const { key, caller } = question
    const { expiresAtMs } = caller
    const isAccepted = question.isAccepted || this.#accepted.has(caller.key)
    if (type === 'identity') {
      const answer = await identities.decide(key, limit => reviews.identity(question, limit), {
        expiresAtMs,
        isAccepted,
      })
      return { answer, leftMs: identities.leftMs(key) }
    }
    const { namespace, canWait } = question
    const options = { expiresAtMs, isAccepted, namespace, canWait }
    const answer = await reviewCache.decide(key, limit => reviews.access(question, limit), options)
    if (answer.type === 'refused') this.#accepted.delete(caller.key)
    else this.#accepted.set(caller.key, true)
    return { answer, leftMs: reviewCache.leftMs(key) }
  }
}

/** In a worker. */
export class RemoteReviews implements AskedReviews {
  readonly #ask: (question: DeskQuestion) => Promise<DeskAnswer>

  constructor(ask: (question: DeskQuestion) => Promise<DeskAnswer>) {
    this.#ask = ask
  }

  async access(question: AccessQuestion, limit: (ms: number) => void): Promise<AccessAnswer> {
    const { answer, leftMs } = await this.#ask({ type: 'access', question })
    limit(leftMs)
    return answer as AccessAnswer
  }

  async identity(
    question: IdentityQuestion,
    limit: (ms: number) => void,
  ): Promise<Identity | undefined> {
    const { answer, leftMs } = await this.#ask({ type: 'identity', question })
    limit(leftMs)
    return answer as Identity | undefined
  }
}
