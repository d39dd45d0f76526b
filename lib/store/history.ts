/** A bounded window of batches, oldest first. It answers which batches came after revision n and
 *  what the contents were at revision n, or that n is no longer in the window.
 *
 *  ```
 *  step | step | step | step | step | step | latest      a step is a batch
 *     kept           kept                  newest        snapshots
 *             at  ->|
 *  ```
 *
 *  It keeps a snapshot every few changes. The contents at any other revision are made from the next
 *  snapshot after it by undoing the changes in between, which takes 20 to 150 microseconds. With a
 *  snapshot for every batch, the copied nodes would be most of what a change leaves on the heap,
 *  and most of the collector's work, although almost none of these revisions is ever read
 *  (lib/ARCHITECTURE.md).
 *
 *  Revisions rise but are not contiguous. The history holds references, never copies, and does not
 *  know its readers: a reader is only a revision. An old step is dropped without reading it,
 *  because it is no longer in any processor cache. `Keyspace` checks the order. */

import { assert, CacheError, type Revision } from '@watchglass/base'
import { TreeEdit } from './btree-edit.ts'
import type { BTree } from './btree.ts'
import type { Batch, Event, KeyValue } from './event.ts'
import type { IndexTrees } from './index-snapshot.ts'
import { Ring } from './ring.ts'
import { Snapshot, type SnapshotParts } from './snapshot.ts'

/** The bounds of the window. The oldest batches are dropped as soon as one is exceeded. */
export interface HistoryBounds {
  readonly maxBatches: number
  readonly maxAgeMs: number
  /** Bytes that only the history keeps alive: see `bytesOf`. A large batch may exceed it. */
  readonly maxBytes: number
}

/** The indexes that were complete at a revision, with their contents at that revision. */
type IndexesAt = Pick<SnapshotParts, 'revision' | 'indexes'>

/** The revision before the first step, and when it came: unknown before a step has been dropped. */
interface Base extends IndexesAt {
  readonly appliedAtMs?: number | undefined
}

/** A batch, and the indexes after it. Most changes do not change the indexes, so keeping them costs
 *  nothing. */
export class Step implements Batch {
  readonly revision: Revision
  readonly #events: Event | readonly Event[]
  readonly appliedAtMs: number
  readonly indexes: IndexTrees

  constructor({ revision, indexes }: IndexesAt, events: readonly Event[], appliedAtMs: number) {
    this.revision = revision
    this.#events = events.length === 1 ? events[0]! : events
    this.appliedAtMs = appliedAtMs
    this.indexes = indexes
  }

  /** Most batches have one event: it is kept without an array. */
  get events(): readonly Event[] {
    return 'length' in this.#events ? this.#events : [this.#events]
  }
}

/** The contents before the step of a number. Steps are counted from the start of the history. */
interface Kept {
  readonly before: number
  readonly tree: BTree<KeyValue>
}

/** At most this many changes, or one batch, are between two snapshots. With 512 a change leaves 200
 *  bytes less on the heap, and reading at an old revision takes a millisecond. */
const changesBetween = 32

/** A batch of more than this part of the bytes is large: a transaction that deletes tens of
 *  thousands of objects. Its values were all held until then, so that to hold them a little longer
 *  takes no more memory than there was; without it all who watch would have to list again. */
const largeShare = 8
/** For so long such a batch may be kept beyond the bound, up to twice the bound. */
const largeLeastMs = 30_000

export class History {
  readonly #bounds: HistoryBounds
  readonly #steps = new Ring<Step>()
  /** The size of each step. */
  readonly #weights = new Ring<number>()
  /** The snapshots that are kept, except for the newest. */
  readonly #kept = new Ring<Kept>()
  /** The snapshot after the last step. */
  #newest: BTree<KeyValue>
  /** Number of changes since the last kept snapshot. */
  #changes = 0
  /** The revision before the first step. */
  #base: Base
  #compacted: Revision
  #bytes = 0
  /** No step is too old before this time. */
  #youngUntilMs = -Infinity
  /** Number of dropped batches, which is the number of the first step. */
  #shifted = 0
  /** The number of the step after the one that `next` gave last. */
  #following = 0

  constructor(bounds: HistoryBounds, base: Snapshot) {
    this.#bounds = bounds
    const { revision, indexes } = base
    this.#newest = base
    this.#base = { revision, indexes }
    this.#compacted = revision
  }

  /** The oldest revision that can be read; every batch above it is held. */
  get oldest(): Revision {
    const { revision } = this.#base
    return revision > this.#compacted ? revision : this.#compacted
  }

  /** For how long whoever was up to date may have read nothing, and still finds every batch since;
   *  undefined while no batch has been dropped or compacted. After a compaction within what the
   *  batches cover it is a lower bound: when the compacted revision was the latest is not known. */
  reachMs(nowMs: number): number | undefined {
    const { revision, appliedAtMs } = this.#base
    if (this.#compacted > revision) return nowMs - (this.#steps.first?.appliedAtMs ?? nowMs)
    return appliedAtMs === undefined ? undefined : nowMs - appliedAtMs
  }

  /** Number of batches held. */
  get size(): number {
    return this.#steps.size
  }

  /** The size of the batches: see `bytesOf`. */
  get bytes(): number {
    return this.#bytes
  }

  /** Adds the next batch with its size (`bytesOf`), and the snapshot after it. */
  append(step: Step, left: BTree<KeyValue>, bytes: number): void {
    const { events } = step
    const { last = this.#base } = this.#steps
    assert(step.revision > last.revision, 'revisions only rise')
    if (this.#changes + events.length > changesBetween) {
      this.#kept.push({ before: this.#shifted + this.#steps.size, tree: this.#newest })
      this.#changes = 0
    }
    this.#changes += events.length
    this.#newest = left
    this.#steps.push(step)
    this.#weights.push(bytes)
    this.#bytes += bytes
  }

  /** Replaces the indexes of the newest contents. */
  replaceNewest(indexes: IndexTrees): void {
    const { last } = this.#steps
    if (last === undefined) {
      const { revision, appliedAtMs } = this.#base
      this.#base = { revision, indexes, appliedAtMs }
    } else {
      const { revision, events, appliedAtMs } = last
      this.#steps.replaceLast(new Step({ revision, indexes }, events, appliedAtMs))
    }
  }

  /** Drops the batches that exceed the bounds at `nowMs`. */
  trim(nowMs: number): void {
    const { maxBatches, maxBytes } = this.#bounds
    for (let first = this.#steps.first; first !== undefined; first = this.#steps.first) {
      const isTooMuch = this.#bytes > maxBytes && !this.#isAwaited(first, nowMs)
      const isOver = this.#steps.size > maxBatches || isTooMuch
      if (!isOver && !this.#isTooOld(first, nowMs)) return
      this.#shift(first)
    }
  }

  /** Whether it is a large batch that all who watch may be on their way through. */
  #isAwaited(first: Step, nowMs: number): boolean {
    const { maxBytes } = this.#bounds
    // An ordinary step is dropped without reading it.
    const isLarge = (this.#weights.first ?? 0) > maxBytes / largeShare
    return isLarge && this.#bytes <= 2 * maxBytes && nowMs < first.appliedAtMs + largeLeastMs
  }

  #isTooOld(first: Step, nowMs: number): boolean {
    if (nowMs <= this.#youngUntilMs) return false
    this.#youngUntilMs = first.appliedAtMs + this.#bounds.maxAgeMs
    return nowMs > this.#youngUntilMs
  }

  /** Drops the oldest batches until at most `bytes` are left. */
  trimTo(bytes: number): void {
    for (let first = this.#steps.first; first !== undefined; first = this.#steps.first) {
      if (this.#bytes <= bytes) return
      this.#shift(first)
    }
  }

  /** Makes `revision`, which is not above the latest, the oldest that can be read. Does nothing
   *  when it is not above it. */
  compact(revision: Revision): void {
    if (revision <= this.oldest) return
    for (let first = this.#steps.first; first !== undefined; first = this.#steps.first) {
      if (first.revision > revision) break
      this.#shift(first)
    }
    this.#compacted = revision
  }

  /** The newest revision that was applied before `atMs`, or the oldest that can be read. O(log
   *  n). */
  revisionBefore(atMs: number): Revision {
    const index = indexOfFirst(this.#steps, ({ appliedAtMs }) => appliedAtMs >= atMs)
    const { revision } = this.#steps.at(index - 1) ?? this.#base
    return revision > this.oldest ? revision : this.oldest
  }

  /** The contents at `revision`, which is not below the oldest. O(log n) for each change that is
   *  undone. */
  snapshotAt(revision: Revision): Snapshot {
    const after = this.#indexAfter(revision)
    const { root, height } = this.#treeBefore(this.#shifted + after)
    const { indexes } = this.#steps.at(after - 1) ?? this.#base
    return new Snapshot({ revision, root, height, indexes })
  }

  /** The contents before the step of that number. */
  #treeBefore(step: number): BTree<KeyValue> {
    const end = this.#shifted + this.#steps.size
    const next = this.#keptFrom(step) ?? { before: end, tree: this.#newest }
    if (next.before === step) return next.tree
    const edit = new TreeEdit(next.tree)
    for (let i = next.before - 1; i >= step; i--) undo(edit, this.#steps.at(i - this.#shifted)!)
    return edit.tree()
  }

  /** The first kept snapshot at or after the step of that number. O(log n). */
  #keptFrom(step: number): Kept | undefined {
    return this.#kept.at(indexOfFirst(this.#kept, ({ before }) => before >= step))
  }

  /** The first batch above `revision`; `undefined` when there is none yet; `'expired'` once it may
   *  be missing. O(1) after the batch that was given before, as for whoever catches up; O(log n)
   *  otherwise. */
  next(revision: Revision): Batch | 'expired' | undefined {
    if (revision < this.oldest) return 'expired'
    let at = this.#following - this.#shifted
    const before = this.#steps.at(at - 1)
    const after = this.#steps.at(at)
    const isThere = before !== undefined && after !== undefined
    if (!isThere || before.revision > revision || after.revision <= revision) {
      at = this.#indexAfter(revision)
    }
    this.#following = this.#shifted + at + 1
    return this.#steps.at(at)
  }

  /** The batches above `revision`, including those that arrive meanwhile, or `'expired'` if any of
   *  them may be missing. O(log n), then O(1) for each batch. A walk that pauses for too long fails
   *  with `expired`; it never skips a batch. */
  since(revision: Revision): Iterable<Batch> | 'expired' {
    if (revision < this.oldest) return 'expired'
    return this.#walk(this.#shifted + this.#indexAfter(revision))
  }

  *#walk(first: number): Generator<Batch, void, undefined> {
    for (let i = first; ; i++) {
      if (i < this.#shifted) {
        const { oldest } = this
        throw new CacheError('expired', `history has moved on to revision ${oldest}`, { oldest })
      }
      const batch = this.#steps.at(i - this.#shifted)
      if (batch === undefined) return
      yield batch
    }
  }

  #shift(first: Step): void {
    // The step itself is not read.
    if (this.#kept.first?.before === this.#shifted) this.#kept.shift()
    this.#steps.shift()
    this.#shifted++
    this.#base = first
    const weight = this.#weights.shift()
    assert(weight !== undefined && weight <= this.#bytes, 'a step is dropped once')
    this.#bytes -= weight
  }

  /** The index of the first batch above `revision`. O(log n). */
  #indexAfter(revision: Revision): number {
    return indexOfFirst(this.#steps, step => step.revision > revision)
  }
}

function undo(edit: TreeEdit<KeyValue>, { events }: Batch): void {
  for (const { key, before } of events) {
    if (before === undefined) edit.delete(key)
    else edit.put(before)
  }
}

/** The index of the first item for which the condition holds, as it does for all after it; their
 *  number if there is none. O(log n). */
function indexOfFirst<T>(items: Ring<T>, isSo: (item: T) => boolean): number {
  let low = 0
  let high = items.size
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isSo(items.at(middle)!)) high = middle
    else low = middle + 1
  }
  return low
}

/** The memory of a change beside values and key: the copied path, the entry, the event, the batch,
 *  the snapshot. Measured by bench/store at 1,000,000 keys. */
const changeBytes = 1100

/** The memory that an event keeps alive: the value before it, which the latest contents do not
 *  have, and the copies that the change made. */
export function bytesOf({ key, before }: Event): number {
  return changeBytes + (before === undefined ? 0 : key.length + before.valueLength)
}
