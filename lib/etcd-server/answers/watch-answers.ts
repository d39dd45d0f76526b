/** Watch streams out of a mirror. Each watcher is a position in the history of the part that has
 *  its keys; what the history does not have comes from etcd (watch-stream.ts). */

import {
  CacheError,
  type CancelTimer,
  type Clock,
  type KeyRange,
  type Random,
  type Revision,
} from '@watchglass/base'
import type { Batch } from '@watchglass/store'
import type { Scheduler } from '../engine/scheduler.ts'
import { EtcdError, type HeaderMessage, type WatchCreateMessage } from '@watchglass/etcd'
import type {
  ElsewhereStreams,
  WatchConnection,
  WatcherRoom,
  WatchHome,
  BatchSource,
} from '../engine/watches/batch-source.ts'
import { SharedBatches } from '../engine/watches/shared-batches.ts'
import { WatcherStream } from '../engine/watches/watcher-stream.ts'
import type { MirroredEtcd, MirroredPart, PartFollower } from './mirrored.ts'
import { PartSource } from './part-source.ts'
import type { AnsweredRevisions } from './answered-revisions.ts'

export interface WatchAnswersOptions {
  readonly etcd: Omit<MirroredEtcd, 'checkRevision'>
  /** Watches at etcd itself, which may be asked to end when it has lost its leader. */
  readonly elsewhere: (requiresLeader: boolean) => ElsewhereStreams
  readonly answered: AnsweredRevisions
  readonly clock: Clock
  readonly random: Random
  /** Scheduler on which streams that are behind wait for their turn. */
  readonly scheduler: Scheduler
}

export interface OpenOptions {
  readonly requiresLeader: boolean
  /** Bounds the stream's watchers. */
  readonly room?: WatcherRoom | undefined
  /** True for a request whose sender may watch its range; everything may be watched if it is left
   *  out. */
  readonly mayWatch?: ((request: WatchCreateMessage) => boolean) | undefined
}

/** Clusters of Kubernetes let etcd tell progress this often. */
const progressIntervalMs = 5000

/** Streams that ask for a leader are ended when etcd has been lost for so long: as etcd does
 *  after three election timeouts. */
const noLeaderTimeoutMs = 3000

export class WatchAnswers implements PartFollower {
  readonly #options: WatchAnswersOptions
  readonly #streams = new Set<WatcherStream>()
  readonly #shared = new SharedBatches()
  readonly #sources = new Map<MirroredPart, PartSource>()
  /** The parts that are cut off, and when that has lasted for too long. */
  readonly #noLeader = new Map<MirroredPart, CancelTimer>()

  constructor(options: WatchAnswersOptions) {
    this.#options = options
    options.etcd.follow(this)
  }

  /** Open streams. */
  get size(): number {
    return this.#streams.size
  }

  open(
    connection: WatchConnection,
    { requiresLeader, room, mayWatch = () => true }: OpenOptions,
  ): WatcherStream {
    const { clock, random, scheduler } = this.#options
    const elsewhere = this.#options.elsewhere(requiresLeader)
    const stream = new WatcherStream({
      home: new Home(this.#options, {
        elsewhere,
        mayWatch,
        sourceOf: part => this.#sourceOf(part),
      }),
      connection,
      clock,
      random,
      progressIntervalMs,
      requiresLeader,
      shared: this.#shared,
      room,
      lane: scheduler.createLane(),
      closed: closed => this.#streams.delete(closed),
    })
    this.#streams.add(stream)
    return stream
  }

  /** Whether a stream may have watchers of a part. */
  concerns(part: MirroredPart): boolean {
    const source = this.#sourceOf(part)
    return [...this.#streams].some(stream => stream.concerns(source))
  }

  /** Ends all streams. */
  stop(): void {
    for (const cancel of this.#noLeader.values()) cancel()
    for (const stream of this.#streams) stream.end(new EtcdError('stopped'))
  }

  applied(part: MirroredPart, batch: Batch): void {
    const source = this.#sourceOf(part)
    this.#noteSeen()
    if (this.#streams.size === 0) return
    const events = this.#shared.eventsOf(part.told?.(batch) ?? batch)
    for (const stream of this.#streams) stream.applied(source, events)
  }

  progressed(): void {
    this.#noteSeen()
    for (const stream of this.#streams) stream.progressed()
  }

  reset(part: MirroredPart): void {
    const source = this.#sourceOf(part)
    for (const stream of this.#streams) stream.lost(source, source.seen)
    source.beginAnew()
  }

  /** Positions mean nothing in another history. Clients connect again, and are told by etcd what
   *  has become of theirs. */
  epochEnded(part?: MirroredPart): void {
    const source = part && this.#sourceOf(part)
    const what = source === undefined ? 'etcd' : 'watchglass: the resource'
    const failure = new CacheError('source_failed', `${what} has another history: watch again`)
    for (const stream of this.#streams) {
      if (source === undefined || stream.concerns(source)) stream.end(failure)
    }
  }

  stateChanged(part: MirroredPart): void {
    const source = this.#sourceOf(part)
    if (!part.isCutOff) {
      this.#noLeader.get(part)?.()
      this.#noLeader.delete(part)
    } else if (!this.#noLeader.has(part)) {
      const end = (): void => this.#endForLackOfLeader(source)
      this.#noLeader.set(part, this.#options.clock.setTimer(noLeaderTimeoutMs, end))
    }
    for (const stream of this.#streams) stream.sourceChanged(source)
  }

  #endForLackOfLeader(source: PartSource): void {
    for (const stream of this.#streams) {
      if (stream.requiresLeader && stream.concerns(source)) stream.end(new EtcdError('noLeader'))
    }
  }

  /** Notes in all parts that an event in one of them proves that nothing has happened in the
   *  others. */
  #noteSeen(): void {
    for (const source of this.#sources.values()) source.noteSeen()
  }

  #sourceOf(part: MirroredPart): PartSource {
    const known = this.#sources.get(part)
    if (known !== undefined) return known
    const { answered, clock } = this.#options
    const source = new PartSource(part, answered, clock)
    this.#sources.set(part, source)
    return source
  }
}

interface HomeParts {
  readonly elsewhere: ElsewhereStreams
  readonly mayWatch: (request: WatchCreateMessage) => boolean
  readonly sourceOf: (part: MirroredPart) => BatchSource
}

class Home implements WatchHome {
  readonly progressOvertakesEvents = false
  readonly answersProgressLater = true
  readonly elsewhere: ElsewhereStreams
  readonly mayWatch: (request: WatchCreateMessage) => boolean
  readonly #options: WatchAnswersOptions
  readonly #sourceOf: (part: MirroredPart) => BatchSource

  constructor(options: WatchAnswersOptions, { elsewhere, mayWatch, sourceOf }: HomeParts) {
    this.#options = options
    this.elsewhere = elsewhere
    this.mayWatch = mayWatch
    this.#sourceOf = sourceOf
  }

  get revision(): Revision {
    const { etcd, answered } = this.#options
    return Math.max(etcd.revision, answered.revision) as Revision
  }

  header(revision: number): HeaderMessage {
    return this.#options.etcd.header(revision)
  }

  /** A new leader has a new term, too. The next linearizable read tells the one from the other, by
   *  the newest changes that are known; until then the mirror's header keeps the old term. */
  isSameHistory(header: HeaderMessage | undefined): boolean {
    const { etcd } = this.#options
    const { clusterId, raftTerm } = etcd.header(0)
    if (header?.clusterId === clusterId && header.raftTerm === raftTerm) return true
    etcd.lookAgain()
    return false
  }

  sourceOf(range: KeyRange): BatchSource | undefined {
    const part = this.#options.etcd.partOf(range)
    return part && this.#sourceOf(part)
  }
}
