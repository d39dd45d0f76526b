/** One watch stream of a feed, from its opening to its end: checks order, decides whether progress
 *  marks can be trusted, requests them, and ends a stream that is dead or too far behind. Events
 *  that pass the checks go to the feed. */

import {
  CacheError,
  type CancelTimer,
  type Clock,
  nextRevision,
  type Revision,
  sleep,
  type Steps,
} from '@watchglass/base'
import type {
  ResponseHeader,
  RevisionChanges,
  Source,
  WatchRequest,
  WatchSink,
  WatchStream,
} from '@watchglass/etcd'
import { Backlog } from './backlog.ts'
import type { Epochs } from './epochs.ts'
import type { MirrorLimits } from '../limits.ts'
import type { MemberVersions } from '../member-versions.ts'
import type { MirrorMetrics } from '../metrics.ts'
import { OrderCheck, type Violation } from './order.ts'
import type { Progress } from './progress.ts'
import type { RevisionProbe } from '../reads/revision-probe.ts'
import { ProgressRequests } from './progress-requests.ts'
import { Watchdog } from './watchdog.ts'

/** Whether the progress marks of a stream decide consistent reads: its member's version is not
 *  known yet; it is; it is too old; or it has not sent any, though asked. */
export type ProgressTrust = 'unknown' | 'trusted' | 'old version' | 'unanswered'

/** Why a stream is over. */
export type StreamEnd =
  | { readonly reason: 'failed'; readonly failure: CacheError }
  | { readonly reason: 'compacted' }
  | { readonly reason: 'violation' | 'silent' | 'behind' | 'another cluster' | 'stopped' }

/** The receiver of a stream's deliveries. */
export interface StreamTarget {
  /** Applies a batch that passed the order check, in the steps that it returns, if it has not been
   *  already. One that does not fit the contents is a violation. Nothing comes in between; the
   *  steps are left where they are when the stream ends. */
  apply(batch: RevisionChanges): Steps<Violation | undefined> | undefined
  /** Every event up to `revision` has been delivered. */
  prove(revision: Revision): void
  /** etcd broke a guarantee: nothing that it delivered is trusted any more. The stream ends right
   *  after. */
  violated(violation: Violation, endpoint: string | undefined): void
  /** etcd has a change where there was none: it has another history than what was applied. */
  contradicted(header: ResponseHeader): void
  /** The watcher was created, or the trust in its marks has changed. */
  streamChanged(): void
}

export interface StreamOptions {
  readonly client: Source
  readonly clock: Clock
  readonly limits: MirrorLimits
  readonly metrics: MirrorMetrics
  readonly epochs: Epochs
  readonly versions: MemberVersions
  readonly progress: Progress
  /** Whether etcd has the history of what was applied, and why that is not known. */
  readonly probe: Pick<RevisionProbe, 'doubt'>
  readonly target: StreamTarget
  readonly signal: AbortSignal
}

/** For so long changes are applied, and sent to watchers, in one turn of the event loop, which has
 *  other work, too. */
const sliceMaxMs = 3

/** A delivery that waits for its turn, in the order in which it came. */
type Delivered =
  | { readonly type: 'batch'; readonly batch: RevisionChanges; readonly header: ResponseHeader }
  | { readonly type: 'progress'; readonly header: ResponseHeader }
  | { readonly type: 'ended'; readonly failure: CacheError }

export class FeedStream implements WatchSink {
  readonly #options: StreamOptions
  readonly #backlog: Backlog<Delivered>
  readonly #order = new OrderCheck()
  readonly #requests: ProgressRequests
  readonly #watchdog: Watchdog
  readonly #ended: Promise<StreamEnd>
  #resolveEnded: (end: StreamEnd) => void = () => {}
  #stream: WatchStream | undefined = undefined
  #isOver = false
  #isCreated = false
  #trust: ProgressTrust = 'unknown'
  /** Whether its member's marks are correct, as far as that was ever known: the version stays as
   *  long as the stream. */
  #isSound: boolean | undefined = undefined
  #hasMarked = false
  #isMarkOverdue = false
  /** Responses with events. */
  #delivered = 0
  #startRevision: Revision | undefined = undefined
  /** Progress when the stream was opened. */
  readonly #provenBefore: Revision
  #cancelFirstMark: CancelTimer | undefined = undefined

  constructor(options: StreamOptions) {
    const { clock, limits, progress, epochs } = options
    this.#options = options
    this.#provenBefore = progress.revision
    this.#ended = new Promise(resolve => {
      this.#resolveEnded = resolve
    })
    this.#backlog = new Backlog({
      clock,
      sliceMaxMs,
      take: delivered => this.#take(delivered),
      hold: isHeld => {
        this.#stream?.hold?.(isHeld)
        this.#watchdog.held(isHeld)
      },
    })
    this.#requests = new ProgressRequests({
      clock,
      limits,
      send: this.#sendRequest,
      isAwaited: () => progress.isAwaited || !(this.#hasMarked || this.#isMarkOverdue),
    })
    this.#watchdog = new Watchdog({
      clock,
      limits,
      ask: () => {
        this.#requests.ask()
      },
      giveUp: reason => {
        this.end({ reason })
      },
      progress: () => progress.revision,
      known: () => (this.#trust === 'trusted' ? epochs.witnessed : undefined),
      isStartAhead: () => this.#isStartAhead,
    })
  }

  get trust(): ProgressTrust {
    return this.#trust
  }

  get isCreated(): boolean {
    return this.#isCreated
  }

  get endpoint(): string | undefined {
    return this.#stream?.endpoint
  }

  /** Opens the watch and follows it until it is over. */
  follow(request: WatchRequest): Promise<StreamEnd> {
    this.#startRevision = request.startRevision
    const stream = this.#options.client.watch(request, this)
    this.#stream = stream
    if (this.#isOver) stream.cancel()
    else void this.#learnTrust(stream.endpoint)
    return this.#ended
  }

  /** A read waits for `revision`. */
  need(revision: Revision): void {
    if (this.#isCreated && !this.#isOver) this.#requests.need(revision)
  }

  /** Ends the stream from our side. Nothing is delivered after it. */
  end(end: StreamEnd): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#backlog.clear()
    this.#requests.stop()
    this.#watchdog.stop()
    this.#cancelFirstMark?.()
    this.#stream?.cancel()
    this.#resolveEnded(end)
  }

  created(header: ResponseHeader): void {
    if (this.#isOver || !this.#isKnownCluster(header)) return
    this.#watchdog.heard('created')
    void this.#begin()
  }

  /** Takes what comes, once it is known to be of the history that was applied: etcd may have been
   *  restored while there was no stream. */
  async #begin(): Promise<void> {
    const { client, probe } = this.#options
    const { connections } = client
    this.#backlog.pause()
    let failure = await probe.doubt()
    if (this.#isOver) return
    // What waits is of the etcd that opened the watch, and the answers may be of a restored one.
    if (connections !== client.connections && this.#backlog.isWaiting) {
      failure ??= new CacheError('source_failed', 'another etcd may answer since the watch opened')
    }
    if (failure !== undefined) {
      this.end({ reason: 'failed', failure })
      return
    }
    this.#isCreated = true
    // Whether progress requests are answered at all is found out at once, not when a read depends
    // on it.
    this.#requests.need(nextRevision(this.#options.progress.revision))
    this.#awaitFirstMark()
    this.#options.target.streamChanged()
    this.#backlog.resume()
  }

  changed(batches: readonly RevisionChanges[], header: ResponseHeader): void {
    if (this.#isOver || !this.#isKnownCluster(header)) return
    this.#watchdog.heard('events')
    this.#delivered++
    for (const batch of batches) this.#backlog.add({ type: 'batch', batch, header })
  }

  progress(header: ResponseHeader): void {
    if (this.#isOver || !this.#isKnownCluster(header)) return
    this.#watchdog.heard('progress')
    this.#backlog.add({ type: 'progress', header })
  }

  ended(failure: CacheError): void {
    this.#backlog.add({ type: 'ended', failure })
  }

  #take(delivered: Delivered): Steps<void> | undefined {
    if (this.#isOver) return undefined
    switch (delivered.type) {
      case 'batch':
        return this.#apply(delivered.batch, delivered.header)
      case 'progress':
        this.#marked(delivered.header)
        return undefined
      case 'ended': {
        const { failure } = delivered
        const isCompacted = failure.code === 'expired'
        this.end(isCompacted ? { reason: 'compacted' } : { reason: 'failed', failure })
        return undefined
      }
    }
  }

  *#apply(batch: RevisionChanges, header: ResponseHeader): Steps<void> {
    const { progress, target } = this.#options
    const { revision } = batch
    if (this.#startRevision !== undefined && revision >= this.#startRevision) {
      if (revision <= this.#provenBefore) {
        target.contradicted(header)
        return
      }
    }
    let violation = this.#order.checkBatch(batch, header, progress.revision)
    if (violation === undefined) {
      const steps = target.apply(batch)
      if (steps !== undefined) violation = yield* steps
    }
    if (violation !== undefined) this.#violated(violation)
  }

  #marked(header: ResponseHeader): void {
    const violation = this.#order.checkProgress(header)
    if (violation !== undefined && this.#trust !== 'old version') {
      this.#violated(violation)
      return
    }
    if (!this.#hasMarked) {
      this.#hasMarked = true
      this.#judgeTrust()
    }
    if (this.#trust === 'trusted') this.#options.target.prove(header.revision)
    this.#requests.answered()
  }

  /** Reports the violation synchronously, so that no read can see wrong data. */
  #violated(violation: Violation): void {
    this.#options.target.violated(violation, this.endpoint)
    this.end({ reason: 'violation' })
  }

  /** A watcher that has to catch up is not answered before it has: while events come, the first
   *  mark is not overdue. Nor is it as long as the watcher's start lies ahead of etcd: since
   *  3.4.38, 3.5.22 and 3.6.2 etcd tells no progress then. */
  #awaitFirstMark(): void {
    const { clock, limits } = this.#options
    const delivered = this.#delivered
    this.#cancelFirstMark = clock.setTimer(limits.firstProgressMaxMs, () => {
      if (this.#hasMarked) return
      if (this.#delivered > delivered || this.#isStartAhead) {
        this.#awaitFirstMark()
      } else {
        this.#isMarkOverdue = true
        this.#judgeTrust()
      }
    })
  }

  get #isStartAhead(): boolean {
    if (this.#options.client.provesAhead === true) return false
    return this.#startRevision !== undefined && this.#startRevision > this.#options.epochs.witnessed
  }

  readonly #sendRequest = (): void => {
    if (!this.#isCreated) return
    this.#watchdog.asked()
    this.#options.metrics.progressRequest()
    this.#stream?.requestProgress()
  }

  /** Asks for the versions until the one of this stream's endpoint is known. */
  async #learnTrust(endpoint: string): Promise<void> {
    const { versions, clock, limits, signal } = this.#options
    while (!this.#isOver && !signal.aborted) {
      await versions.refresh(signal)
      if (versions.isProgressSound(endpoint) !== undefined) break
      await sleep(clock, limits.versionRetryMs, signal)
    }
    this.#judgeTrust()
  }

  /** Notes the revision of a header; ends the stream if it comes from another cluster than the
   *  contents. */
  #isKnownCluster(header: ResponseHeader): boolean {
    const { epochs } = this.#options
    if (epochs.isOtherCluster(header)) {
      this.end({ reason: 'another cluster' })
      return false
    }
    epochs.witness(header)
    return true
  }

  readonly #judgeTrust = (): void => {
    const stream = this.#stream
    if (this.#isOver || stream === undefined) return
    const { versions, target, progress } = this.#options
    const isSound = (this.#isSound = versions.isProgressSound(stream.endpoint) ?? this.#isSound)
    const before = this.#trust
    if (isSound === false) this.#trust = 'old version'
    else if (this.#hasMarked) this.#trust = isSound === true ? 'trusted' : 'unknown'
    else this.#trust = this.#isMarkOverdue ? 'unanswered' : 'unknown'
    if (this.#trust === before) return
    target.streamChanged()
    // A mark that came before it was trusted was not used.
    if (this.#trust === 'trusted') this.#requests.need(nextRevision(progress.revision))
  }
}
