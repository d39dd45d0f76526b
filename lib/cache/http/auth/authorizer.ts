/** Decides whether a request may be answered here. It may only if the upstream has plainly
 *  allowed it. On any other answer, and on any failure, the request passes to the upstream,
 *  whose own answer the client gets. If there is no upstream, or passing is switched off, we
 *  refuse the request with upstream's texts. */

import { LRUCache } from 'lru-cache'
import type { Clock } from '@watchglass/base'
import {
  type Attributes,
  forbidden,
  forbiddenPath,
  type Identity,
  serviceUnavailable,
  type Status,
  unauthorized,
} from '@watchglass/kube'
import type { Grant } from '../request/grant.ts'
import type { HttpRequest } from '../server/http-request.ts'
import { type Caller, hashed } from './caller.ts'
import { type Callers, isImpersonating } from './callers.ts'
import type { AccessGate, Verdict } from './gate.ts'
import type { AccessAnswer, AskReview, ReviewCache } from './review-cache.ts'
import type { Rechecks } from './rechecks.ts'
import type { ReviewQueue } from './review-queue.ts'
import { ReviewDesk } from './review-desk.ts'
import type { ReviewPause } from './review-pause.ts'
import type { AccessMetrics, AskedReviews, ReviewMode } from './reviews.ts'

export interface AuthorizerOptions {
  readonly mode: ReviewMode
  readonly clock: Pick<Clock, 'yield'>
  readonly callers: Callers
  readonly reviews: AskedReviews
  readonly reviewCache: ReviewCache
  /** The users that the upstream has named for callers. */
  readonly identities: ReviewCache<Identity | undefined>
  readonly rechecks: Rechecks
  /** The queue of reviews that both caches share. */
  readonly queue: Pick<ReviewQueue, 'underWay'>
  readonly metrics: Pick<AccessMetrics, 'prolonged'>
  /** Undefined in a thread that does not ask the upstream itself. */
  readonly pause: ReviewPause | undefined
  /** True with an upstream to which requests may pass. */
  readonly canPass: boolean
}

/** Why a request is not answered here. */
type Objection =
  | { readonly type: 'unauthenticated' | 'impersonation' | 'review-refused' | 'review-failed' }
  | { readonly type: 'denied'; readonly reason: string }

/** Callers that are cached: several times those of a large cluster. */
const callersMax = 50_000

/** Reviews of one question with other selectors each, until it is asked without selectors. Each
 *  costs the upstream and us as much as a small list, and a client may make up as many selectors
 *  as it likes. */
const selectorsAskedMax = 8
/** After a no so many more are asked about with their selectors. */
const selectorsRefusedMax = 1_000

/** The user that all callers count as whom the upstream does not know. */
const strangers = 'strangers'

export class Authorizer implements AccessGate {
  readonly #options: AuthorizerOptions
  /** Keys of callers for whom the upstream has answered a review. */
  readonly #accepted = new LRUCache<string, true>({ max: callersMax })
  /** Names of users by the keys of their tokens. */
  readonly #names = new LRUCache<string, string>({ max: callersMax })

  /** Counts of selectors asked about, by the keys of questions without them. */
  readonly #selectors = new LRUCache<string, number>({ max: callersMax })

  /** Answers the questions of other threads. */
  readonly desk: ReviewDesk

  constructor(options: AuthorizerOptions) {
    this.#options = options
    this.desk = new ReviewDesk(options)
  }

  /** Returns at once if the decision is cached. Never fails. */
  authorize(request: HttpRequest, attributes: Attributes): Verdict | Promise<Verdict> {
    const { callers, reviewCache } = this.#options
    const caller = callers.callerOf(request)
    if (isImpersonating(request)) return this.#object({ type: 'impersonation' })
    if (caller === undefined || !this.#isKnown(caller)) {
      return this.#object({ type: 'unauthenticated' })
    }
    const question = { caller, attributes, key: keyOf(caller, attributes) }
    const known = reviewCache.known(question.key) ?? this.#knownOfWhole(question)
    return known?.type === 'allowed' ? this.#granted(question) : this.#decide(question)
  }

  /** In front of an upstream the request passes without its certificate, and the upstream says what
   *  it thinks of anonymous users. */
  isRefused(request: HttpRequest): boolean {
    return !this.#options.canPass && this.#options.callers.isRefused(request)
  }

  async #decide(question: Question): Promise<Verdict> {
    const generation = this.#options.reviewCache.generationOf(namespaceOf(question))
    const decision = await this.#ask(question).catch(failed)
    // Many answers may come in one packet: the requests go on in turns.
    await this.#options.clock.yield()
    this.#noteCaller(question.caller, decision.type)
    switch (decision.type) {
      case 'allowed':
        return this.#granted(question, generation)
      case 'denied':
        return this.#options.canPass
          ? this.#object(decision)
          : this.#deny(question.caller, question.attributes, decision.reason)
      case 'refused':
        return this.#object({ type: 'review-refused' })
      case 'failed':
        return this.#object({ type: 'review-failed' })
    }
  }

  /** Reviews in flight or waiting. */
  get underWay(): number {
    return this.#options.queue.underWay
  }

  /** Access rules have changed: those of a namespace, or, if it is empty, of the cluster. */
  rulesChanged(namespace = ''): void {
    this.#options.reviewCache.drop(namespace)
    this.#options.rechecks.rulesChanged(namespace)
  }

  /** The user whose limits a request counts against: the name that the upstream gives, once it
   *  is known, and until then the token. All callers whom the upstream does not know count as
   *  one user. */
  userOf(request: HttpRequest): string {
    const caller = this.#options.callers.callerOf(request)
    return caller === undefined ? strangers : this.#userOf(caller)
  }

  /** Another thread has learnt the name of a user, by the key of the credentials. */
  named(key: string, user: string): void {
    this.#names.set(key, user)
  }

  #userOf(caller: Caller): string {
    const name = caller.identity?.user ?? this.#names.get(caller.key)
    if (name !== undefined) return `user ${name}`
    return this.#isAccepted(caller) ? `token ${caller.key}` : strangers
  }

  /** Asks for the user's name of a request, so that many tokens of one user count as one.
   *  Resolves when it is known, or cannot be had; undefined if there is nothing to ask. */
  learnName(request: HttpRequest): Promise<unknown> | undefined {
    const caller = this.#options.callers.callerOf(request)
    return caller && this.#learnName(caller)
  }

  #learnName(caller: Caller): Promise<unknown> | undefined {
    if (caller.identity !== undefined || this.#names.has(caller.key)) return undefined
    if (this.#options.pause?.mayAsk === false) return undefined
    return this.#isAccepted(caller) ? this.identityOf(caller) : undefined
  }

  #isAccepted({ identity, key }: Caller): boolean {
    return identity !== undefined || this.#accepted.has(key)
  }

  /** Notes a caller for whom a review was answered, with whatever result. */
  #noteCaller({ key }: Caller, type: Outcome['type']): void {
    if (type === 'allowed' || type === 'denied') this.#accepted.set(key, true)
    else if (type === 'refused') this.#accepted.delete(key)
  }

  /** Stops rechecking watches. */
  stop(): void {
    this.#options.rechecks.stop()
  }

  /** The user of a caller: the one that we have authenticated, or the one that the upstream
   *  names. */
  async identityOf(caller: Caller): Promise<Identity | undefined> {
    if (caller.identity !== undefined) return caller.identity
    const { identities, reviews } = this.#options
    try {
      const { expiresAtMs, key } = caller
      const options = { expiresAtMs, isAccepted: this.#isAccepted(caller) }
      const question = { key, caller, isAccepted: options.isAccepted }
      const ask: AskReview<Identity | undefined> = limit => reviews.identity(question, limit)
      const identity = await identities.decide(key, ask, options)
      if (identity !== undefined) this.#names.set(key, identity.user)
      return identity
    } catch {
      return undefined
    }
  }

  /** The caller of a request, if it can be told. */
  async identityOfSender(request: HttpRequest): Promise<Identity | undefined> {
    const caller = this.#options.callers.callerOf(request)
    return caller === undefined ? undefined : this.identityOf(caller)
  }

  /** Only the upstream knows tokens. Without an upstream that is asked with them, only a front
   *  proxy can name the user. */
  #isKnown({ identity }: Caller): boolean {
    return this.#options.mode === 'delegate' || identity !== undefined
  }

  async #ask(question: Question, canWait = false): Promise<AccessAnswer> {
    const isNew = this.#options.reviewCache.known(question.key) === undefined
    const answer = isNew ? await this.#askWhole(question) : undefined
    return answer?.type === 'allowed' ? answer : this.#review(question, canWait)
  }

  /** The answer without selectors, if there were many of them: whoever may read all may read a
   *  part. */
  #knownOfWhole(question: Question): AccessAnswer | undefined {
    const whole = wholeOf(question)
    if (whole === undefined || this.#selectorsOf(whole) < selectorsAskedMax) return undefined
    return this.#options.reviewCache.known(whole.key)
  }

  /** Asks without selectors, if there were many of them. Undefined if it is not asked, or fails. */
  async #askWhole(question: Question): Promise<AccessAnswer | undefined> {
    const whole = wholeOf(question)
    if (whole === undefined) return undefined
    const asked = this.#selectorsOf(whole) + 1
    this.#selectors.set(whole.key, Math.min(asked, selectorsAskedMax))
    if (asked < selectorsAskedMax) return undefined
    const answer = await this.#review(whole, false).catch(() => undefined)
    // A review without an answer is no no: it is asked again a little later.
    if (answer === undefined) this.#selectors.set(whole.key, 0)
    else if (answer.type !== 'allowed') this.#selectors.set(whole.key, -selectorsRefusedMax)
    return answer
  }

  #selectorsOf(whole: Question): number {
    return this.#selectors.get(whole.key) ?? 0
  }

  async #review({ caller, attributes, key }: Question, canWait: boolean): Promise<AccessAnswer> {
    const { reviewCache, reviews } = this.#options
    const { expiresAtMs } = caller
    const isAccepted = this.#isAccepted(caller)
    const namespace = 'path' in attributes ? '' : attributes.namespace
    const question = { key, caller, isAccepted, attributes, namespace, canWait }
    return reviewCache.decide(key, limit => reviews.access(question, limit), {
      canWait,
      expiresAtMs,
      isAccepted,
      namespace,
    })
  }

  #granted(
    question: Question,
    generation = this.#options.reviewCache.generationOf(namespaceOf(question)),
  ): Verdict {
    const { caller } = question
    const namespace = namespaceOf(question)
    const grant: Grant = {
      user: () => this.#userOf(caller),
      learnName: () => void this.#learnName(caller),
      identity: () => this.identityOf(caller),
      watch: end => {
        const { rechecks, reviewCache } = this.#options
        return rechecks.add({
          question: () => this.#ask(question, true),
          end,
          expiresAtMs: caller.expiresAtMs,
          namespace,
          isStale: generation !== reviewCache.generationOf(namespace),
        })
      },
    }
    const isLate = this.#options.reviewCache.isLate(question.key)
    if (!isLate) return { type: 'granted', grant }
    this.#options.metrics.prolonged()
    return { type: 'granted', grant, reason: lateReason }
  }

  /** The request passes, or is refused without a reason that reveals access rules. */
  #object(objection: Objection): Verdict {
    if (this.#options.canPass) return { type: 'pass', reason: objection.type }
    switch (objection.type) {
      case 'unauthenticated':
      case 'review-refused':
        return { type: 'refuse', status: unauthorized }
      case 'impersonation':
        return { type: 'refuse', status: impersonationRefused }
      case 'denied':
      case 'review-failed':
        return { type: 'refuse', status: reviewFailed }
    }
  }

  async #deny(caller: Caller, attributes: Attributes, reason: string): Promise<Verdict> {
    const identity = await this.identityOf(caller)
    if (identity === undefined) return { type: 'refuse', status: unauthorized }
    const { user } = identity
    const { status } =
      'path' in attributes
        ? forbiddenPath(user, attributes.verb, attributes.path, reason)
        : forbidden({ ...attributes, user, reason })
    return { type: 'refuse', status, reason }
  }
}

/** For the audit log. */
const lateReason = 'allowed before by the upstream, which has no answers to access reviews now'

interface Question {
  readonly caller: Caller
  readonly attributes: Attributes
  /** The key of the cached decision. */
  readonly key: string
}

/** Everything that the decision may depend on. Hashing it costs a tenth of a small read, so what
 *  is short is the key itself; the colon tells it from a hash. */
function keyOf(caller: Caller, attributes: Attributes): string {
  const texts = textsOf(caller, attributes)
  let key = ''
  for (const text of texts) key += `${text.length}:${text}`
  return key.length <= plainKeyMaxLength ? key : hashed(texts)
}

/** Three names of usual lengths beside the caller's. */
const plainKeyMaxLength = 256

function textsOf(caller: Caller, attributes: Attributes): string[] {
  if ('path' in attributes) return [caller.key, attributes.verb, attributes.path]
  const { verb, group, version, resource, subresource, namespace, name } = attributes
  const texts = [caller.key, verb, group, version, resource, subresource, namespace, name]
  const { fields, labels } = attributes
  texts.push(fields.length + labels.length === 0 ? '' : JSON.stringify([fields, labels]))
  return texts
}

/** A question without its selectors; undefined if it has none. */
function wholeOf({ caller, attributes }: Question): Question | undefined {
  if ('path' in attributes || attributes.fields.length + attributes.labels.length === 0) {
    return undefined
  }
  const whole = { ...attributes, fields: [], labels: [] }
  return { caller, attributes: whole, key: keyOf(caller, whole) }
}

type Outcome = AccessAnswer | { readonly type: 'failed' }

/** If a review fails, or too many are waiting, the request passes: the upstream can still answer
 *  it. */
function failed(): Outcome {
  return { type: 'failed' }
}

function namespaceOf({ attributes }: Question): string {
  return 'path' in attributes ? '' : attributes.namespace
}

const reviewFailed: Status = serviceUnavailable('access cannot be reviewed at the moment', 1)

const impersonationRefused: Status = {
  code: 403,
  message: 'impersonation needs an upstream API server',
  reason: 'Forbidden',
  details: {},
}
