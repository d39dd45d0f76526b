/** The mirrors of a worker: copies of the keyspaces, each with its own tree and history, made
 *  of the records in the ring.
 *
 *  Reads are decided by the same gate as in the thread with the mirrors. What differs is where the
 *  facts come from: etcd's revision is asked of that thread, progress comes through the ring, and
 *  whatever clients of other threads have seen is not older here (`SeenRevisions`). */

import {
  assert,
  CacheError,
  type CancelTimer,
  type Clock,
  type Freshness,
  type Key,
  type KeyRange,
  prefixRange,
  repeat,
  revision,
  type Revision,
  Slice,
} from '@watchglass/base'
import { OwnRevision } from '@watchglass/etcd'
import {
  coversRange,
  type DirectReadRequest,
  type KeyspaceDescription,
  type KeyspaceStatus,
  MirroredKeyspace,
  type MirrorMetrics,
  type Mirrors,
  type MirrorSink,
  type RangePage,
  type ReadOptions,
  type ReadOutcome,
} from '@watchglass/cache'
import type { HistoryBounds } from '@watchglass/store'
import { CopyReader, type CopyTarget } from './copy-reader.ts'
import type { ProgressFacts } from './encoder.ts'
import type { SharedMemory } from './facts.ts'
import { type Ask, WorkerFeed, WorkerMirror } from './worker-feed.ts'
import type { AnswerMessage } from './messages.ts'
import type { RemoteClients } from './remote-client.ts'
import { RemoteReads } from './remote-reads.ts'
import type { RingReader } from './ring.ts'
import { SeenRevisions } from './seen-revisions.ts'
import type { SlabShelf } from './slabs.ts'

export interface WorkerMirrorsOptions {
  readonly memory: SharedMemory
  readonly ring: RingReader
  readonly shelf: SlabShelf
  /** A record that was too long for the ring. */
  readonly takeRecord: (id: number) => SharedArrayBuffer
  readonly ask: Ask
  readonly clients: RemoteClients
  readonly clock: Clock
  readonly metrics: MirrorMetrics
  readonly sink: MirrorSink
  /** Bounds of each keyspace's history. */
  readonly history: HistoryBounds
  /** True for a keyspace that is mirrored although nobody has read it yet; all are if it is left
   *  out. */
  readonly isWantedAtStart?: ((keyspace: Key) => boolean) | undefined
  /** True for a keyspace whose changes somebody follows here. */
  readonly isWatched?: ((keyspace: Key) => boolean) | undefined
}

/** Pause until the thread with the mirrors is told again what is read and watched here: what
 *  nobody uses for half an hour is let go there. */
const tellUseEveryMs = 60_000

interface Copy {
  readonly keyspace: MirroredKeyspace
  /** Undefined for a keyspace that is not mirrored, until somebody reads it. */
  readonly feed: WorkerFeed | undefined
  /** The thread with the mirrors has told of it. */
  isTold: boolean
}

/** A copy of what is mirrored. */
type FedCopy = Copy & { readonly feed: WorkerFeed }

export class WorkerMirrors implements Mirrors, CopyTarget {
  readonly #options: WorkerMirrorsOptions
  readonly #seen: SeenRevisions
  /** By their numbers, as are feeds. */
  readonly #mirrors: WorkerMirror[] = []
  readonly #feeds: WorkerFeed[] = []
  /** The ranges of the feeds that are there from the start. */
  readonly #ranges: readonly KeyRange[]
  readonly #copies = new Map<string, Copy>()
  /** The keyspaces that this thread has added. */
  readonly #added = new Map<string, KeyspaceDescription>()
  /** The keyspaces that have once been ready. */
  readonly #readied = new Set<string>()
  /** The keyspaces that were read here since the thread with the mirrors was told. */
  readonly #lately = new Set<string>()
  #cancelTelling: CancelTimer = () => {}
  readonly #reader: CopyReader
  readonly #reads: RemoteReads
  readonly #clients: RemoteClients
  /** Reads that wait for this thread to be told of an epoch. */
  #onEpoch: (() => void)[] = []
  #isReading = false
  #isTaking = false
  #isStopped = false

  constructor(options: WorkerMirrorsOptions) {
    this.#options = options
    const { layout = [], seen, mirrorsMax } = options.memory
    this.#seen = new SeenRevisions(seen, mirrorsMax)
    for (const [id, ranges] of layout.entries()) {
      const mirror = this.#createMirror(id)
      for (let i = 0; i < ranges.length; i++) this.#createFeed(mirror)
    }
    this.#ranges = layout.flat()
    this.#reader = new CopyReader(options.ring.bytes, options, this)
    this.#reads = new RemoteReads(options.ask)
    this.#clients = options.clients
  }

  has(keyspace: string): boolean {
    return this.#copies.get(keyspace)?.feed !== undefined
  }

  covers(range: KeyRange): boolean {
    return this.#ranges.some(one => coversRange(one, range))
  }

  /** Waits for a keyspace to be told of, unless it has been already. */
  add(description: KeyspaceDescription): void {
    const { name, range } = description
    this.#added.set(name, description)
    if (this.#copies.has(name)) return
    const feed = this.#feeds[this.#ranges.findIndex(one => coversRange(one, range))]
    if (feed === undefined && !this.#isOnDemand) {
      throw new CacheError('invalid_request', `keyspace ${name} lies outside of what is mirrored`)
    }
    this.#create(description, feed)
  }

  /** Drops a copy. One that was told of stays until the thread with the mirrors drops it. */
  drop(name: string): void {
    this.#added.delete(name)
    const copy = this.#copies.get(name)
    if (copy?.isTold === false) this.dropped(copy.keyspace)
  }

  want(keyspace: Key): void {
    if (this.#isOnDemand && !this.has(keyspace)) this.#options.ask({ type: 'want', keyspace })
  }

  start(): void {
    void this.readRing()
    if (!this.#isOnDemand) return
    this.#cancelTelling = repeat(this.#options.clock, tellUseEveryMs, () => this.#tellUse())
  }

  async stop(): Promise<void> {
    this.#cancelTelling()
    this.#isStopped = true
    for (const { gate } of this.#mirrors) gate.close()
  }

  /** At once if nothing has to be waited for: see `FreshnessGate.read`. */
  read(name: string, options: ReadOptions): ReadOutcome | Promise<ReadOutcome> {
    this.#drain()
    const { feed, keyspace } = this.#place(name)
    if (feed === undefined) return { from: 'elsewhere', reason: 'not-ready' }
    if (this.#isOnDemand) this.#lately.add(name)
    const { mirror } = feed
    const again = (): ReadOutcome | Promise<ReadOutcome> => this.read(name, options)
    if (this.#isOver(mirror)) return this.#untilEpoch(mirror, options).then(again)
    const shown = this.#seenAbove(keyspace, feed, options)
    const { epoch } = mirror
    // The ring may have told of a new epoch before the answer comes.
    const isOfOldEpoch = (): boolean => epoch !== mirror.epoch || this.#isOver(mirror)
    // It must not be older than what another thread has shown.
    const raised: Freshness | undefined = shown && { type: 'not-older-than', revision: shown }
    const wanted = raised === undefined ? options : { ...options, freshness: raised }
    const answered = mirror.gate.read(keyspace, feed, wanted)
    if (!(answered instanceof Promise)) return isOfOldEpoch() ? again() : answered
    return answered.then(
      outcome => (isOfOldEpoch() ? again() : outcome),
      (error: unknown) => {
        if (shown === undefined || !isAboutRevision(error)) throw error
        // The read itself has not asked for what was shown, which may be of an epoch that is over.
        if (epoch !== mirror.epoch) return again()
        throw this.#behind()
      },
    )
  }

  keyspace(name: string): MirroredKeyspace {
    return this.#place(name).keyspace
  }

  proven(name: string): Revision {
    const { keyspace, feed } = this.#place(name)
    return feed === undefined ? keyspace.store.revision : keyspace.proven(feed.progress)
  }

  refresh(names: Iterable<string>): void {
    this.#options.ask({ type: 'refresh', keyspaces: [...names] })
  }

  compactRevision(name: string): Revision {
    return this.#place(name).feed?.mirror.compactRevision ?? revision(0)
  }

  isOfOldEpoch(name: string, at: Revision): boolean {
    const { feed } = this.#place(name)
    if (feed === undefined) return false
    const { witnessed, expiredThrough } = feed.mirror
    return at > witnessed && at <= expiredThrough
  }

  readDirectly(name: string, request: DirectReadRequest): AsyncIterable<RangePage> {
    return this.#reads.read(name, request)
  }

  proofOf(name: string): string | undefined {
    return this.#copies.get(name)?.feed?.proof
  }

  statuses(): KeyspaceStatus[] {
    const nowMs = this.#options.clock.monotonicMs()
    return [...this.#copies.values()].filter(isFed).map(copy => statusOf(copy, nowMs))
  }

  /** The keyspaces that are waited for: of those that are mirrored on demand, the first ones. */
  awaited(): KeyspaceStatus[] {
    const { isWantedAtStart } = this.#options
    const all = this.statuses()
    if (isWantedAtStart === undefined) return all
    for (const { name, state } of all) if (state === 'ready') this.#readied.add(name)
    return all.filter(({ name }) => isWantedAtStart(name as Key) && !this.#readied.has(name))
  }

  get waitingReads(): number {
    return this.#mirrors.reduce((sum, { gate }) => sum + gate.waiting, 0)
  }

  /** Takes an answer of the thread with the mirrors. */
  answered(answer: AnswerMessage): void {
    switch (answer.type) {
      case 'wake':
        void this.readRing()
        return
      case 'probed':
        this.#drain()
        this.#mirrors[answer.mirror]?.probed(answer)
        return
      case 'probe-failed':
        this.#mirrors[answer.mirror]?.probeFailed(answer)
        return
      case 'page':
      case 'read-failed':
        this.#reads.answered(answer)
        return
      case 'called':
      case 'call-failed':
        this.#clients.answered(answer)
    }
  }

  /** Reads the ring until it is empty, in slices, and asks to be woken then. */
  async readRing(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    const slice = new Slice(this.#options.clock)
    while (!this.#isStopped) {
      this.#readRecords(() => slice.isOver)
      if (this.#options.ring.isEmpty && this.#options.ring.sleep()) break
      if (slice.isOver) await slice.next('first')
    }
    this.#isReading = false
  }

  /** Reads what is in the ring now, within a slice. */
  #drain(): void {
    // A record may lead to a read.
    if (this.#isTaking || this.#options.ring.isEmpty) return
    const slice = new Slice(this.#options.clock)
    this.#readRecords(() => slice.isOver)
  }

  #readRecords(isOver: () => boolean): void {
    const { ring, ask } = this.#options
    this.#isTaking = true
    for (let record = ring.next(); record !== undefined; record = ring.next()) {
      this.#reader.take(record.start)
      if (ring.release()) ask({ type: 'room' })
      if (isOver()) break
    }
    this.#isTaking = false
    for (const feed of this.#feeds) if (feed.isAhead) feed.wakeReads()
  }

  declared(name: string, feed: number): MirroredKeyspace {
    const known = this.#copies.get(name)?.keyspace
    const keyspace = known ?? this.#createKeyspace(name, this.#ranges[feed])
    this.#copies.set(name, { keyspace, feed: this.#feeds[feed]!, isTold: true })
    return keyspace
  }

  dropped(keyspace: MirroredKeyspace): void {
    const { name } = keyspace
    if (this.#copies.get(name)?.keyspace === keyspace) {
      this.#copies.delete(name)
      // It may be mirrored again, in the next moment or when somebody reads it.
      const added = this.#added.get(name)
      if (added !== undefined && this.#isOnDemand) this.#create(added, undefined)
    }
    keyspace.drop()
    for (const feed of this.#feeds) feed.wakeReads()
    // What is not mirrored is not waited for.
    if (this.#isOnDemand) this.#options.sink.stateChanged(name, 'starting')
  }

  showing({ name }: MirroredKeyspace, at: Revision): void {
    const { feed } = this.#place(name)
    assert(feed !== undefined, 'contents are those of a feed')
    feed.isAhead = true
    this.#seen.raise(feed.id, feed.mirror.epoch, at)
  }

  progressed(id: number, { revision: at, witnessed, trust, proof }: ProgressFacts): void {
    const feed = this.#feeds[id]!
    const { mirror } = feed
    mirror.witness(witnessed)
    this.#seen.raise(id, mirror.epoch, at)
    const isOtherTrust = trust !== feed.trust
    feed.trust = trust
    feed.proof = proof
    feed.isAhead = false
    if (feed.progress.advance(at)) this.#options.sink.progressed(this.#namesOf(feed), at)
    if (isOtherTrust) feed.wakeReads()
  }

  epochStarted(id: number, number: number, expiredThrough: Revision): void {
    const mirror = this.#mirrors[id] ?? this.#begin(id)
    const isFirst = mirror.epoch === 0
    for (const { keyspace, feed } of this.#copies.values()) {
      if (feed?.mirror !== mirror || isFirst) continue
      keyspace.enter('starting')
      keyspace.clear('new epoch')
    }
    mirror.startEpoch(number, expiredThrough)
    for (const feed of this.#feeds) if (feed.mirror === mirror) feed.startEpoch()
    const waiting = this.#onEpoch
    this.#onEpoch = []
    for (const look of waiting) look()
  }

  compacted(mirror: number, at: Revision): void {
    this.#mirrors[mirror]!.compactRevision = at
  }

  #tellUse(): void {
    const { ask, isWatched = () => false } = this.#options
    for (const name of this.#copies.keys()) {
      const keyspace = name as Key
      if (this.#lately.has(name) || isWatched(keyspace)) ask({ type: 'want', keyspace })
    }
    this.#lately.clear()
  }

  get #isOnDemand(): boolean {
    return this.#options.memory.layout === undefined
  }

  /** A mirror that begins on demand: its feed has its number. */
  #begin(id: number): WorkerMirror {
    assert(id === this.#mirrors.length, 'mirrors are told of in the order of their numbers')
    const mirror = this.#createMirror(id)
    this.#createFeed(mirror)
    return mirror
  }

  #createMirror(id: number): WorkerMirror {
    const { memory, ask, clock, metrics } = this.#options
    const { limits, ownRevisions } = memory
    const own = ownRevisions[id]
    const ownRevision = own && new OwnRevision(own)
    const drain = (): void => this.#drain()
    const mirror = new WorkerMirror({ id, ask, clock, limits, metrics, ownRevision, drain })
    this.#mirrors.push(mirror)
    return mirror
  }

  #createFeed(mirror: WorkerMirror): void {
    this.#feeds.push(new WorkerFeed(this.#feeds.length, mirror, this.#options.ask))
  }

  #create({ name, range }: KeyspaceDescription, feed: WorkerFeed | undefined): void {
    const keyspace = this.#createKeyspace(name, range)
    this.#copies.set(name, { keyspace, feed, isTold: false })
  }

  #createKeyspace(name: string, range: KeyRange = prefixRange(name as Key)): MirroredKeyspace {
    const { clock, sink, history } = this.#options
    return new MirroredKeyspace({ name, range, history }, clock, sink)
  }

  /** A keyspace, mirrored or not. */
  #place(name: string): Copy {
    const copy = this.#copies.get(name)
    if (copy === undefined) throw new CacheError('not_found', `keyspace ${name} is not mirrored`)
    return copy
  }

  *#namesOf(feed: WorkerFeed): Iterable<string> {
    for (const [name, copy] of this.#copies) if (copy.feed === feed) yield name
  }

  /** The newest that clients have seen in other threads, if this one is behind it and the read must
   *  not be. */
  #seenAbove(
    keyspace: MirroredKeyspace,
    feed: WorkerFeed,
    { freshness }: ReadOptions,
  ): Revision | undefined {
    if (freshness.type === 'exact' || freshness.type === 'consistent') return undefined
    const shown = this.#seen.revision(feed.id, feed.mirror.epoch)
    const wanted = freshness.type === 'any' ? revision(0) : freshness.revision
    return shown <= wanted || shown <= keyspace.proven(feed.progress) ? undefined : shown
  }

  /** Another thread has shown a newer epoch: waits until this one has been told of it, for no
   *  longer than a read may. */
  #untilEpoch(mirror: WorkerMirror, { reader }: ReadOptions): Promise<void> {
    const { clock, memory } = this.#options
    const signal = reader?.signal
    return new Promise((resolve, reject) => {
      let isOver = false
      const finish = (end: () => void): void => {
        if (isOver) return
        isOver = true
        cancel()
        signal?.removeEventListener('abort', leave)
        end()
      }
      const leave = (): void => {
        finish(() => reject(new CacheError('closed', 'read was abandoned')))
      }
      const cancel = clock.setTimer(memory.limits.readWaitMaxMs, () => {
        finish(() => reject(this.#behind()))
      })
      const look = (): void => {
        if (isOver) return
        if (!this.#isOver(mirror)) finish(resolve)
        else this.#onEpoch.push(look)
      }
      signal?.addEventListener('abort', leave, { once: true })
      look()
    })
  }

  /** The epoch of this thread's copies is over. */
  #isOver(mirror: WorkerMirror): boolean {
    return mirror.epoch !== this.#seen.epoch(mirror.id)
  }

  #behind(): CacheError {
    const { retryAfterMs } = this.#options.memory.limits
    return new CacheError('overloaded', 'this thread is behind another', { retryAfterMs })
  }
}

function isFed(copy: Copy): copy is FedCopy {
  return copy.feed !== undefined
}

function statusOf({ keyspace, feed }: FedCopy, nowMs: number): KeyspaceStatus {
  const at = keyspace.proven(feed.progress)
  return {
    name: keyspace.name,
    state: keyspace.state,
    stateMs: nowMs - keyspace.stateSinceMs,
    revision: at,
    oldest: keyspace.store.oldest,
    historyMs: keyspace.store.historyReachMs(nowMs),
    entries: keyspace.store.latest().size,
    lagRevisions: Math.max(0, feed.mirror.witnessed - at),
    lagMs: 0,
    trust: feed.trust,
    endpoint: undefined,
    load: undefined,
  }
}

function isAboutRevision(error: unknown): boolean {
  if (!(error instanceof CacheError)) return false
  return error.code === 'future_revision' || error.code === 'expired'
}
