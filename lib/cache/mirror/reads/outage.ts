/** The answers of etcd, or since when it gives none and why: it may refuse calls, or take no
 *  connection, while a watch that is open lives on. An outage is told after some seconds, since a
 *  single question is lost now and then. */

import type { CacheError, Clock, Logger } from '@watchglass/base'

/** An outage that is shorter is not told. */
const toldAfterMs = 3000
const saidAgainMs = 60_000

interface Failing {
  /** The last failure. */
  failure: CacheError
  readonly since: string
  readonly sinceMs: number
}

export class EtcdOutage {
  readonly #clock: Clock
  readonly #logger: Logger
  #failing: Failing | undefined = undefined
  #saidMs: number | undefined = undefined

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock
    this.#logger = logger
  }

  /** The last failure; undefined once etcd has answered. */
  get failure(): CacheError | undefined {
    return this.#failing?.failure
  }

  /** The problem in words; undefined while there is none, or it is only just beginning. */
  get problem(): string | undefined {
    const failing = this.#failing
    if (failing === undefined || this.#lastsMs(failing) < toldAfterMs) return undefined
    const seconds = Math.round(this.#lastsMs(failing) / 1000)
    return `no answer since ${failing.since} (${seconds} s): ${failing.failure.message}`
  }

  answered(): void {
    const failing = this.#failing
    if (failing === undefined) return
    this.#failing = undefined
    if (this.#saidMs === undefined) return
    this.#saidMs = undefined
    const seconds = Math.round(this.#lastsMs(failing) / 1000)
    this.#logger.warn('etcd answers again', { since: failing.since, seconds })
  }

  failed(failure: CacheError): void {
    const sinceMs = this.#clock.monotonicMs()
    const since = this.#failing?.since ?? new Date(this.#clock.wallMs()).toISOString()
    const failing = (this.#failing ??= { failure, since, sinceMs })
    failing.failure = failure
    if (this.#lastsMs(failing) < toldAfterMs) return
    if (this.#saidMs !== undefined && sinceMs - this.#saidMs < saidAgainMs) return
    this.#saidMs = sinceMs
    this.#logger.error(
      'etcd gives no answer: reads that must be new are refused, or pass to the upstream',
      { error: failure.message, since, seconds: Math.round(this.#lastsMs(failing) / 1000) },
    )
  }

  #lastsMs({ sinceMs }: Failing): number {
    return this.#clock.monotonicMs() - sinceMs
  }
}
