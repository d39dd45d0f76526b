/** Answers reviews in this process as the test upstream does, without a network, and counts
 *  them. */

import { CacheError } from '../../../lib/base/errors.ts'
import type { AuthorizationOptions } from '../../../lib/cache/http/auth/authorization.ts'
import { Callers } from '../../../lib/cache/http/auth/callers.ts'
import type { ReviewServer } from '../../../lib/cache/http/auth/reviews.ts'
import type { Identity } from '../../../lib/kube/access-review.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { answerReview, bearer, type Users } from '../upstream/reviews.ts'
import { basicUser, type Binding } from '../upstream/rules.ts'

type Call = Parameters<ReviewServer['call']>
type Answer = Awaited<ReturnType<ReviewServer['call']>>

export class RulesServer implements ReviewServer {
  readonly users: Users
  /** Beside `basicUser`. */
  bindings: readonly Binding[]
  /** Path of every call. */
  readonly paths: string[] = []
  isDown = false
  /** Answers every call with this code. */
  code: number | undefined = undefined
  retryAfter: string | undefined = undefined
  /** Called when a call comes in. */
  onCall: () => void = () => {}
  /** Who we are ourselves. */
  readonly ourselves: Identity | undefined
  /** Calls wait for it. */
  gate: Promise<void> = Promise.resolve()

  constructor(users: Users, bindings: readonly Binding[], ourselves?: Identity) {
    this.users = users
    this.bindings = bindings
    this.ourselves = ourselves
  }

  async call({ path, headers, body }: Call[0], as: Call[1]): Promise<Answer> {
    this.paths.push(path)
    this.onCall()
    await this.gate
    if (this.isDown) throw new CacheError('upstream_failed', 'connection refused')
    if (this.code !== undefined) {
      const headers = this.retryAfter === undefined ? {} : { 'retry-after': this.retryAfter }
      return { code: this.code, headers, body: Buffer.from('{}') }
    }
    const text = Buffer.from(body ?? []).toString()
    const authorization = String(headers['authorization'] ?? '')
    const who = as === 'ourselves' ? this.ourselves : bearer(this.users, authorization)
    const answer = answerReview(path, text, who, [basicUser, ...this.bindings])
    if (answer === undefined) throw new CacheError('upstream_failed', `no review at ${path}`)
    return { code: answer.code, headers: {}, body: Buffer.from(answer.body) }
  }
}

/** Callers are who `server` takes their tokens for, and may do what it says; there is no upstream
 *  to pass to. */
export function delegatedTo(server: ReviewServer): AuthorizationOptions {
  const callers = new Callers({
    clock: systemClock,
    userAuthorities: () => [],
    frontProxies: () => undefined,
    passIdentity: undefined,
  })
  return { mode: 'delegate', canPass: false, server, callers }
}
