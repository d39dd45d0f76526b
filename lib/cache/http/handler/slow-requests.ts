/** Logs requests that took long, with where their time went, and keeps the last ones for the page.
 *  What a user waits for is seldom what is slow: a list may wait for etcd, for an answer about its
 *  caller, for its turn, or for its client to read. */

import type { Clock, Logger } from '@watchglass/base'
import { traceIdOf } from '../audit/trace.ts'
import type { RequestContext } from '../request/request-context.ts'
import type { SlowRequest } from '../request/slow-request.ts'

/** A request that takes longer is slow, not counting its wait for a proof (`provingMs`). */
export const slowMs = 1_000
/** The most that are logged in a minute: when everything is slow, the log must not be slow too. */
const loggedMax = 60
const windowMs = 60_000
/** The most that are kept for the page, and for how long. */
const keptMax = 50
const keptMs = 600_000

export class SlowRequests {
  readonly #clock: Clock
  readonly #logger: Logger
  #windowEndsMs = 0
  #logged = 0
  #unlogged = 0
  #kept: SlowRequest[] = []

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock
    this.#logger = logger
  }

  /** Takes a slow request that is over, or a watch that has begun. What passes is the upstream's
   *  to explain. */
  ended(context: RequestContext, code: number, tookMs: number): void {
    const { facts } = context
    if (facts.source === 'upstream') return
    const { reviewMs, etcdMs, turnMs, reply, request } = context
    const { verb, group, resource, source } = facts
    const socketMs = request.socketMs ?? 0
    const rest = tookMs - reviewMs - etcdMs - turnMs - socketMs
    const times = {
      tookMs: Math.round(tookMs),
      reviewMs: Math.round(reviewMs),
      etcdMs: Math.round(etcdMs),
      turnMs: Math.round(turnMs),
      encodeMs: Math.round(Math.max(0, rest)),
      socketMs: Math.round(socketMs),
    }
    this.#keep({ endedAtMs: this.#clock.wallMs(), verb, group, resource, code, ...times })
    if (!this.#mayLog()) return
    const { auditId } = reply
    const traceId = traceIdOf(request.headers)
    const what = { verb, group, resource, code, source }
    this.#logger.warn('a request was slow', { ...what, ...times, auditId, traceId })
  }

  /** The slow requests of the last ten minutes. */
  get kept(): readonly SlowRequest[] {
    const fromMs = this.#clock.wallMs() - keptMs
    return this.#kept.filter(({ endedAtMs }) => endedAtMs >= fromMs)
  }

  /** When there are too many the fastest goes. */
  #keep(one: SlowRequest): void {
    this.#kept = [...this.kept, one]
    if (this.#kept.length <= keptMax) return
    const fastest = Math.min(...this.#kept.map(({ tookMs }) => tookMs))
    this.#kept.splice(
      this.#kept.findIndex(({ tookMs }) => tookMs === fastest),
      1,
    )
  }

  #mayLog(): boolean {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs >= this.#windowEndsMs) {
      if (this.#unlogged > 0) {
        this.#logger.warn('more requests were slow than are logged', { count: this.#unlogged })
      }
      this.#windowEndsMs = nowMs + windowMs
      this.#logged = 0
      this.#unlogged = 0
    }
    if (this.#logged < loggedMax) {
      this.#logged++
      return true
    }
    this.#unlogged++
    return false
  }
}
