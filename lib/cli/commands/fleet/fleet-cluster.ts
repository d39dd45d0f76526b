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
 *  An idle cluster is its settings and a few counts. The first request of somebody whom it knows
 *  wakes it and waits for its start; requests that come meanwhile wait, too, up to a number and a
 *  time. A cluster that cannot be started refuses at once until its pause is over, so that it costs
 *  nothing but that. */

import { CacheError, type Clock, type Logger, sleep, unreachable } from '@watchglass/base'
import type { ShownCluster, HttpRequest, ReadCounts } from '@watchglass/cache'
import type { AcceptedCallers } from './accepted-callers.ts'
import { isProbe } from './cluster-route.ts'
import { sendText } from './fleet-json.ts'
import type { OpenCluster } from './open-cluster.ts'
import { refuseCrowd, refuseStranger, refuseUnavailable } from './refusals.ts'
import type { SenderCheck } from './sender-check.ts'

export type ClusterState = 'idle' | 'starting' | 'awake' | 'stopping' | 'failed'

export interface FleetClusterOptions {
  readonly name: string
  /** Begins to serve it. The signal says that nobody waits any more. */
  readonly open: (signal: AbortSignal) => Promise<OpenCluster>
  /** Makes room in memory for a start; false if there is none. */
  readonly makeRoom: () => boolean
  /** The callers whom it has accepted; undefined: authentication is off, and all are. */
  readonly callers: AcceptedCallers | undefined
  /** Finds out who else it knows, while it is not awake; undefined: nobody is asked. */
  readonly senders?:
    | Pick<SenderCheck, 'authorities' | 'check' | 'readAuthorities' | 'stop'>
    | undefined
  /** Its `/` is the page, for browsers. */
  readonly hasPage: boolean
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
  /** The reads of the times that it was awake before. */
  #pastReads: ReadCounts = { all: 0, fromMemory: 0 }
  /** Since when it is broken, or was seen not to be ready, on the wall clock. */
  #problemSinceMs: number | undefined

  constructor(options: FleetClusterOptions) {
    this.#options = options
    this.name = options.name
  }

  /** Nobody is asked who they are. */
  get isOpenToAll(): boolean {
    return this.#options.callers === undefined
  }

  get hasPage(): boolean {
    return this.#options.hasPage
  }

  get state(): ClusterState {
    return this.#state
  }

  /** The reason that it cannot be served, or is not ready, for operators; undefined if nothing is
   *  wrong. */
  get problem(): string | undefined {
    return this.#open === undefined ? this.#problem : this.#open.service.problem
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
    const known = this.#open?.authorities() ?? this.#authorities
    return known.length > 0 ? known : (this.#options.senders?.authorities ?? [])
  }

  /** Reads those that files have, unless it is awake and follows them itself. */
  async readAuthorities(): Promise<void> {
    if (this.#open === undefined) await this.#options.senders?.readAuthorities()
  }

  get facts(): ShownCluster {
    const service = this.#open?.service
    let objects = 0
    for (const count of service?.entries().values() ?? []) objects += count
    const { problem } = this
    const reads = readsTogether(this.#pastReads, service?.reads)
    this.#problemSinceMs =
      problem === undefined ? undefined : (this.#problemSinceMs ?? this.#options.clock.wallMs())
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
      reads: reads.all,
      readsFromMemory: reads.fromMemory,
      problem,
      problemSinceMs: this.#problemSinceMs,
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
    if (this.#state === 'awake' || this.isListedTo(request)) this.#take(request)
    else if (isProbe(request)) sendText(request, 200, 'ok')
    else if (!this.#refusesNow(request)) void this.#identify(request)
  }

  /** From somebody who may wake it. */
  #take(request: HttpRequest): void {
    if (this.#state === 'awake') this.#open?.port.begin(request)
    else if (!this.#refusesNow(request)) this.#wait(request)
  }

  /** Strangers wake no cluster, and hold no place among those who wait for its start. */
  async #identify(request: HttpRequest): Promise<void> {
    try {
      const standing = (await this.#options.senders?.check(request)) ?? 'known'
      if (request.isClosed) return
      switch (standing) {
        case 'known':
          this.#take(request)
          break
        case 'stranger':
          refuseStranger(request)
          break
        case 'unanswered':
          refuseUnavailable(request, 1)
          break
        case 'crowded':
          refuseCrowd(request)
          break
        default:
          unreachable(standing)
      }
    } catch (error) {
      // Several may have waited for the same failure.
      const isNew = this.#state === 'idle' || (this.#state === 'failed' && this.#pauseLeftMs <= 0)
      if (isNew && !this.#isGone) this.#failed(CacheError.from(error, 'source_failed'))
      if (!request.isClosed) refuseUnavailable(request, seconds(this.#pauseLeftMs))
    }
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
    await this.#options.senders?.stop()
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

  /** True while it cannot be started. */
  #refusesNow(request: HttpRequest): boolean {
    const pauseMs = this.#pauseLeftMs
    if (!this.#isGone && (this.#state !== 'failed' || pauseMs <= 0)) return false
    refuseUnavailable(request, seconds(pauseMs))
    return true
  }

  /** Time until it is tried again. */
  get #pauseLeftMs(): number {
    return this.#retryAtMs - this.#options.clock.monotonicMs()
  }

  #wait(request: HttpRequest): void {
    const { clock } = this.#options
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
    this.#problemSinceMs = undefined
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
    this.#problemSinceMs ??= clock.wallMs()
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
      refuseUnavailable(request, seconds(this.#pauseMs))
    }
  }

  #forget(open: OpenCluster): void {
    this.#lastMemoryBytes = open.service.memoryBytes
    this.#pastReads = readsTogether(this.#pastReads, open.service.reads)
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

/** For Retry-After. */
function seconds(ms: number): number {
  return Math.max(1, Math.ceil(ms / 1000))
}

function readsTogether(past: ReadCounts, now: ReadCounts | undefined): ReadCounts {
  if (now === undefined) return past
  return { all: past.all + now.all, fromMemory: past.fromMemory + now.fromMemory }
}
