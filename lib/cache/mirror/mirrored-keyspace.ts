/** A keyspace of the store with what the mirror knows about it: its state, its join, and the reads
 *  that wait until it is served. */

import type { Clock, Key, KeyRange, Revision } from '@watchglass/base'
import type { RevisionChanges } from '@watchglass/etcd'
import {
  type Batch,
  BTree,
  type Change,
  type HistoryBounds,
  Keyspace,
  type KeyValue,
  type PreparedBatch,
} from '@watchglass/store'
import { isServed, type KeyspaceEvent, type KeyspaceState, transition } from './state.ts'

/** Why watches and pages of the old contents of a keyspace cannot continue. */
export type ResetReason = 'restored' | 'distrusted' | 'new epoch' | 'dropped'

/** The receiver of batches: the hub. Called synchronously; must not throw. */
export interface MirrorSink {
  /** The keyspace has applied a batch. Each revision comes once, in order, until the next reset. */
  applied(keyspace: string, batch: Batch): void
  /** Keyspaces are complete up to `revision`, without a change. */
  progressed(keyspaces: Iterable<string>, revision: Revision): void
  /** Positions from before this have expired: watches end, and clients list again. */
  reset(keyspace: string, reason: ResetReason): void
  stateChanged(keyspace: string, state: KeyspaceState): void
}

/** Something that waits until the keyspace can be read. */
export interface ServedWaiter {
  readonly isSettled: boolean
  /** The keyspace is served now, or is gone. */
  servedChanged(): void
}

export interface KeyspaceDescription {
  readonly name: string
  /** The range that contains all keys of the keyspace. Some keys in it may belong to other
   *  keyspaces. */
  readonly range: KeyRange
  readonly history: HistoryBounds
}

const pruneMin = 64

export class MirroredKeyspace {
  readonly name: string
  readonly range: KeyRange
  readonly store: Keyspace
  readonly #clock: Clock
  readonly #sink: MirrorSink
  #state: KeyspaceState = 'starting'
  #stateSinceMs: number
  #isServed = false
  #isDropped = false
  #isRestored = false
  #contents = 0
  #waiters: ServedWaiter[] = []
  /** At this many waiters, settled ones are removed. */
  #pruneAt = pruneMin
  /** Events of the stream since a join began, which are not applied yet. */
  #joining: RevisionChanges[] | undefined = undefined
  #joiningChanges = 0

  constructor(description: KeyspaceDescription, clock: Clock, sink: MirrorSink) {
    this.name = description.name
    this.range = description.range
    this.store = new Keyspace(description.history)
    this.#clock = clock
    this.#sink = sink
    this.#stateSinceMs = clock.monotonicMs()
  }

  get state(): KeyspaceState {
    return this.#state
  }

  get stateSinceMs(): number {
    return this.#stateSinceMs
  }

  get isServed(): boolean {
    return this.#isServed
  }

  get isDropped(): boolean {
    return this.#isDropped
  }

  /** True while its contents follow the stream, even if they may not be shown. */
  get isRestored(): boolean {
    return this.#isRestored
  }

  /** Rises whenever all contents are replaced or dropped. */
  get contents(): number {
    return this.#contents
  }

  handle(event: KeyspaceEvent): void {
    this.enter(transition(this.#state, event))
  }

  /** Takes over a state: that of the keyspace of which this one is a copy. */
  enter(next: KeyspaceState): void {
    if (next === this.#state) return
    const wasServed = this.#isServed
    this.#state = next
    this.#isServed = isServed(next)
    this.#stateSinceMs = this.#clock.monotonicMs()
    this.#sink.stateChanged(this.name, next)
    if (this.#isServed && !wasServed) this.#wakeWaiters()
  }

  /** Adds a waiter, which is woken when the keyspace is served or removed. */
  whenServed(waiter: ServedWaiter): void {
    this.#waiters.push(waiter)
    if (this.#waiters.length < this.#pruneAt) return
    this.#waiters = this.#waiters.filter(other => !other.isSettled)
    this.#pruneAt = Math.max(pruneMin, this.#waiters.length * 2)
  }

  /** Replaces the contents and history. */
  restore(tree: BTree<KeyValue>, revision: Revision): void {
    const isAgain = this.#isRestored
    this.store.restore(tree, revision)
    this.#isRestored = true
    this.#contents++
    this.stopJoining()
    if (isAgain) this.#sink.reset(this.name, 'restored')
  }

  /** Drops all contents: they are not trusted, or must not be served any more. */
  clear(reason: ResetReason): void {
    const hadContents = this.#isRestored
    this.#isRestored = false
    this.#contents++
    this.store.restore(BTree.empty(), 0 as Revision)
    this.stopJoining()
    // Whoever follows may hold something also of a dropped one that is empty.
    if (hadContents || this.#isDropped) this.#sink.reset(this.name, reason)
  }

  drop(): void {
    this.#isDropped = true
    this.clear('dropped')
    this.#wakeWaiters()
  }

  /** Begins to apply the changes of one revision, in slices of the caller. Nothing is to be done
   *  where `apply` would not apply them. Fails as that does. */
  prepare(revision: Revision, changes: readonly Change[]): PreparedBatch | undefined {
    if (this.isJoining || !this.#isRestored || revision <= this.store.revision) return undefined
    return this.store.prepare(revision, changes)
  }

  /** Applies the changes of one revision to this keyspace, as they were prepared, unless its
   *  contents include them already. Fails with `conflict` if they do not fit the contents. */
  apply(revision: Revision, changes: readonly Change[], prepared?: PreparedBatch): void {
    if (this.#joining !== undefined) {
      this.#joining.push({ revision, changes })
      this.#joiningChanges += changes.length
      return
    }
    if (!this.#isRestored || revision <= this.store.revision) return
    const nowMs = this.#clock.monotonicMs()
    const made = prepared ?? this.store.prepare(revision, changes)
    this.#sink.applied(this.name, this.store.publish(made, nowMs))
  }

  /** Starts to keep the stream's changes, for `finishJoining`. Returns an id of this join. */
  startJoining(): object {
    this.#joining = []
    this.#joiningChanges = 0
    return this.#joining
  }

  /** Ends that join, or any, without contents. */
  stopJoining(join: object | undefined = this.#joining): void {
    if (join !== this.#joining) return
    this.#joining = undefined
    this.#joiningChanges = 0
  }

  get isJoining(): boolean {
    return this.#joining !== undefined
  }

  /** True if that join is still running. */
  isInJoin(join: object): boolean {
    return this.#joining === join
  }

  get joiningChanges(): number {
    return this.#joiningChanges
  }

  /** Takes contents that were read at `revision`, and then applies, in order, the stream's changes
   *  above it. */
  finishJoining(tree: BTree<KeyValue>, revision: Revision): void {
    const kept = this.#joining ?? []
    this.restore(tree, revision)
    for (const batch of kept) this.apply(batch.revision, batch.changes)
  }

  /** The revision up to which nothing is missing, by the progress of its stream. A keyspace that
   *  was joined may be ahead of that. */
  proven({ revision }: { readonly revision: Revision }): Revision {
    return this.store.revision > revision ? this.store.revision : revision
  }

  /** Nothing is missing up to `revision`. */
  advance(revision: Revision): void {
    if (this.#isRestored && revision > this.store.revision) {
      this.store.advance(revision, this.#clock.monotonicMs())
    }
  }

  #wakeWaiters(): void {
    const waiters = this.#waiters
    this.#waiters = []
    for (const waiter of waiters) if (!waiter.isSettled) waiter.servedChanged()
  }
}

/** The keys of a feed's keyspaces: which keyspace a key belongs to, if any. */
export type KeyspaceOf = (key: Key) => string | undefined
