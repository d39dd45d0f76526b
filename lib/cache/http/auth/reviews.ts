/** Asks the API server that decides: may this user do that, and who is this user. */

import { CacheError, type Clock, retryAfterMs, withTimeLimit } from '@watchglass/base'
import {
  type Attributes,
  type Identity,
  identityAnswer,
  reviewAnswer,
  selfReview,
  selfReviewPath,
  subjectReview,
  subjectReviewPath,
  whoAmI,
  whoAmIPath,
} from '@watchglass/kube'
import type { UpstreamCaller } from './upstream-calls.ts'
import type { UpstreamAnswer } from './upstream-calls.ts'
import type { Caller } from './caller.ts'
import type { AccessAnswer } from './review-cache.ts'
import { Unreviewed } from './review-pause.ts'

/** The API server that is asked. */
export type ReviewServer = UpstreamCaller

/** Counters of reviews. */
export interface ReviewMetrics {
  review(kind: ReviewKind, outcome: ReviewOutcome): void
}

/** Counters of an authorizer. */
export interface AccessMetrics extends ReviewMetrics {
  /** A request was granted by a yes that had expired. */
  prolonged(): void
}

export type ReviewKind = 'self' | 'subject' | 'identity'
export type ReviewOutcome = 'allowed' | 'denied' | 'refused' | 'failed' | 'known'

/** A question about a caller. `key` is that of the cached answer. */
export interface IdentityQuestion {
  readonly key: string
  readonly caller: Caller
  /** The upstream has answered reviews of the caller before. */
  readonly isAccepted: boolean
}

export interface AccessQuestion extends IdentityQuestion {
  readonly attributes: Attributes
  /** The namespace whose rules the answer may depend on, beside those of the whole cluster; empty:
   *  none. */
  readonly namespace: string
  /** Nobody waits for the answer. */
  readonly canWait?: boolean | undefined
}

/** Answers reviews: the API server, or another thread of this process, which tells `limit` for how
 *  long its answer may be kept. */
export interface AskedReviews {
  /** May the caller do that? */
  access(question: AccessQuestion, limit: (ms: number) => void): Promise<AccessAnswer>
  /** The user that the upstream takes the caller for; undefined if it does not say. */
  identity(question: IdentityQuestion, limit: (ms: number) => void): Promise<Identity | undefined>
}

/** With whose credentials the upstream is asked: the caller's own (`delegate`), or ours, with
 *  the identity from a front proxy or a certificate (`requestheader`). */
export type ReviewMode = 'delegate' | 'requestheader'

export interface ReviewsOptions {
  readonly mode: ReviewMode
  readonly server: ReviewServer
  readonly clock: Clock
  readonly metrics: ReviewMetrics
}

/** The timeout of Kubernetes' own delegating servers. */
const timeoutMs = 10_000

export class Reviews implements AskedReviews {
  readonly #options: ReviewsOptions

  constructor(options: ReviewsOptions) {
    this.#options = options
  }

  access({ attributes, caller }: AccessQuestion): Promise<AccessAnswer> {
    const { identity } = caller
    return this.#options.mode === 'requestheader' && identity !== undefined
      ? this.#subject(attributes, identity)
      : this.#self(attributes, caller)
  }

  #self(attributes: Attributes, caller: Caller): Promise<AccessAnswer> {
    return this.#decide('self', {
      path: selfReviewPath,
      body: selfReview(attributes),
      headers: caller.headers,
      as: caller.as,
    })
  }

  async #subject(attributes: Attributes, identity: Identity): Promise<AccessAnswer> {
    const decision = await this.#decide('subject', {
      path: subjectReviewPath,
      body: subjectReview(attributes, identity),
      headers: {},
      as: 'ourselves',
    })
    // A refusal of our own credentials says nothing about the caller.
    if (decision.type === 'refused') {
      throw new CacheError(
        'upstream_failed',
        'our own credentials may not create SubjectAccessReviews',
      )
    }
    return decision
  }

  async identity({ caller }: IdentityQuestion): Promise<Identity | undefined> {
    const { metrics } = this.#options
    const { headers, as } = caller
    const answer = await this.#post('identity', { path: whoAmIPath, body: whoAmI, headers, as })
    const identity = answer.code < 300 ? identityAnswer(textOf(answer)) : undefined
    metrics.review('identity', identity === undefined ? 'refused' : 'known')
    return identity
  }

  async #decide(kind: ReviewKind, question: Question): Promise<AccessAnswer> {
    const { metrics } = this.#options
    const answer = await this.#post(kind, question)
    if (answer.code === 401 || answer.code === 403 || answer.code === 404) {
      metrics.review(kind, 'refused')
      return { type: 'refused' }
    }
    if (answer.code === 429 || answer.code >= 500) {
      metrics.review(kind, 'failed')
      throw new Unreviewed(
        `an access review was answered with ${answer.code}`,
        retryAfterMs(answer.headers['retry-after']),
      )
    }
    const review = answer.code < 300 ? reviewAnswer(textOf(answer)) : undefined
    if (review === undefined) {
      metrics.review(kind, 'failed')
      throw new CacheError('upstream_failed', `an access review was answered with ${answer.code}`)
    }
    const { isAllowed, reason } = review
    metrics.review(kind, isAllowed ? 'allowed' : 'denied')
    return isAllowed ? { type: 'allowed' } : { type: 'denied', reason }
  }

  async #post(kind: ReviewKind, { path, body, headers, as }: Question): Promise<UpstreamAnswer> {
    const { server, clock, metrics } = this.#options
    const late = (): CacheError =>
      new CacheError('upstream_failed', `no access review within ${timeoutMs} ms`)
    const sent = { ...headers, accept: 'application/json', 'content-type': 'application/json' }
    try {
      return await withTimeLimit({ clock, maxMs: timeoutMs, late }, signal =>
        server.call({ method: 'POST', path, headers: sent, body: Buffer.from(body), signal }, as),
      )
    } catch (error) {
      metrics.review(kind, 'failed')
      const failure = CacheError.from(error, 'upstream_failed')
      throw failure.code === 'upstream_failed' ? new Unreviewed(failure.message) : failure
    }
  }
}

interface Question {
  readonly path: string
  readonly body: string
  readonly headers: Caller['headers']
  readonly as: Caller['as']
}

function textOf({ body }: UpstreamAnswer): string {
  return Buffer.from(body.buffer, body.byteOffset, body.length).toString('utf8')
}
