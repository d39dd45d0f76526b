/** Records an etcd: all entries at one revision, and then every change, in order and without a gap,
 *  until it is stopped. A lost stream is opened again from the revision after the last one. If etcd
 *  has compacted that revision, the recording ends there and reports it, because a recording with a
 *  gap is useless.
 *
 *  Nothing is kept in memory: pages and changes are written as they come, and a disk that is slower
 *  than etcd pauses the stream until it has caught up. */

import {
  Backoff,
  CacheError,
  type Clock,
  type KeyRange,
  type Logger,
  nextRevision,
  type Random,
  type Revision,
  singleKey,
  sleep,
} from '@watchglass/base'
import type { Client, RevisionChanges } from '@watchglass/etcd'
import type { KeyValue } from '@watchglass/store'
import {
  Epochs,
  FeedStream,
  Landmarks,
  MemberVersions,
  type MirrorLimits,
  noMetrics,
  Progress,
  readPages,
  type StreamEnd,
  type StreamTarget,
} from '@watchglass/cache'

/** The target of a recording: a file, in order. */
export interface RecordingTarget {
  writeBase(at: Revision, entries: readonly KeyValue[]): Promise<void>
  /** All of the base was written. Left out by forms of files that cannot say so. */
  endBase?(at: Revision): Promise<void>
  write(batch: RevisionChanges): Promise<void>
}

export interface RecordReport {
  /** Entries of the base. */
  readonly entries: number
  /** Changes after it. */
  readonly changes: number
  /** The recording is complete up to here; `undefined` before the base has begun. */
  readonly revision: Revision | undefined
}

export interface RecordOptions {
  readonly client: Client
  readonly clock: Clock
  readonly random: Random
  readonly limits: MirrorLimits
  readonly logger: Logger
  readonly range: KeyRange
  /** The revision to begin at. If it is left out: the newest. */
  readonly revision?: Revision | undefined
  /** The base is all that is wanted. */
  readonly isBaseOnly?: boolean | undefined
  /** Called with the id of etcd's cluster for the base, and again if the base has to be read again:
   *  what was written before is void then. */
  readonly createTarget: (clusterId: bigint) => Promise<RecordingTarget>
  readonly onReport: (report: RecordReport) => void
  /** Ends the recording, which is then complete up to its last revision. */
  readonly signal: AbortSignal
}

/** Changes that may wait for the disk. */
const waitingMaxChanges = 20_000

/** Records until the signal is aborted. Fails with `closed` if that happens before the base is
 *  whole, with `expired` if etcd has compacted the next revision, and with `conflict` if etcd has
 *  another history or breaks its order; what was written until then is complete, but for a base
 *  that is not whole. */
export async function record(options: RecordOptions): Promise<RecordReport> {
  const recorder = new Recorder(options)
  if (!(await recorder.writeBase())) {
    const { entries } = recorder.report
    throw new CacheError(
      'closed',
      `stopped before the first state was whole: ${entries.toLocaleString('en-US')} objects of it were written`,
    )
  }
  if (options.isBaseOnly !== true) await recorder.follow()
  return recorder.report
}

class Recorder implements StreamTarget {
  readonly #options: RecordOptions
  readonly #epochs = new Epochs()
  readonly #landmarks = new Landmarks()
  readonly #versions: MemberVersions
  #target: RecordingTarget | undefined = undefined
  #progress: Progress | undefined = undefined
  #stream: FeedStream | undefined = undefined
  #entries = 0
  #changes = 0
  #waitingChanges = 0
  #written: Promise<void> = Promise.resolve()
  #failure: CacheError | undefined = undefined

  constructor(options: RecordOptions) {
    this.#options = options
    this.#versions = new MemberVersions({ ...options, isCheckingVersions: true })
  }

  get report(): RecordReport {
    const { revision } = this.#progress ?? {}
    return { entries: this.#entries, changes: this.#changes, revision }
  }

  /** Writes all entries at one revision; false if the recording was stopped meanwhile. */
  async writeBase(): Promise<boolean> {
    const { signal, logger, revision } = this.#options
    for (;;) {
      try {
        await this.#writeBaseOnce()
        return true
      } catch (error) {
        if (signal.aborted) return false
        const failure = CacheError.from(error, 'source_failed')
        if (failure.code !== 'expired') throw failure
        if (revision !== undefined) {
          throw new CacheError(
            'expired',
            `etcd has compacted revision ${revision}: nothing can be recorded from there`,
            { cause: failure },
          )
        }
        logger.warn('etcd compacted a revision before it was recorded: the recording starts again')
      }
    }
  }

  /** Writes every change after the base, stream after stream. */
  async follow(): Promise<void> {
    const { clock, random, limits, logger, signal } = this.#options
    logger.info('recording every change from now on', { ...this.report })
    const backoff = new Backoff(limits.reconnectBackoff, random)
    let avoidEndpoint: string | undefined
    while (!signal.aborted) {
      const before = this.#changes
      const end = await this.#followOnce(avoidEndpoint)
      await this.#written
      if (this.#failure !== undefined) throw this.#failure
      this.#judge(end)
      if (end.reason === 'stopped') continue
      if (this.#changes > before) backoff.reset()
      avoidEndpoint = end.endpoint
      const error = end.reason === 'failed' ? end.failure.message : end.reason
      logger.warn('the watch stream of etcd ended: recording goes on from the next revision', {
        error,
      })
      await sleep(clock, backoff.nextMs(), signal)
    }
  }

  apply(batch: RevisionChanges): undefined {
    this.#progress?.advance(batch.revision)
    this.#landmarks.note(batch)
    this.#changes += batch.changes.length
    this.#waitingChanges += batch.changes.length
    this.#written = this.#written.then(() => this.#write(batch))
    if (this.#waitingChanges > waitingMaxChanges) this.#stream?.end({ reason: 'stopped' })
    this.#options.onReport(this.report)
  }

  prove(revision: Revision): void {
    this.#progress?.advance(revision)
    this.#options.onReport(this.report)
  }

  violated({ kind, got, known }: Parameters<StreamTarget['violated']>[0]): void {
    this.#failure = new CacheError(
      'conflict',
      `etcd broke the order of its events (${kind}: ${got} after ${known}): the recording ends at ${known}`,
    )
  }

  contradicted(): void {
    this.#failure = this.#anotherHistory()
    this.#stream?.end({ reason: 'stopped' })
  }

  streamChanged(): void {}

  /** Compares what a new stream leads to with what was recorded. */
  async #doubt(): Promise<CacheError | undefined> {
    const { client, signal } = this.#options
    let failure: CacheError | undefined
    const header = await this.#landmarks.contradiction(async request => {
      try {
        return await client.range(request, signal)
      } catch (error) {
        const thrown = CacheError.from(error, 'source_failed')
        if (thrown.code !== 'expired') failure ??= thrown
        return 'expired'
      }
    })
    if (header !== undefined) this.contradicted()
    return failure
  }

  async #writeBaseOnce(): Promise<void> {
    const { createTarget, range, revision, onReport } = this.#options
    this.#entries = 0
    this.#progress = undefined
    let target: RecordingTarget | undefined
    for await (const page of readPages(this.#options, { range, revision, attemptsMax: 10 })) {
      if (this.#epochs.isOtherCluster(page.header)) throw this.#anotherHistory()
      this.#epochs.witness(page.header)
      this.#progress ??= new Progress(page.revision)
      // The old file is replaced only now: it may be the only recording that there is.
      target ??= await createTarget(page.header.clusterId)
      await target.writeBase(page.revision, page.entries)
      this.#entries += page.entries.length
      onReport(this.report)
    }
    if (this.#progress !== undefined) await target?.endBase?.(this.#progress.revision)
    this.#target = target
  }

  async #followOnce(
    avoidEndpoint: string | undefined,
  ): Promise<StreamEnd & { readonly endpoint: string | undefined }> {
    const { client, range, signal } = this.#options
    const progress = this.#progress
    if (progress === undefined) throw new CacheError('closed', 'there is no base')
    const stream = new FeedStream({
      ...this.#options,
      metrics: noMetrics,
      epochs: this.#epochs,
      versions: this.#versions,
      progress,
      probe: { doubt: () => this.#doubt() },
      target: this,
    })
    this.#stream = stream
    const stop = (): void => {
      stream.end({ reason: 'stopped' })
    }
    signal.addEventListener('abort', stop, { once: true })
    try {
      await this.#checkEpoch(client, signal)
      const startRevision = nextRevision(progress.revision)
      const end = await stream.follow({ range, startRevision, progressNotify: true, avoidEndpoint })
      return { ...end, endpoint: stream.endpoint }
    } catch (error) {
      const failure = CacheError.from(error, 'source_failed')
      if (failure.code === 'conflict') throw failure
      stop()
      return { reason: 'failed', failure, endpoint: undefined }
    } finally {
      signal.removeEventListener('abort', stop)
      this.#stream = undefined
    }
  }

  /** Checks that etcd was not restored: its changes must not be appended to those of another
   *  history. */
  async #checkEpoch(client: Client, signal: AbortSignal): Promise<void> {
    const { range } = this.#options
    for (let attempt = 1; ; attempt++) {
      const mark = this.#epochs.mark()
      const request = { range: singleKey(range.start), countOnly: true }
      const { header } = await client.range(request, signal)
      if (this.#epochs.judge(mark, header) === 'same') return
      // Before 3.5.28 one linearizable answer can be stale, so a second one must confirm it.
      if (attempt === 2) throw this.#anotherHistory()
    }
  }

  #judge(end: StreamEnd): void {
    const revision = this.#progress?.revision
    if (end.reason === 'compacted') {
      throw new CacheError(
        'expired',
        `etcd has compacted what came after revision ${revision}: the recording ends there`,
      )
    }
    if (end.reason === 'another cluster') throw this.#anotherHistory()
  }

  #anotherHistory(): CacheError {
    const revision = this.#progress?.revision ?? 0
    return new CacheError(
      'conflict',
      `etcd has another history (restored?): the recording ends at ${revision}`,
    )
  }

  async #write(batch: RevisionChanges): Promise<void> {
    if (this.#failure !== undefined) return
    try {
      await this.#target?.write(batch)
    } catch (error) {
      this.#failure = CacheError.from(error, 'invalid_request')
      this.#stream?.end({ reason: 'stopped' })
    } finally {
      this.#waitingChanges -= batch.changes.length
    }
  }
}
