/** The embedded engine: etcd's semantics in memory, in one process, on the store. For trying
 *  Watchglass, for tests, simulations and load tests; no replacement for etcd. State that is to
 *  outlast the process goes to a journal (journal.ts) before anybody sees it.
 *
 *  The engine is what a cluster has decided: contents with their history, leases, the compacted
 *  revision. Its members answer clients from what they have applied of that (member.ts). Everything
 *  is synchronous, but for transactions of more than a thousand changes, which are made in steps
 *  while others are answered; time, chance and the order of messages come from outside, so that a
 *  seed replays everything. */

import {
  allKeys,
  atOnce,
  CacheError,
  type Clock,
  type Key,
  nextRevision,
  type Random,
  randomInt,
  revision,
  type Revision,
  type Steps,
} from '@watchglass/base'
import {
  type Batch,
  type Change,
  type Event,
  type KeyValue,
  noLease,
  type PreparedBatch,
  Ring,
  type Snapshot,
} from '@watchglass/store'
import {
  EtcdError,
  type HeaderMessage,
  type OwnRevision,
  type RevisionChanges,
} from '@watchglass/etcd'
import { changesAtOnce } from './at-once.ts'
import { attempt } from './attempt.ts'
import { EntryMaker } from './entry-maker.ts'
import {
  createContents,
  type EngineDecision,
  type Journal,
  type RecoveredState,
} from './journal.ts'
import { Transaction, type VersionedContents } from './kv.ts'
import { type EngineLease, Lessor } from './lease.ts'
import {
  type Cluster,
  type ClusterWatchParts,
  type Entry,
  EngineMember,
  type MemberOptions,
} from './member.ts'
import type { Lane, Scheduler } from './scheduler.ts'
import type { BatchEvents } from './watches/batch-events.ts'
import { SharedBatches } from './watches/shared-batches.ts'

export interface EngineOptions {
  readonly clock: Clock
  readonly random: Random
  readonly scheduler: Scheduler
  /** One member by default; the first one leads. */
  readonly members?: readonly Partial<MemberOptions>[] | undefined
  readonly clusterId?: bigint | undefined
  /** The version that `status` reports. */
  readonly version?: string | undefined
  /** Interval of progress for watchers that ask for it: 10 minutes by default, as in
   *  etcd. */
  readonly progressIntervalMs?: number | undefined
  /** When the history weighs more, its older half is compacted, as etcd's automatic compaction
   *  would; unbounded by default. */
  readonly historyMaxBytes?: number | undefined
  /** The history is compacted each time that so long has passed, to where it was the time before:
   *  as kube-apiserver does it, every five minutes. Unbounded by default. */
  readonly historyMinAgeMs?: number | undefined
  /** Progress answers overtake events, as in etcd before 3.4.25 and 3.5.8: for simulations. */
  readonly progressOvertakesEvents?: boolean | undefined
  /** Record of the revision. An engine that has this is never restored. */
  readonly ownRevision?: OwnRevision | undefined
  /** State that a journal has kept; it names the cluster and its only member. */
  readonly recovered?: RecoveredState | undefined
}

/** A copy of everything the engine holds at one revision. It shares all entries with the engine. */
export interface Backup {
  readonly base: Snapshot
  readonly batches: readonly Batch[]
  readonly compactRevision: number
  readonly oldestBatch: number
  readonly leases: readonly Pick<EngineLease, 'id' | 'ttlSeconds' | 'expiresAtMs'>[]
}

/** The version of etcd whose behaviour this is. */
const embeddedVersion = '3.5.30'

const defaultProgressIntervalMs = 600_000

/** etcd begins at this revision. */
const firstRevision = revision(1)

export class Engine implements Cluster {
  readonly clock: Clock
  readonly members: readonly EngineMember[]
  readonly version: string
  /** See the option; a simulation may switch it. */
  progressOvertakesEvents: boolean
  readonly #options: EngineOptions
  readonly #lessor: Lessor
  readonly #maker = new EntryMaker()
  readonly #shared = new SharedBatches()
  #keyspace = createContents()
  #journal: Journal | undefined = undefined
  #clusterId: bigint
  #raftTerm = 2n
  #leader: EngineMember
  /** Number of entries that members were told of. */
  #index = 0
  /** The decision that is under way, and those after it: each does a step, and is true with the
   *  last. */
  #underWay: (() => boolean) | undefined = undefined
  readonly #line = new Ring<() => boolean>()
  #lane: Lane | undefined = undefined
  /** Number of decided entries: more, while some are on their way to the journal. */
  #decidedIndex = 0
  #compactRevision = -1
  #oldestBatch = 0
  #contentBytes = 0
  /** The revision of the last time at which the history was looked at because of its age. */
  #aging: { readonly revision: Revision; readonly atMs: number }

  constructor(options: EngineOptions) {
    this.#options = options
    this.clock = options.clock
    this.version = options.version ?? embeddedVersion
    this.progressOvertakesEvents = options.progressOvertakesEvents ?? false
    const { recovered } = options
    this.#clusterId = recovered?.clusterId ?? options.clusterId ?? this.#newId()
    this.#lessor = new Lessor(options.clock, options.random, lease =>
      this.decide(this.#endIfDue(lease), () => {}),
    )
    if (recovered === undefined) this.#keyspace.restore([], firstRevision)
    else this.#recover(recovered)
    this.ownRevision?.set(this.revision)
    this.#aging = { revision: this.revision, atMs: this.clock.monotonicMs() }
    this.members = (options.members ?? [{}]).map(
      ({ name, id, endpoint }, i) =>
        new EngineMember(
          this,
          {
            name: name ?? `embedded${i}`,
            id: id ?? recovered?.memberId ?? this.#newId(),
            endpoint: endpoint ?? `engine:${i}`,
          },
          options.scheduler.createLane(),
        ),
    )
    const [leader] = this.members
    if (leader === undefined) throw new CacheError('invalid_request', 'an engine without members')
    this.#leader = leader
  }

  /** Up to which revision the cluster has decided. */
  get revision(): Revision {
    return this.#keyspace.revision
  }

  get ownRevision(): OwnRevision | undefined {
    return this.#options.ownRevision
  }

  /** Below it nothing can be read; -1 before the first compaction, as in etcd. */
  get compactRevision(): number {
    return this.#compactRevision
  }

  /** The first revision whose batch may still be there: contents that were loaded come without
   *  their past. */
  get oldestBatch(): number {
    return this.#oldestBatch
  }

  /** Number of entries that members may apply: all that were decided and are in the journal. */
  get index(): number {
    return this.#index
  }

  get decidedIndex(): number {
    return this.#decidedIndex
  }

  /** The reason why nothing can be decided now. */
  get refusal(): CacheError | undefined {
    return this.#journal?.refusal
  }

  get leader(): EngineMember {
    return this.#leader
  }

  get clusterId(): bigint {
    return this.#clusterId
  }

  get raftTerm(): bigint {
    return this.#raftTerm
  }

  get lessor(): Lessor {
    return this.#lessor
  }

  /** Size of keys and values, without their past. */
  get contentBytes(): number {
    return this.#contentBytes
  }

  /** Size of keys, values and their past. */
  get bytes(): number {
    return this.#contentBytes + this.#keyspace.historyBytes
  }

  header(memberId: bigint, revision: number): HeaderMessage {
    return { clusterId: this.#clusterId, memberId, revision, raftTerm: this.#raftTerm }
  }

  /** The contents at a revision that has not been compacted by all members. */
  at(revision: Revision): Snapshot {
    return this.#keyspace.at(revision)
  }

  /** The batches from a revision on; `from` is neither below `oldestBatch` nor compacted. */
  batches(from: Revision): Iterable<Batch> {
    const after = revision(Math.max(from - 1, this.#keyspace.oldest))
    const batches = this.#keyspace.since(after)
    return batches === 'expired' ? [] : batches
  }

  /** Parts that every watch stream needs. */
  watchParts(): ClusterWatchParts {
    const { clock, random, scheduler, progressIntervalMs } = this.#options
    return {
      clock,
      random,
      lane: scheduler.createLane(),
      shared: this.#shared,
      progressIntervalMs: progressIntervalMs ?? defaultProgressIntervalMs,
    }
  }

  eventsOf(batch: Batch): BatchEvents {
    return this.#shared.eventsOf(batch)
  }

  /** From now on everything that is decided goes to this journal first. It must have what there
   *  is already. */
  keepIn(journal: Journal): void {
    this.#journal = journal
  }

  /** Makes a decision: at once if it has one step and none is under way, else in turns of the
   *  scheduler. `decided` learns its outcome. */
  decide<T>(steps: Steps<T>, decided: (outcome: T | CacheError) => void): void {
    const doStep = (): boolean => {
      const outcome = attempt(() => steps.next())
      if (outcome instanceof CacheError) decided(outcome)
      else if (outcome.done === true) decided(outcome.value)
      else return false
      return true
    }
    if (this.#underWay !== undefined) this.#line.push(doStep)
    else if (!doStep()) {
      this.#underWay = doStep
      this.#postStep()
    }
  }

  /** The steps of a write: what `evaluate` has gathered becomes the next revision, if it is
   *  anything. */
  write<T>(evaluate: (transaction: Transaction) => Steps<T>): Steps<T> {
    return this.#write(evaluate, noLease)
  }

  /** Makes `at` the oldest revision that can be read. */
  compact(at: number): void {
    if (at <= this.#compactRevision) {
      throw new EtcdError('compacted', { oldest: this.#compactRevision })
    }
    if (at > this.revision) throw new EtcdError('futureRevision', { latest: this.revision })
    this.#compactRevision = at
    const compaction = { type: 'compaction', revision: at } as const
    this.#decided(compaction, compaction)
  }

  /** Lets go of what no member can be asked for any more. The batch of the compacted revision
   *  itself is kept: a watch may begin there. */
  compactApplied(): void {
    const floor = Math.min(...this.members.map(({ compactRevision }) => compactRevision)) - 1
    if (floor > this.#keyspace.oldest) this.#keyspace.compact(revision(floor))
  }

  /** Grants a lease; an id of 0 lets us choose one. */
  grantLease(id: bigint, ttlSeconds: number): EngineLease {
    const lease = this.#lessor.grant(id, ttlSeconds)
    this.#noteLease({ type: 'lease', id: lease.id, ttlSeconds: lease.ttlSeconds })
    return lease
  }

  /** Makes a lease live for its whole time again; undefined when there is none. */
  renewLease(id: bigint): EngineLease | undefined {
    const lease = this.#lessor.renew(id)
    if (lease !== undefined) this.#noteLease({ type: 'lease', id, ttlSeconds: lease.ttlSeconds })
    return lease
  }

  /** Ends a lease and deletes its keys, in order, at one revision. */
  *revokeLease(id: bigint): Steps<undefined> {
    const lease = this.#lessor.get(id)
    if (lease === undefined) throw new EtcdError('leaseNotFound')
    return yield* this.#end(lease)
  }

  /** Makes another member lead, in a new term. */
  elect(member: EngineMember): void {
    member.catchUp()
    this.#leader = member
    this.#raftTerm++
    for (const other of this.members) other.termChanged()
  }

  /** Loads contents, in key order, at a revision, into an engine that nobody has written to. What
   *  was before is not known then, as after a compaction. */
  loadBase(revision: Revision, entries: Iterable<KeyValue>): void {
    if (this.revision !== firstRevision) {
      throw new CacheError('conflict', `the engine is at revision ${this.revision} already`)
    }
    this.#restoreBase(entries, revision)
    for (const member of this.members) member.reset()
  }

  /** Loads what happened at a revision, every field as it was recorded. */
  loadBatch({ revision, changes }: RevisionChanges): void {
    atOnce(this.#append(revision, changes))
    this.#boundHistory()
  }

  /** A copy of everything, as an etcd snapshot file is. */
  backup(): Backup {
    const { oldest } = this.#keyspace
    return {
      base: this.#keyspace.at(oldest),
      batches: [...this.batches(nextRevision(oldest))],
      compactRevision: this.#compactRevision,
      oldestBatch: this.#oldestBatch,
      leases: this.#lessor.all(),
    }
  }

  /** Replaces everything by a backup: revisions go back. Every connection is lost, and the cluster
   *  gets a new id, unless told to keep the old one. */
  restore(backup: Backup, options: { keepClusterId?: boolean } = {}): void {
    while (this.#underWay !== undefined) this.#step()
    if (options.keepClusterId !== true) this.#clusterId = this.#newId()
    this.#lessor.clear()
    for (const { id, ttlSeconds } of backup.leases) this.#lessor.grant(id, ttlSeconds)
    this.#keyspace = createContents()
    this.#restoreBase(backup.base.iterate(allKeys), backup.base.revision)
    this.#oldestBatch = backup.oldestBatch
    this.#compactRevision = backup.compactRevision
    for (const { revision, events } of backup.batches) {
      this.#publish(this.#keyspace.prepare(revision, events.map(changeOf)))
    }
    for (const entry of this.#keyspace.latest().iterate(allKeys)) {
      this.#lessor.attach(entry.lease, entry.key)
    }
    this.#raftTerm++
    for (const member of this.members) {
      member.reset()
      member.dropConnections(new CacheError('source_failed', 'the cluster was restored'))
    }
  }

  /** Ends all leases' timers and all streams. */
  close(): void {
    this.#lessor.clear()
    for (const member of this.members) member.dropConnections(new EtcdError('stopped'))
  }

  #transaction(): Transaction {
    const view: VersionedContents = this.#leader
    return new Transaction(view, {
      snapshot: this.#keyspace.latest(),
      lessor: this.#lessor,
      maker: this.#maker,
    })
  }

  #postStep(): void {
    this.#lane ??= this.#options.scheduler.createLane()
    this.#lane.post(() => {
      this.#step()
      if (this.#underWay !== undefined) this.#postStep()
    })
  }

  #step(): void {
    if (this.#underWay?.() === true) this.#underWay = this.#line.shift()
  }

  *#write<T>(evaluate: (transaction: Transaction) => Steps<T>, endedLease: bigint): Steps<T> {
    const transaction = this.#transaction()
    const response = yield* evaluate(transaction)
    if (transaction.changes.length > 0) {
      yield* this.#append(nextRevision(this.revision), transaction.changes, endedLease)
      this.#boundHistory()
    } else if (endedLease !== noLease) {
      this.#noteLease({ type: 'lease-end', id: endedLease })
    }
    return response
  }

  /** Nothing of it is seen before the last step. */
  *#append(revision: Revision, changes: readonly Change[], endedLease = noLease): Steps<undefined> {
    const decision: EngineDecision = { type: 'batch', revision, changes, endedLease }
    const prepared = this.#keyspace.prepare(revision, changes)
    while (prepared.step(changesAtOnce)) yield
    const isLarge = changes.length > changesAtOnce
    const bytes = isLarge && this.#journal ? yield* this.#journal.encode(decision) : undefined
    this.#decided({ type: 'batch', batch: this.#publish(prepared) }, decision, bytes)
    return undefined
  }

  #publish(prepared: PreparedBatch): Batch {
    const batch = this.#keyspace.publish(prepared, this.clock.monotonicMs())
    for (const event of batch.events) this.#contentBytes += growthOf(event)
    return batch
  }

  /** Members learn of an entry when the journal has it: nobody sees what a restart could undo. */
  #decided(entry: Entry, decision: EngineDecision, bytes?: Uint8Array): void {
    this.#decidedIndex++
    if (this.#journal === undefined) this.#tellMembers(entry)
    else this.#journal.append(decision, () => this.#tellMembers(entry), bytes)
  }

  #tellMembers(entry: Entry): void {
    this.#index++
    if (entry.type === 'batch') this.ownRevision?.set(entry.batch.revision)
    for (const member of this.members) member.learn(entry)
  }

  /** In memory only, nobody has to wait for a lease. */
  #noteLease(decision: EngineDecision): void {
    if (this.#journal !== undefined) this.#decided({ type: 'lease' }, decision)
  }

  /** Ends a lease whose time is over. It may have been kept alive while others decided. */
  *#endIfDue(lease: EngineLease): Steps<undefined> {
    if (this.#lessor.get(lease.id) !== lease) return undefined
    if (lease.expiresAtMs > this.clock.monotonicMs()) this.#lessor.wait(lease)
    else yield* this.#end(lease)
    return undefined
  }

  *#end(lease: EngineLease): Steps<undefined> {
    this.#lessor.remove(lease.id)
    const keys = [...lease.keys].sort()
    return yield* this.#write(transaction => deleteKeys(transaction, keys), lease.id)
  }

  #recover({ contents, raftTerm, compactRevision, oldestBatch, leases }: RecoveredState): void {
    this.#keyspace = contents
    this.#raftTerm = raftTerm + 1n
    this.#compactRevision = compactRevision
    this.#oldestBatch = oldestBatch
    for (const lease of leases) this.#lessor.recover(lease)
    for (const entry of contents.latest().iterate(allKeys)) {
      this.#contentBytes += weightOf(entry)
      if (entry.lease !== noLease) this.#lessor.attach(entry.lease, entry.key)
    }
  }

  #boundHistory(): void {
    this.#compactAged()
    const { historyMaxBytes } = this.#options
    if (historyMaxBytes === undefined || this.#keyspace.historyBytes <= historyMaxBytes) return
    const middle = Math.floor((this.#keyspace.oldest + this.revision) / 2)
    if (middle > this.#compactRevision) this.compact(middle)
  }

  #compactAged(): void {
    const { historyMinAgeMs = Infinity } = this.#options
    const nowMs = this.clock.monotonicMs()
    const { revision: before, atMs } = this.#aging
    if (nowMs - atMs < historyMinAgeMs) return
    this.#aging = { revision: this.revision, atMs: nowMs }
    if (before > this.#compactRevision && before <= this.revision) this.compact(before)
  }

  #restoreBase(entries: Iterable<KeyValue>, at: Revision): void {
    this.#keyspace.restore(entries, at)
    this.ownRevision?.set(at)
    this.#oldestBatch = at + 1
    this.#contentBytes = 0
    for (const entry of this.#keyspace.latest().iterate(allKeys)) {
      this.#contentBytes += weightOf(entry)
    }
  }

  #newId(): bigint {
    const part = (): bigint => BigInt(randomInt(this.#options.random, 1, 0xffff_ffff))
    return (part() << 32n) | part()
  }
}

function changeOf({ key, after }: Event): Change {
  return after === undefined ? { type: 'delete', key } : { type: 'put', entry: after }
}

function growthOf({ before, after }: Event): number {
  return weightOf(after) - weightOf(before)
}

function weightOf(entry: KeyValue | undefined): number {
  return entry === undefined ? 0 : entry.key.length + entry.valueLength
}

function* deleteKeys(transaction: Transaction, keys: readonly Key[]): Steps<undefined> {
  const entries = keys.map(key => transaction.get(key)).filter(entry => entry !== undefined)
  return yield* transaction.deleteAll(entries)
}
