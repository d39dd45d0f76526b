/** One member of the engine: what it has applied of what the cluster has decided, and everything
 *  that it answers from that.
 *
 *  Members share the store. A member that lags is nothing but a lower revision in it, so any number
 *  of members, as far behind as they like, cost next to nothing. Serializable reads and watches see
 *  what the member has applied; linearizable reads wait until it has applied what the leader had
 *  when they came, and writes until it has applied them. */

import {
  CacheError,
  type Clock,
  type Key,
  type KeyRange,
  type Revision,
  type Steps,
} from '@watchglass/base'
import { type Batch, type KeyValue, Ring } from '@watchglass/store'
import {
  type CompactionMessage,
  type DeleteRangeMessage,
  type DeleteRangeResponseMessage,
  EtcdError,
  type HeaderMessage,
  type HeaderResponseMessage,
  type PutMessage,
  type PutResponseMessage,
  type RangeMessage,
  type RangeResponseMessage,
  type TxnMessage,
  type TxnResponseMessage,
} from '@watchglass/etcd'
import { inOneStep } from './at-once.ts'
import { attempt } from './attempt.ts'
import {
  evaluateRange,
  partialHeader,
  type Transaction,
  type VersionedContents,
  type RangeContents,
} from './kv.ts'
import type { Lane } from './scheduler.ts'
import { evaluateReadOnlyTxn, evaluateTxn } from './txn.ts'
import { checkKey, checkPutRequest, checkTxn, isReadOnly, isSerializable } from './txn-checks.ts'
import type { BatchEvents } from './watches/batch-events.ts'
import type { WatchConnection, WatcherRoom } from './watches/batch-source.ts'
import { WatcherStream, type WatchStreamParts } from './watches/watcher-stream.ts'
import { MemberWatches, type WatchedMember } from './member-watches.ts'

/** Takes an answer, or a failure. */
export type MemberReply<T> = (outcome: T | CacheError) => void

export interface MemberOptions {
  readonly name: string
  readonly id: bigint
  /** Address by which clients reach it. */
  readonly endpoint: string
}

export interface OpenWatchOptions {
  readonly requiresLeader: boolean
  /** Bounds the stream's watchers; there is no bound if it is left out. */
  readonly room?: WatcherRoom | undefined
}

/** The decisions of a cluster, in order: members apply these. */
export type Entry =
  | { readonly type: 'batch'; readonly batch: Batch }
  | { readonly type: 'compaction'; readonly revision: number }
  /** Leases are the cluster's: a member learns only that it may answer. */
  | { readonly type: 'lease' }

/** The cluster as its members see it. */
export interface Cluster {
  readonly clock: Clock
  readonly progressOvertakesEvents: boolean
  readonly revision: Revision
  readonly compactRevision: number
  /** Number of entries that members may apply. */
  readonly index: number
  /** Number of decided entries: those that a journal does not have yet, too. */
  readonly decidedIndex: number
  /** The reason why nothing can be decided now; undefined while all is well. */
  readonly refusal: CacheError | undefined
  readonly oldestBatch: number
  readonly leader: EngineMember
  header(memberId: bigint, revision: number): HeaderMessage
  at(revision: Revision): RangeContents
  batches(from: Revision): Iterable<Batch>
  /** Makes a decision, after those that are under way. */
  decide<T>(steps: Steps<T>, decided: (outcome: T | CacheError) => void): void
  write<T>(evaluate: (transaction: Transaction) => Steps<T>): Steps<T>
  compact(revision: number): void
  /** A member has applied a compaction. */
  compactApplied(): void
  watchParts(): ClusterWatchParts
  /** The events of a batch as watchers are told of them, for all members. */
  eventsOf(batch: Batch): BatchEvents
}

/** Parts of a watch stream that are its cluster's. */
export type ClusterWatchParts = Pick<
  WatchStreamParts,
  'clock' | 'random' | 'lane' | 'shared' | 'progressIntervalMs'
>

/** As long as etcd waits before it tells a client that a request has timed out: 5 s and two
 *  election timeouts. */
const requestTimeoutMs = 7000

/** Streams that ask for a leader are ended after three election timeouts without one. */
const noLeaderTimeoutMs = 3000

export class EngineMember implements VersionedContents, WatchedMember {
  readonly name: string
  readonly id: bigint
  readonly endpoint: string
  readonly #engine: Cluster
  readonly #lane: Lane
  readonly #streams = new Set<WatcherStream>()
  readonly #watches = new MemberWatches(this)
  /** Decided by the cluster, not applied here yet. */
  #pending = new Ring<Entry>()
  #waiting: Waiting[] = []
  #revision: Revision
  #compactRevision: number
  #index: number
  #isIsolated = false
  #header: HeaderMessage | undefined
  #cancelNoLeader: (() => void) | undefined

  constructor(engine: Cluster, options: MemberOptions, lane: Lane) {
    this.name = options.name
    this.id = options.id
    this.endpoint = options.endpoint
    this.#engine = engine
    this.#lane = lane
    this.#revision = engine.revision
    this.#compactRevision = engine.compactRevision
    this.#index = engine.index
  }

  /** Up to which revision batches are applied here. */
  get revision(): Revision {
    return this.#revision
  }

  get compactRevision(): number {
    return this.#compactRevision
  }

  get oldestBatch(): number {
    return this.#engine.oldestBatch
  }

  get progressOvertakesEvents(): boolean {
    return this.#engine.progressOvertakesEvents
  }

  /** Number of decided entries that are not applied here yet. */
  get lag(): number {
    return this.#pending.size
  }

  /** Number of open watch streams. */
  get streams(): number {
    return this.#streams.size
  }

  header(revision: number): HeaderMessage {
    // Most headers are those of the revision that was applied last.
    if (this.#header?.revision !== revision) this.#header = this.#engine.header(this.id, revision)
    return this.#header
  }

  get(key: Key): KeyValue | undefined {
    return this.at(this.#revision).get(key)
  }

  range(range: KeyRange, options: { limit?: number | undefined }): KeyValue[] {
    return this.at(this.#revision).range(range, options)
  }

  count(range: KeyRange): number {
    return this.at(this.#revision).count(range)
  }

  at(revision: Revision): RangeContents {
    return this.#engine.at(revision)
  }

  batches(from: Revision): Iterable<Batch> {
    return this.#engine.batches(from)
  }

  /** Answers a range. */
  readRange(request: RangeMessage, reply: MemberReply<RangeResponseMessage>): void {
    this.#read(request.serializable, reply, () => {
      checkKey(request)
      return evaluateRange(this, request)
    })
  }

  put(request: PutMessage, reply: MemberReply<PutResponseMessage>): void {
    this.#write(
      reply,
      () => checkPutRequest(request),
      transaction =>
        inOneStep(() => {
          // The other way round than in a transaction.
          transaction.checkLease(request)
          transaction.checkEntry(request)
          return transaction.put(request)
        }),
    )
  }

  deleteRange(request: DeleteRangeMessage, reply: MemberReply<DeleteRangeResponseMessage>): void {
    this.#write(
      reply,
      () => checkKey(request),
      transaction => transaction.deleteRange(request),
    )
  }

  txn(request: TxnMessage, reply: MemberReply<TxnResponseMessage>): void {
    if (isReadOnly(request)) {
      this.#read(isSerializable(request), reply, () => {
        checkTxn(request)
        return evaluateReadOnlyTxn(this, request)
      })
    } else {
      this.#write(
        reply,
        () => checkTxn(request),
        transaction => evaluateTxn(transaction, request),
      )
    }
  }

  compact(request: CompactionMessage, reply: MemberReply<HeaderResponseMessage>): void {
    this.decide(reply, () => {
      this.#engine.compact(request.revision)
      return { header: partialHeader(this.#engine.revision) }
    })
  }

  /** Lets the cluster decide something small, and replies once this member has applied it. */
  decide<T extends HeaderResponseMessage>(reply: MemberReply<T>, evaluate: () => T): void {
    this.decideInSteps(reply, inOneStep(evaluate))
  }

  /** Decides a write that may be large, in steps. */
  decideInSteps<T extends HeaderResponseMessage>(reply: MemberReply<T>, steps: Steps<T>): void {
    if (this.#isIsolated) {
      // The proposal never gets through, whatever happens to the member later.
      this.#engine.clock.setTimer(requestTimeoutMs, () => reply(new EtcdError('timeout')))
      return
    }
    const { refusal } = this.#engine
    if (refusal !== undefined) {
      reply(refusal)
      return
    }
    this.#engine.decide(steps, outcome => {
      const { decidedIndex } = this.#engine
      this.#whenApplied(decidedIndex, failure => reply(failure ?? this.#filled(outcome)))
    })
  }

  openWatch(connection: WatchConnection, options: OpenWatchOptions): WatcherStream {
    const stream = new WatcherStream({
      home: this.#watches,
      connection,
      ...this.#engine.watchParts(),
      ...options,
      closed: closed => this.#streams.delete(closed),
    })
    this.#streams.add(stream)
    return stream
  }

  /** Takes what the cluster has decided: at once on the leader, later elsewhere. */
  learn(entry: Entry): void {
    if (this.#engine.leader === this && this.#pending.size === 0) {
      this.#apply(entry)
      return
    }
    this.#pending.push(entry)
    this.#lane.post(() => this.#applyNext())
  }

  /** Another term has begun. */
  termChanged(): void {
    this.#header = undefined
  }

  /** Applies all that is pending, as a member does before it leads. */
  catchUp(): void {
    while (this.#pending.size > 0) this.#applyNext()
  }

  /** Cuts the member off from the others: it applies nothing, decides nothing, and answers
   *  serializable reads only. */
  isolate(): void {
    if (this.#isIsolated) return
    this.#isIsolated = true
    this.#cancelNoLeader = this.#engine.clock.setTimer(noLeaderTimeoutMs, () => {
      for (const stream of this.#streams) {
        if (stream.requiresLeader) stream.end(new EtcdError('noLeader'))
      }
    })
  }

  /** Ends the isolation. What was missed is applied step by step. */
  rejoin(): void {
    if (!this.#isIsolated) return
    this.#isIsolated = false
    this.#cancelNoLeader?.()
    // A read that waited for the leader learns now up to where it has to wait.
    for (const waiting of this.#waiting) {
      if (waiting.index === Infinity) waiting.index = this.#engine.index
    }
    for (let i = 0; i < this.#pending.size; i++) this.#lane.post(() => this.#applyNext())
    this.#wake()
  }

  /** Ends every stream and fails every waiting request, as a restart of the member does. */
  dropConnections(failure: CacheError): void {
    for (const stream of this.#streams) stream.end(failure)
    const waiting = this.#waiting
    this.#waiting = []
    for (const { task } of waiting) task(failure)
  }

  /** Stands where the engine stands, after all contents were replaced. */
  reset(): void {
    this.#header = undefined
    this.#pending = new Ring()
    this.#revision = this.#engine.revision
    this.#compactRevision = this.#engine.compactRevision
    this.#index = this.#engine.index
  }

  #read<T extends HeaderResponseMessage>(
    isSerializable: boolean,
    reply: MemberReply<T>,
    evaluate: () => T,
  ): void {
    if (isSerializable) {
      reply(this.#filled(attempt(evaluate)))
      return
    }
    // An isolated member cannot ask the leader how far it has to be.
    const index = this.#isIsolated ? Infinity : this.#engine.index
    this.#whenApplied(index, failure => {
      reply(failure ?? this.#filled(attempt(evaluate)))
    })
  }

  #write<T extends HeaderResponseMessage>(
    reply: MemberReply<T>,
    check: () => void,
    evaluate: (transaction: Transaction) => Steps<T>,
  ): void {
    const refusal = attempt(check)
    if (refusal instanceof CacheError) {
      reply(refusal)
      return
    }
    this.decideInSteps(reply, this.#engine.write(evaluate))
  }

  /** The answer with this member's header around its revision. */
  #filled<T extends HeaderResponseMessage>(outcome: T | CacheError): T | CacheError {
    if (outcome instanceof CacheError) return outcome
    return { ...outcome, header: this.header(outcome.header?.revision ?? 0) }
  }

  #applyNext(): void {
    if (this.#isIsolated) return
    const entry = this.#pending.shift()
    if (entry !== undefined) this.#apply(entry)
  }

  #apply(entry: Entry): void {
    this.#index++
    if (entry.type === 'compaction') {
      this.#compactRevision = entry.revision
      this.#engine.compactApplied()
    } else if (entry.type === 'batch') {
      this.#revision = entry.batch.revision
      const events = this.#engine.eventsOf(entry.batch)
      for (const stream of this.#streams) stream.applied(this.#watches, events)
    }
    if (this.#waiting.length > 0) this.#wake()
  }

  #wake(): void {
    const due = this.#waiting.filter(({ index }) => index <= this.#index)
    if (due.length === 0) return
    this.#waiting = this.#waiting.filter(({ index }) => index > this.#index)
    for (const { task } of due) task(undefined)
  }

  #whenApplied(index: number, task: (failure: CacheError | undefined) => void): void {
    if (index <= this.#index) {
      task(undefined)
      return
    }
    const cancel = this.#engine.clock.setTimer(requestTimeoutMs, () => {
      this.#waiting = this.#waiting.filter(other => other !== waiting)
      task(new EtcdError('timeout'))
    })
    const waiting: Waiting = {
      index,
      task: failure => {
        cancel()
        task(failure)
      },
    }
    this.#waiting.push(waiting)
  }
}

interface Waiting {
  /** Infinite while the member cannot know it. */
  index: number
  readonly task: (failure: CacheError | undefined) => void
}
