/** One cluster of a fleet, from idle to awake and back:
 *
 *  ```
 *          a request          started
 *   idle ─────────▶ starting ─────────▶ awake
 *    ▲                │    ▲              │ nobody asks, or memory is short
 *    │ stopped        │    └── a request ─┤
 *    └── stopping ◀───┼───────────────────┘
 *                     │ cannot be started
 *                     └────────▶ failed ── a request, after a pause ──▶ starting
 *  ```
 *
 *  An idle cluster is its settings and a few counts. The first request wakes it and waits for its
 *  start; those that come meanwhile wait, too, up to a number and a time. A cluster that cannot be
 *  started refuses at once until its pause is over, so that it costs nothing but that. */

import { CacheError, type Clock, type Logger, sleep } from '@watchglass/base'
import type { ClusterFacts, HttpRequest } from '@watchglass/cache'
import type { AcceptedCallers } from './accepted-callers.ts'
import type { OpenCluster } from './open-cluster.ts'
import { refuseCrowd, refuseUnavailable } from './refusals.ts'

export type ClusterState = 'idle' | 'starting' | 'awake' | 'stopping' | 'failed'

export interface FleetClusterOptions {
  readonly name: string
  /** Begins to serve it. The signal says that nobody waits any more. */
  readonly open: (signal: AbortSignal) => Promise<OpenCluster>
  /** Makes room in memory for a start; false if there is none. */
  readonly makeRoom: () => boolean
  /** The callers whom it has accepted; undefined: authentication is off, and all are. */
  readonly callers: AcceptedCallers | undefined
  readonly clock: Clock
  readonly logger: Logger
}

/** Requests that wait for a start, and for how long: as long as kube-apiserver works on one. */
const waitingMax = 1_000
const waitMaxMs = 60_000
/** A start that takes longer has failed: what it asks for has its own, longer limits. */
const startMaxMs = 30_000
/** A cluster without an upstream is asked once everything is mirrored, or after this time. */
const mirrorMaxMs = 20_000
/** Pauses after failed starts. */
const pauseMinMs = 2_000
const pauseMaxMs = 60_000
/** A cluster that was woken by strangers only is idle again after this time. */
const strangersMaxMs = 60_000

export class FleetCluster {
  readonly name: string
  readonly #options: FleetClusterOptions
  readonly #waiting = new Set<HttpRequest>()
  #state: ClusterState = 'idle'
  #open: OpenCluster | undefined
  #change: Promise<void> | undefined
  /** Aborted when the cluster goes for good. */
  readonly #gone = new AbortController()
  #problem: string | undefined
  #pauseMs = 0
  #retryAtMs = 0
  #wokenAtMs = 0
  #usedAtMs = Number.NEGATIVE_INFINITY
  #lastMemoryBytes = 0
  #authorities: readonly string[] = []
  #requests = 0
  #starts = 0
  #failedStarts = 0

  constructor(options: FleetClusterOptions) {
    this.#options = options
    this.name = options.name
  }

  get state(): ClusterState {
    return this.#state
  }

  /** The reason that it cannot be served, for operators; undefined if it can. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** Undefined while it is not awake. */
  get service(): OpenCluster['service'] | undefined {
    return this.#open?.service
  }

  /** When a caller whom it accepted came last, on the monotonic clock. */
  get usedAtMs(): number {
    return this.#usedAtMs
  }

  get requestsInFlight(): number {
    return (this.#open?.port.server.requestsInFlight ?? 0) + this.#waiting.size
  }

  /** Memory that it holds now. */
  get memoryBytes(): number {
    return this.#open?.service.memoryBytes ?? 0
  }

  /** Memory that it held when it was awake the last time. */
  get lastMemoryBytes(): number {
    return this.#lastMemoryBytes
  }

  /** The authorities of client certificates (PEM), as far as they are known. */
  get authorities(): readonly string[] {
    return this.#open?.authorities() ?? this.#authorities
  }

  get facts(): ClusterFacts {
    const service = this.#open?.service
    let objects = 0
    for (const count of service?.entries().values() ?? []) objects += count
    return {
      name: this.name,
      state: this.#state,
      isReady: service?.isReady ?? false,
      objects,
      memoryBytes: this.memoryBytes,
      requestsInFlight: this.requestsInFlight,
      requests: this.#requests,
      starts: this.#starts,
      failedStarts: this.#failedStarts,
    }
  }

  /** The cluster is listed to whoever has sent the request. */
  isListedTo(request: HttpRequest): boolean {
    const { callers } = this.#options
    return callers === undefined || callers.knows(request)
  }

  /** Answers a request whose target is within the cluster. */
  handle(request: HttpRequest): void {
    this.#requests++
    request.onAccept = () => {
      this.#usedAtMs = this.#options.clock.monotonicMs()
      this.#options.callers?.note(request)
    }
    if (this.#state === 'awake') this.#open?.port.begin(request)
    else this.#wait(request)
  }

  /** Starts it, unless it is awake. Never fails: `problem` says why it is not served. */
  wake(): Promise<void> {
    if (this.#state === 'awake' || this.#isGone) return Promise.resolve()
    if (this.#state === 'starting' && this.#change !== undefined) return this.#change
    const before = this.#change ?? Promise.resolve()
    this.#state = 'starting'
    return this.#changing(before.then(() => this.#start()))
  }

  /** True if nobody needs it: no request is under way, and none was accepted for so long. */
  isUnused(idleAfterMs: number): boolean {
    if (this.#state !== 'awake' || this.requestsInFlight > 0) return false
    const nowMs = this.#options.clock.monotonicMs()
    const byStrangers = this.#usedAtMs < this.#wokenAtMs
    const sinceMs = byStrangers ? this.#wokenAtMs : this.#usedAtMs
    return nowMs - sinceMs >= (byStrangers ? Math.min(strangersMaxMs, idleAfterMs) : idleAfterMs)
  }

  /** Closes its connections and frees its memory, until the next request. */
  sleep(): Promise<void> {
    const open = this.#open
    if (this.#state !== 'awake' || open === undefined) return this.#change ?? Promise.resolve()
    this.#state = 'stopping'
    this.#forget(open)
    return this.#changing(
      this.#close(open).then(() => {
        if (this.#state === 'stopping') this.#state = 'idle'
      }),
    )
  }

  /** Stops it for good. */
  async stop(): Promise<void> {
    this.#gone.abort()
    this.#refuseWaiting()
    if (this.#state === 'awake') await this.sleep()
    else await this.#change
  }

  get #isGone(): boolean {
    return this.#gone.signal.aborted
  }

  #changing(change: Promise<void>): Promise<void> {
    const own = change.finally(() => {
      if (this.#change === own) this.#change = undefined
    })
    this.#change = own
    return own
  }

  #wait(request: HttpRequest): void {
    const { clock } = this.#options
    const pauseMs = this.#retryAtMs - clock.monotonicMs()
    if (this.#isGone || (this.#state === 'failed' && pauseMs > 0)) {
      refuseUnavailable(request, Math.max(1, Math.ceil(pauseMs / 1000)))
      return
    }
    if (this.#waiting.size >= waitingMax) {
      refuseCrowd(request)
      return
    }
    this.#waiting.add(request)
    const cancel = clock.setTimer(waitMaxMs, () => {
      if (this.#waiting.delete(request)) refuseUnavailable(request, 1)
    })
    request.onClose(() => {
      cancel()
      this.#waiting.delete(request)
    })
    void this.wake()
  }

  async #start(): Promise<void> {
    const { logger, makeRoom, clock } = this.#options
    if (this.#isGone) return
    if (!makeRoom()) {
      this.#failed(new CacheError('overloaded', 'there is no room for it in --memory-budget'))
      return
    }
    this.#starts++
    this.#wokenAtMs = clock.monotonicMs()
    let open: OpenCluster
    try {
      open = await this.#opened()
    } catch (error) {
      if (!this.#isGone) this.#failed(CacheError.from(error, 'source_failed'))
      return
    }
    // Others look at it while it is being mirrored, so it counts as memory from now on.
    this.#open = open
    if (!open.canPass) await this.#within(mirrorMaxMs, open.service.ready)
    if (this.#isGone) {
      this.#forget(open)
      await this.#close(open)
      return
    }
    this.#state = 'awake'
    this.#problem = undefined
    this.#pauseMs = 0
    logger.info('the cluster is awake', {
      tookMs: Math.round(clock.monotonicMs() - this.#wokenAtMs),
    })
    void open.service.refused.then(refusal => this.#refused(open, refusal))
    this.#handOver(open)
  }

  /** A start that nobody waits for any more is undone when it is over. */
  async #opened(): Promise<OpenCluster> {
    const late = new AbortController()
    const opening = this.#options.open(late.signal)
    const isOpen = await this.#within(startMaxMs, opening)
    if (isOpen) return opening
    late.abort()
    void opening.then(
      open => this.#close(open),
      () => {},
    )
    throw new CacheError('source_failed', `it has not started within ${startMaxMs / 1000} s`)
  }

  /** False if the time is over first, or the cluster goes. Fails as the promise does. */
  async #within(ms: number, promise: Promise<unknown>): Promise<boolean> {
    const over = new AbortController()
    const signal = AbortSignal.any([over.signal, this.#gone.signal])
    const late = sleep(this.#options.clock, ms, signal).then(() => false)
    try {
      return await Promise.race([promise.then(() => true), late])
    } finally {
      over.abort()
    }
  }

  #handOver(open: OpenCluster): void {
    for (const request of this.#waiting) {
      this.#waiting.delete(request)
      if (!request.isClosed) open.port.begin(request)
    }
  }

  #failed(error: CacheError): void {
    const { clock, logger } = this.#options
    this.#failedStarts++
    this.#state = 'failed'
    this.#pauseMs = Math.min(pauseMaxMs, Math.max(pauseMinMs, 2 * this.#pauseMs))
    this.#retryAtMs = clock.monotonicMs() + this.#pauseMs
    if (error.message !== this.#problem) {
      logger.error('the cluster cannot be served', { reason: error.message })
    }
    this.#problem = error.message
    this.#refuseWaiting()
  }

  /** The data does not fit into the own memory budget of the cluster. */
  #refused(open: OpenCluster, refusal: CacheError): void {
    if (this.#open !== open) return
    this.#forget(open)
    this.#failed(refusal)
    void this.#changing(this.#close(open))
  }

  #refuseWaiting(): void {
    for (const request of this.#waiting) {
      this.#waiting.delete(request)
      refuseUnavailable(request, Math.max(1, Math.ceil(this.#pauseMs / 1000)))
    }
  }

  #forget(open: OpenCluster): void {
    this.#lastMemoryBytes = open.service.memoryBytes
    this.#authorities = open.authorities()
    this.#open = undefined
    this.#options.callers?.shrink()
  }

  async #close(open: OpenCluster): Promise<void> {
    try {
      await open.stop()
    } catch (error) {
      const { message } = CacheError.from(error, 'source_failed')
      this.#options.logger.warn('the cluster has not stopped in order', { reason: message })
    }
  }
}
