/** The entries and history under one etcd prefix: takes batches in order, gives snapshots and
 *  positions.
 *
 *  Everything is validated before anything changes, the change is made in new nodes that readers do
 *  not see, and the new revision is published last, so a refused batch leaves no trace. Readers
 *  hold snapshots and revisions, never locks. Time is passed in; the caller wakes those that wait
 *  for a revision. */

import { assert, CacheError, type Revision, revision as checkedRevision } from '@watchglass/base'
import { BTree } from './btree.ts'
import { BTreeBuilder } from './btree-builder.ts'
import type { Batch, Change, KeyValue } from './event.ts'
import { History, type HistoryBounds, Step } from './history.ts'
import type { TermsOf } from './index-snapshot.ts'
import { Indexes } from './indexes.ts'
import { PreparedBatch } from './prepared-batch.ts'
import { Snapshot } from './snapshot.ts'

export class Keyspace {
  readonly #bounds: HistoryBounds
  readonly #indexes = new Indexes()
  #latest: Snapshot
  #history: History

  /** Empty, at revision 0. */
  constructor(bounds: HistoryBounds) {
    this.#bounds = bounds
    this.#latest = this.#snapshotOf(checkedRevision(0), BTree.empty())
    this.#history = new History(bounds, this.#latest)
  }

  /** The oldest revision that can be read. */
  get oldest(): Revision {
    return this.#history.oldest
  }

  /** The revision up to which everything is applied. */
  get revision(): Revision {
    return this.#latest.revision
  }

  /** Number of batches in the history. */
  get historyBatches(): number {
    return this.#history.size
  }

  /** For how long a reader that was up to date may pause and still find every batch since;
   *  undefined while the history has dropped none since the last restore. O(1). */
  historyReachMs(nowMs: number): number | undefined {
    return this.#history.reachMs(nowMs)
  }

  /** The size of the history, without what the latest contents hold. */
  get historyBytes(): number {
    return this.#history.bytes
  }

  /** Replaces all contents by `base` at a revision, which may be below the latest: the history and
   *  every index start again. `base` is a tree that was built in slices (`BTreeBuilder`), or
   *  entries in key order. Snapshots that are held stay readable. */
  restore(base: BTree<KeyValue> | Iterable<KeyValue>, revision: Revision): void {
    checkedRevision(revision)
    const tree = base instanceof BTree ? base : treeFromEntries(base)
    this.#indexes.reset()
    this.#latest = this.#snapshotOf(revision, tree)
    this.#history = new History(this.#bounds, this.#latest)
  }

  /** Applies all changes of one revision. Fails with `conflict`, and changes nothing, if they do
   *  not fit the contents: a revision that is not above the latest, a delete of a missing key, an
   *  entry of another revision, two changes of one key (etcd makes none), no changes at all (that
   *  is `advance`). O(log n) for each change. */
  apply(revision: Revision, changes: readonly Change[], nowMs: number): Batch {
    return this.publish(this.prepare(revision, changes), nowMs)
  }

  /** Begins what `apply` does, for many changes: the caller has it worked on in slices
   *  (`PreparedBatch.step`). Readers see nothing of it before `publish`. */
  prepare(revision: Revision, changes: readonly Change[]): PreparedBatch {
    this.#checkFollows(revision, changes)
    return new PreparedBatch({ revision, changes }, this.#latest, this.#indexes.edit())
  }

  /** Completes a batch and makes it the latest. Contents or indexes may have been replaced since it
   *  was begun: then it is made again, at once. */
  publish(prepared: PreparedBatch, nowMs: number): Batch {
    const { revision, changes } = prepared
    if (!prepared.isOf(this.#latest, this.#indexes.edition)) {
      return this.apply(revision, changes, nowMs)
    }
    const { tree, events, bytes } = prepared.finish()
    assert(revision > this.#latest.revision, 'the revision of contents only rises')
    assert(events.length === changes.length, 'a batch is shown whole')
    this.#indexes.take(prepared.indexes)
    this.#latest = this.#snapshotOf(revision, tree)
    const step = new Step(this.#latest, events, nowMs)
    this.#history.append(step, this.#latest, bytes)
    this.#history.trim(nowMs)
    return step
  }

  /** Notes that nothing has changed up to `revision`. Does nothing if it is the latest already;
   *  fails with `conflict` if it is below. O(1). */
  advance(revision: Revision, nowMs: number): void {
    checkedRevision(revision)
    const { revision: latest } = this.#latest
    if (revision < latest) {
      throw new CacheError('conflict', `progress revision ${revision} is below latest ${latest}`)
    }
    this.#history.trim(nowMs)
    if (revision > latest) this.#latest = this.#snapshotOf(revision, this.#latest)
  }

  /** The contents at the latest revision. */
  latest(): Snapshot {
    return this.#latest
  }

  /** The contents at `revision`. Fails with `expired` below the oldest, and with `future_revision`
   *  above the latest. */
  at(revision: Revision): Snapshot {
    checkedRevision(revision)
    const { oldest, revision: latest } = this
    if (revision > latest) {
      throw new CacheError('future_revision', `revision ${revision} is above latest ${latest}`, {
        latest,
      })
    }
    if (revision < oldest) {
      throw new CacheError('expired', `revision ${revision} is below oldest ${oldest}`, { oldest })
    }
    if (revision === latest) return this.#latest
    return this.#history.snapshotAt(revision)
  }

  /** The contents as they were at `atMs`, or the oldest that are kept. */
  before(atMs: number): Snapshot {
    return this.at(this.#history.revisionBefore(atMs))
  }

  /** The batches above `revision`, or `'expired'` if any of them may be missing. A reader is only a
   *  revision, so readers cost nothing here. O(log n), then O(1) for each batch. A walk that pauses
   *  for too long fails with `expired`. */
  since(revision: Revision): Iterable<Batch> | 'expired' {
    return this.#history.since(revision)
  }

  /** The first batch above `revision`; `undefined` when there is none yet; `'expired'` once it may
   *  be missing. O(log n). */
  next(revision: Revision): Batch | 'expired' | undefined {
    return this.#history.next(revision)
  }

  /** Drops the oldest history until its size is at most `bytes`. */
  trimHistory(bytes: number): void {
    this.#history.trimTo(bytes)
  }

  /** Makes `revision` the oldest that can be read, unless it is already; fails for one above the
   *  latest. */
  compact(revision: Revision): void {
    checkedRevision(revision)
    const { revision: latest } = this
    if (revision > latest) {
      throw new CacheError('future_revision', `revision ${revision} is above latest ${latest}`, {
        latest,
      })
    }
    this.#history.compact(revision)
  }

  /** The size of the indexes. */
  get indexBytes(): number {
    return this.#indexes.bytes
  }

  /** Adds an index. It is used after `buildIndexes` has completed it, from the revision of that
   *  moment on. */
  addIndex(name: string, termsOf: TermsOf): void {
    this.#indexes.add(name, termsOf)
  }

  /** Drops an index; snapshots that are held keep it. False if there was none of that name. */
  dropIndex(name: string): boolean {
    const isKnown = this.#indexes.drop(name)
    this.#publishIndexes()
    return isKnown
  }

  /** True when an index is not complete: one that was added, or all after a restore. */
  get isIndexing(): boolean {
    return this.#indexes.isBuilding
  }

  /** True when there is an index of that name, and it is not complete. */
  isIndexBuilding(name: string): boolean {
    return this.#indexes.isBuildingOf(name)
  }

  /** Does a slice of the work on incomplete indexes, at most `maxEntries` entries. True if work is
   *  left. The caller yields between slices; batches may come meanwhile. */
  buildIndexes(maxEntries: number): boolean {
    if (this.#indexes.build(this.#latest, maxEntries)) this.#publishIndexes()
    return this.#indexes.isBuilding
  }

  /** The contents have not changed since the newest batch, so an index of them is valid from there
   *  on. */
  #publishIndexes(): void {
    this.#history.replaceNewest(this.#indexes.trees)
    this.#latest = this.#snapshotOf(this.#latest.revision, this.#latest)
  }

  #snapshotOf(
    revision: Revision,
    { root, height }: Pick<BTree<KeyValue>, 'root' | 'height'>,
  ): Snapshot {
    return new Snapshot({ revision, root, height, indexes: this.#indexes.trees })
  }

  #checkFollows(revision: Revision, changes: readonly Change[]): void {
    checkedRevision(revision)
    if (revision <= this.#latest.revision) {
      throw new CacheError(
        'conflict',
        `batch revision ${revision} is not above latest ${this.#latest.revision}`,
      )
    }
    if (changes.length === 0) {
      throw new CacheError('conflict', `batch revision ${revision} changes nothing`)
    }
  }
}

function treeFromEntries(entries: Iterable<KeyValue>): BTree<KeyValue> {
  const builder = new BTreeBuilder<KeyValue>()
  for (const entry of entries) builder.add(entry)
  return builder.finish()
}
