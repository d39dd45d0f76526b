/** A feed: one range of one etcd, followed by one watch stream, and the keyspaces that lie in the
 *  range.
 *
 *  ```
 *  run: ┌▶ bootstrap (unless restored) ─▶ probe ─▶ watch from the last change on ─▶ it is over ──┐
 *       │    compacted ........ read everything again; what was there stays served until then    │
 *       │    violation ........ nothing is served until everything has been read again           │
 *       │    silent, behind ... again, at another endpoint                                       │
 *       └──  failed ........... again, after a pause                                 ◀───────────┘
 *  ```
 *
 *  etcd is probed for its revision before each watch: it shows a new epoch before any event of it
 *  is applied, and says when the feed has caught up. A stream begins after the last change, not
 *  after progress: in between there is nothing, but for an etcd that was restored meanwhile. A
 *  keyspace that is added while the feed runs is read at one revision and joined, in order, with
 *  the stream. */

import {
  allKeys,
  assert,
  atOnce,
  Backoff,
  CacheError,
  type KeyRange,
  LinkedAbort,
  nextRevision,
  revision,
  type Revision,
  sleep,
  type Steps,
} from '@watchglass/base'
import type { ResponseHeader, RevisionChanges } from '@watchglass/etcd'
import type { Change, PreparedBatch } from '@watchglass/store'
import { type Loaded, type LoadReport, loadKeyspaces } from './bootstrap.ts'
import type { FeedContext } from './feed-context.ts'
import type { DoubtedContents } from './landmarks.ts'
import { Joins } from './join.ts'
import type { BootstrapReason } from '../metrics.ts'
import type { MirroredKeyspace, ResetReason } from '../mirrored-keyspace.ts'
import type { Violation } from './order.ts'
import { atOnceMaxBytes, type PlainRoom, type PlainValues } from '../plain-values.ts'
import { Progress } from './progress.ts'
import { FeedStream, type ProgressTrust, type StreamEnd, type StreamTarget } from './stream.ts'

/** Changes of a revision that are applied before the clock is asked. */
const changesAtOnce = 64

/** When the same failure is logged again. */
const saidAgainMs = 30_000

export class Feed implements StreamTarget {
  readonly range: KeyRange
  readonly progress: Progress = new Progress(revision(0))
  readonly #context: FeedContext
  readonly #keyspaces = new Map<string, MirroredKeyspace>()
  /** Number of keyspaces that were added. */
  #added = 0
  readonly #joins: Joins
  readonly #reconnects: Backoff
  #stream: FeedStream | undefined = undefined
  /** Why everything must be read again; `undefined` if there are contents that follow the
   *  stream. */
  #mustLoad: BootstrapReason | undefined = 'start'
  /** Aborted when the epoch, or the mirror, ends. */
  #epoch: LinkedAbort
  /** The pause after a violation. It grows while violations repeat, so that a broken etcd is not
   *  read all the time. */
  readonly #distrusts: Backoff
  /** The failure that was logged last. */
  #said = { message: '', atMs: 0 }
  /** The revision of the last change, or of the contents that were read. There is no change from
   *  there up to progress. */
  #changed: Revision = revision(0)
  /** The connections of the source when it was last known to have what is followed; undefined if
   *  that has to be found out. */
  #agreedConnections: number | undefined = undefined
  /** The revision that etcd had when the stream was opened. */
  #target: Revision = revision(0)
  #isCaughtUp = false
  /** When progress last equalled the newest revision that etcd is known to have. */
  #levelAtMs: number
  #report: LoadReport | undefined = undefined

  constructor(range: KeyRange, context: FeedContext) {
    this.range = range
    this.#context = context
    this.#joins = new Joins(context, this)
    this.#reconnects = new Backoff(context.limits.reconnectBackoff, context.random)
    this.#distrusts = new Backoff(context.limits.reconnectBackoff, context.random)
    this.#epoch = new LinkedAbort(context.signal)
    this.#levelAtMs = context.clock.monotonicMs()
  }

  get keyspaces(): Iterable<MirroredKeyspace> {
    return this.#keyspaces.values()
  }

  keyspace(name: string): MirroredKeyspace | undefined {
    return this.#keyspaces.get(name)
  }

  get trust(): ProgressTrust {
    return this.#stream?.trust ?? 'unknown'
  }

  /** Whether there are contents that follow the stream. */
  get isRestored(): boolean {
    return this.#mustLoad === undefined
  }

  get isCaughtUp(): boolean {
    return this.#isCaughtUp
  }

  get isConnected(): boolean {
    return this.#stream?.isCreated === true
  }

  get endpoint(): string | undefined {
    return this.#stream?.endpoint
  }

  /** For how long the feed has not been known to be up to date with etcd. */
  lagMs(nowMs: number): number {
    const isLevel = this.progress.revision >= this.#context.epochs.witnessed
    return this.isConnected && isLevel ? 0 : Math.max(0, nowMs - this.#levelAtMs)
  }

  /** The progress of the last bootstrap. */
  get loadReport(): LoadReport | undefined {
    return this.#report
  }

  /** Aborted when the present epoch, or the mirror, ends. */
  get signal(): AbortSignal {
    return this.#epoch.signal
  }

  /** Adds a keyspace: the next bootstrap loads it, or, after the first bootstrap, it is joined. */
  add(keyspace: MirroredKeyspace): void {
    this.#added++
    this.#keyspaces.set(keyspace.name, keyspace)
    if (this.isRestored) this.#joins.add(keyspace)
  }

  drop(name: string): void {
    const keyspace = this.#keyspaces.get(name)
    this.#keyspaces.delete(name)
    keyspace?.drop()
    this.wakeReads()
  }

  /** A read waits for `revision`. */
  need(revision: Revision): void {
    this.#stream?.need(revision)
  }

  /** A bookmark is due: asks for a progress mark. */
  refresh(): void {
    this.#stream?.need(nextRevision(this.progress.revision))
  }

  /** Follows etcd until the mirror is stopped. */
  async run(): Promise<void> {
    const { signal } = this.#context
    let avoidEndpoint: string | undefined
    while (!signal.aborted) {
      if (this.#mustLoad !== undefined && !(await this.#load(this.#mustLoad))) {
        await sleep(this.#context.clock, this.#reconnects.nextMs(), this.signal)
        continue
      }
      const end = await this.#follow(avoidEndpoint)
      if (end === undefined) continue
      avoidEndpoint = isEndpointAtFault(end) ? end.endpoint : undefined
      await this.#react(end)
    }
  }

  /** The epoch is over: its contents must not be served any more. */
  startEpoch(): void {
    this.#epoch.abort()
    this.#epoch = new LinkedAbort(this.#context.signal)
    this.#mustLoad = 'new-epoch'
    this.#stream?.end({ reason: 'stopped' })
    for (const keyspace of this.#keyspaces.values()) keyspace.handle('new-epoch')
    this.#clear('new epoch')
    this.progress.restart(revision(0))
  }

  /** The contents of one keyspace differ from etcd. */
  distrust(keyspace: MirroredKeyspace): void {
    keyspace.handle('distrusted')
    keyspace.clear('distrusted')
    this.wakeReads()
    if (this.isRestored) this.#joins.add(keyspace)
  }

  /** etcd broke a guarantee: nothing is served until everything has been read again. */
  violated({ kind, got, known }: Violation, endpoint: string | undefined = this.endpoint): void {
    const { logger, metrics, client } = this.#context
    const { called = 'etcd' } = client
    metrics.violation(kind)
    logger.error(`${called} sent changes out of order: the range is read again`, {
      violation: kind,
      got,
      known,
      endpoint,
    })
    this.#mustLoad = 'violation'
    for (const keyspace of this.#keyspaces.values()) keyspace.handle('distrusted')
    this.#clear('distrusted')
    this.#stream?.end({ reason: 'violation' })
  }

  *apply({ revision, changes }: RevisionChanges): Steps<Violation | undefined> {
    assert(revision > this.progress.revision, 'progress is never above what is applied')
    try {
      yield* this.#distribute(revision, changes)
    } catch (error) {
      if (!(error instanceof CacheError)) throw error
      const { logger, client } = this.#context
      const { called = 'etcd' } = client
      const fields = { error: error.message }
      logger.error(`a change from ${called} does not fit what is mirrored`, fields)
      return { kind: 'unknown-delete', got: revision, known: this.progress.revision }
    }
    this.#context.landmarks.note({ revision, changes })
    this.#changed = revision
    this.progress.advance(revision)
    this.#moved()
    return undefined
  }

  contradicted(header: ResponseHeader): void {
    this.#context.probe.startEpoch(header)
  }

  prove(revision: Revision): void {
    if (!this.progress.advance(revision)) return
    this.#context.sink.progressed(this.#keyspaces.keys(), revision)
    this.#moved()
  }

  streamChanged(): void {
    this.#checkCaughtUp()
    this.wakeReads()
    this.#context.onFactsChanged()
  }

  /** Makes every waiting read check its condition again. */
  wakeReads(): void {
    for (const waiter of this.progress.takeWaiting()) waiter.reached()
  }

  /** Nothing of a revision is shown before all of it can be: in one step, at the end. */
  *#distribute(revision: Revision, changes: readonly Change[]): Steps<void> {
    const added = this.#added
    let { parts, unmatched } = yield* this.#partsOf(changes)
    const prepared = new Map<string, PreparedBatch>()
    for (const [name, part] of parts) {
      const one = this.#keyspaces.get(name)?.prepare(revision, part)
      if (one === undefined) continue
      prepared.set(name, one)
      while (one.step(changesAtOnce)) yield
    }
    if (added !== this.#added) {
      // A keyspace that came meanwhile may have a part in it.
      prepared.clear()
      ;({ parts, unmatched } = atOnce(this.#partsOf(changes)))
    }
    this.#context.metrics.events(changes.length - unmatched, unmatched)
    for (const [name, part] of parts) {
      this.#keyspaces.get(name)?.apply(revision, part, prepared.get(name))
    }
  }

  /** The changes of each keyspace, and the number of those that belong to none. */
  *#partsOf(
    changes: readonly Change[],
  ): Steps<{ readonly parts: Map<string, Change[]>; readonly unmatched: number }> {
    const { keyspaceOf, plain } = this.#context
    const parts = new Map<string, Change[]>()
    const room = { bytes: atOnceMaxBytes }
    let unmatched = 0
    for (const [i, sent] of changes.entries()) {
      if (i % changesAtOnce === changesAtOnce - 1) yield
      const change = plain === undefined ? sent : madePlain(sent, plain, room)
      const name = keyspaceOf(change.type === 'put' ? change.entry.key : change.key)
      if (name === undefined || !this.#keyspaces.has(name)) {
        unmatched++
        continue
      }
      const part = parts.get(name)
      if (part === undefined) parts.set(name, [change])
      else part.push(change)
    }
    return { parts, unmatched }
  }

  /** Reads everything at one revision; true if it succeeded. */
  async #load(reason: BootstrapReason): Promise<boolean> {
    const context = this.#context
    const known = [...this.#keyspaces.values()]
    const { connections } = context.client
    context.metrics.bootstrap(reason)
    try {
      const loaded = await loadKeyspaces(
        {
          ...context,
          signal: this.signal,
          onReport: report => {
            this.#report = report
            context.onLoad(this.range, report)
          },
        },
        {
          range: this.range,
          keyspaces: new Map(
            known.map(one => [one.name, one.isRestored ? one.store.latest() : undefined]),
          ),
        },
      )
      context.metrics.events(0, loaded.unmatched)
      this.#mustLoad = undefined
      // Progress that was proven by an etcd which broke its guarantees is void from here on.
      this.progress.restart(revision(0))
      for (const keyspace of known) {
        const tree = loaded.trees.get(keyspace.name)
        if (keyspace.isDropped || tree === undefined) continue
        keyspace.restore(tree, loaded.revision)
        keyspace.handle('restored')
      }
      this.#agreedConnections = connections
      this.noteRead(this.range, loaded)
      this.#changed = loaded.revision
      // Reads that wait for this revision must find its contents.
      this.progress.restart(loaded.revision)
      for (const keyspace of this.#keyspaces.values()) {
        if (!keyspace.isRestored) this.#joins.add(keyspace)
      }
      this.#said = { message: '', atMs: 0 }
      return true
    } catch (error) {
      this.#loadFailed(error)
      return false
    }
  }

  /** Contents were read: they tell whether etcd still has our history. */
  noteRead(range: KeyRange, { revision: at, newest, count }: Loaded): void {
    const { landmarks } = this.#context
    for (const entry of newest) landmarks.noteRead(entry)
    const doubted = (): DoubtedContents | undefined => this.#doubtedContents()
    landmarks.noteContents({ range, at, count, doubted })
  }

  /** The contents, where another source may answer since they were last vouched for. */
  #doubtedContents(): DoubtedContents | undefined {
    const { connections, isOneResource } = this.#context.client
    const [keyspace] = this.#keyspaces.values()
    const isDoubted = isOneResource === true && connections !== this.#agreedConnections
    if (!isDoubted || !this.isRestored || keyspace?.isRestored !== true) return undefined
    keyspace.advance(this.progress.revision)
    const snapshot = keyspace.store.latest()
    return {
      at: snapshot.revision,
      changed: this.#changed,
      entries: snapshot.iterate(allKeys),
      agreed: () => (this.#agreedConnections = connections),
      expired: () => {
        this.#mustLoad = 'compacted'
        this.#stream?.end({ reason: 'compacted' })
      },
    }
  }

  #loadFailed(error: unknown): void {
    if (!(error instanceof CacheError)) throw error
    if (this.signal.aborted) return
    const { logger, clock, client } = this.#context
    if (error.code === 'expired') {
      const { called = 'etcd' } = client
      logger.warn(`${called} has compacted the revision that was read: the read starts again`)
      return
    }
    const { message } = error
    const nowMs = clock.monotonicMs()
    const isKnown = message === this.#said.message && nowMs < this.#said.atMs + saidAgainMs
    // It is tried again several times a second.
    if (isKnown) return
    this.#said = { message, atMs: nowMs }
    const { called = 'etcd' } = client
    logger.warn(`a range of ${called} cannot be read: trying again`, { error: message })
  }

  async #follow(
    avoidEndpoint: string | undefined,
  ): Promise<(StreamEnd & { readonly endpoint: string | undefined }) | undefined> {
    const { signal } = this
    const target = await this.#context.probe.revisionNow(signal)
    // What is known may have turned out to be too old to be compared.
    if (target === undefined || signal.aborted || !this.isRestored) return undefined
    this.#target = target
    const stream = new FeedStream({
      ...this.#context,
      progress: this.progress,
      target: this,
      signal,
    })
    this.#stream = stream
    const stop = (): void => {
      stream.end({ reason: 'stopped' })
    }
    signal.addEventListener('abort', stop, { once: true })
    const end = await stream.follow({
      range: this.range,
      startRevision: nextRevision(this.#changed),
      progressNotify: true,
      avoidEndpoint,
    })
    signal.removeEventListener('abort', stop)
    this.#stream = undefined
    this.#isCaughtUp = false
    for (const keyspace of this.#keyspaces.values()) keyspace.handle('disconnected')
    return { ...end, endpoint: stream.endpoint }
  }

  async #react(end: StreamEnd & { readonly endpoint: string | undefined }): Promise<void> {
    const { logger, metrics, clock, client } = this.#context
    const { called = 'etcd' } = client
    const { signal } = this
    if (end.reason === 'stopped') return
    metrics.reconnect(end.reason)
    switch (end.reason) {
      case 'violation':
        await sleep(clock, this.#distrusts.nextMs(), signal)
        return
      case 'compacted':
        if (this.isRestored && this.#changed < this.progress.revision) {
          // What is compacted has nothing for us, unless it is of another history.
          this.#changed = this.progress.revision
          this.#agreedConnections = undefined
          return
        }
        logger.warn(
          client.called === undefined
            ? 'etcd compacted changes that were not read yet: the range is read again'
            : `${called} cannot go on with a watch: the range is read again`,
        )
        this.#mustLoad = 'compacted'
        return
      case 'another cluster':
        // The probe before the next stream begins the new epoch.
        logger.warn('a watch stream is connected to another etcd cluster: connecting again', {
          endpoint: end.endpoint,
        })
        break
      case 'silent':
      case 'behind':
        logger.warn(`a watch stream of ${called} is stuck: connecting again`, {
          reason: end.reason,
          endpoint: end.endpoint,
        })
        return
      case 'failed':
        logger.warn(`a watch stream of ${called} ended: connecting again`, {
          endpoint: end.endpoint,
          error: end.failure.message,
        })
    }
    await sleep(clock, this.#reconnects.nextMs(), signal)
  }

  #clear(reason: ResetReason): void {
    for (const keyspace of this.#keyspaces.values()) keyspace.clear(reason)
    this.wakeReads()
  }

  #moved(): void {
    const { epochs, clock } = this.#context
    if (this.progress.revision >= epochs.witnessed) this.#levelAtMs = clock.monotonicMs()
    this.#checkCaughtUp()
  }

  #checkCaughtUp(): void {
    const stream = this.#stream
    if (this.#isCaughtUp || stream?.isCreated !== true) return
    const isProvable = stream.trust !== 'old version' && stream.trust !== 'unanswered'
    if (isProvable && this.progress.revision < this.#target) return
    this.#isCaughtUp = true
    this.#reconnects.reset()
    for (const keyspace of this.#keyspaces.values()) {
      if (!keyspace.isJoining) keyspace.handle('caught-up')
    }
  }
}

function isEndpointAtFault({ reason }: StreamEnd): boolean {
  return reason === 'failed' || reason === 'silent' || reason === 'behind' || reason === 'violation'
}

function madePlain(change: Change, plain: PlainValues, room: PlainRoom): Change {
  if (change.type !== 'put') return change
  const entry = plain.of(change.entry, room)
  return entry === change.entry ? change : { type: 'put', entry }
}
