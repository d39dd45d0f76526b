/** A bounded window of batches, oldest first, with the snapshot that each left: what came after revision n, and the contents at
 *  revision n, or that n has left the window.
 *
 *  ```
 *  base snapshot | step | step | ... | latest      a step is a batch and the snapshot that it left
 *  at `oldest`     every batch above `oldest` is held
 *  ```
 *
 *  Revisions rise but are not contiguous. It holds references, never copies, and knows nothing of its readers: a reader is a
 *  revision. A step is not looked at when it leaves, with each new batch, because by then it is far from every cache. Leaves ordering
 *  checks to `Keyspace`. */

import { CacheError } from '../base/errors.ts'
import type { Revision } from '../base/revision.ts'
import type { Batch, Event } from './event.ts'
import type { IndexTrees } from './index-view.ts'
import { Ring } from './ring.ts'
import { Snapshot, type SnapshotParts } from './snapshot.ts'

/** When the oldest batches leave: as soon as one of these is exceeded. */
export interface HistoryBounds {
  readonly maxBatches: number
  readonly maxAgeMs: number
  /** Of what only history keeps alive: see `bytesOf`. */
  readonly maxBytes: number
}

/** A batch and the snapshot that it left, in one object, because history holds very many. */
export class Step extends Snapshot implements Batch {
  readonly #events: Event | readonly Event[]
  readonly appliedAtMs: number

  constructor(snapshot: SnapshotParts, events: readonly Event[], appliedAtMs: number) {
    super(snapshot)
    this.#events = events.length === 1 ? events[0]! : events
    this.appliedAtMs = appliedAtMs
  }

  /** Most batches have one event: it is kept without an array. */
  get events(): readonly Event[] {
    return 'length' in this.#events ? this.#events : [this.#events]
  }
}

export class History {
  readonly #bounds: HistoryBounds
  readonly #steps = new Ring<Step>()
  /** What each step weighs. */
  readonly #weights = new Ring<number>()
  #base: Snapshot
  #compacted: Revision
  #bytes = 0
  /** No step is too old before. */
  #youngUntilMs = -Infinity
  /** How many batches have left. */
  #shifted = 0

  constructor(bounds: HistoryBounds, base: Snapshot) {
    this.#bounds = bounds
    this.#base = base
    this.#compacted = base.revision
  }

  /** The oldest revision that can be read; every batch above it is held. */
  get oldest(): Revision {
    const { revision } = this.#base
    return revision > this.#compacted ? revision : this.#compacted
  }

  /** How many batches are held. */
  get size(): number {
    return this.#steps.size
  }

  /** What the batches weigh: see `bytesOf`. */
  get bytes(): number {
    return this.#bytes
  }

  /** The snapshot of the newest batch that was taken. */
  get newest(): Snapshot {
    return this.#steps.last ?? this.#base
  }

  /** Takes the next batch. */
  append(step: Step): void {
    const bytes = bytesOf(step.events)
    this.#steps.push(step)
    this.#weights.push(bytes)
    this.#bytes += bytes
  }

  /** Gives the newest contents other indexes. */
  replaceNewest(indexes: IndexTrees): void {
    const { last } = this.#steps
    if (last === undefined) {
      const { revision, root, height } = this.#base
      this.#base = new Snapshot({ revision, root, height, indexes })
    } else {
      const { revision, root, height, events, appliedAtMs } = last
      this.#steps.replaceLast(new Step({ revision, root, height, indexes }, events, appliedAtMs))
    }
  }

  /** Lets go of what exceeds the bounds at `nowMs`. */
  trim(nowMs: number): void {
    const { maxBatches, maxBytes } = this.#bounds
    for (let first = this.#steps.first; first !== undefined; first = this.#steps.first) {
      const isOver = this.#steps.size > maxBatches || this.#bytes > maxBytes
      if (!isOver && !this.#isTooOld(first, nowMs)) return
      this.#shift(first)
    }
  }

  #isTooOld(first: Step, nowMs: number): boolean {
    if (nowMs <= this.#youngUntilMs) return false
    this.#youngUntilMs = first.appliedAtMs + this.#bounds.maxAgeMs
    return nowMs > this.#youngUntilMs
  }

  /** Lets go of the oldest batches until at most `bytes` are left. */
  trimTo(bytes: number): void {
    for (let first = this.#steps.first; first !== undefined; first = this.#steps.first) {
      if (this.#bytes <= bytes) return
      this.#shift(first)
    }
  }

  /** Makes `revision`, which is not above the latest, the oldest that can be read. Does nothing when it is not above it. */
  compact(revision: Revision): void {
    if (revision <= this.oldest) return
    for (let first = this.#steps.first; first !== undefined; first = this.#steps.first) {
      if (first.revision > revision) break
      this.#shift(first)
    }
    this.#compacted = revision
  }

  /** The newest snapshot at or below `revision`, which is not below the oldest. O(log n). */
  snapshotAt(revision: Revision): Snapshot {
    const index = this.#indexAfter(revision)
    return this.#steps.at(index - 1) ?? this.#base
  }

  /** The first batch above `revision`; `undefined` when there is none yet; `'expired'` once it may be missing. O(log n). */
  next(revision: Revision): Batch | 'expired' | undefined {
    if (revision < this.oldest) return 'expired'
    return this.#steps.at(this.#indexAfter(revision))
  }

  /** The batches above `revision`, those that arrive meanwhile included, or `'expired'` once any of them may be missing. O(log n),
   *  then O(1) a batch. Whoever pauses may lose the rest: the walk then fails with `expired`, never skips. */
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
    this.#steps.shift()
    this.#shifted++
    this.#base = first
    this.#bytes -= this.#weights.shift() ?? 0
  }

  /** The index of the first batch above `revision`. */
  #indexAfter(revision: Revision): number {
    let low = 0
    let high = this.#steps.size
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#steps.at(middle)!.revision <= revision) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** What a change costs beyond values and key: the copied path, the entry, the event, the batch, the snapshot. Measured by
 *  bench/store at 1,000,000 keys. */
const changeBytes = 1900

/** What a batch keeps alive: the state before it, which the latest contents do not have, and the copied path of each change. */
function bytesOf(events: readonly Event[]): number {
  let bytes = 0
  for (const { key, before } of events) {
    bytes += changeBytes + (before === undefined ? 0 : key.length + before.valueLength)
  }
  return bytes
}
