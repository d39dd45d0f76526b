/** A bounded window of batches, oldest first, with the snapshot that each left: what came after revision n, and the contents at
 *  revision n, or that n has left the window.
 *
 *  ```
 *  base snapshot | batch, snapshot | batch, snapshot | ... | latest
 *  at `oldest`                       every batch above `oldest` is held
 *  ```
 *
 *  Revisions rise but are not contiguous. It holds references, never copies, and knows nothing of its readers: a reader is a
 *  revision. Leaves ordering checks to `Keyspace`. */

import { CacheError } from '../base/errors.ts'
import type { Revision } from '../base/revision.ts'
import type { Batch, Event } from './event.ts'
import { Ring } from './ring.ts'
import type { Snapshot } from './snapshot.ts'

/** When the oldest batches leave: as soon as one of these is exceeded. */
export interface HistoryBounds {
  readonly maxBatches: number
  readonly maxAgeMs: number
  /** Of what only history keeps alive: see `bytesOf`. */
  readonly maxBytes: number
}

/** A batch as history keeps it: with the snapshot that it left, and with what it weighs, which is not asked of its events again
 *  when it leaves, because by then they are far from every cache. */
export class AppliedBatch implements Batch {
  readonly revision: Revision
  readonly events: readonly Event[]
  readonly appliedAtMs: number
  readonly bytes: number
  snapshot: Snapshot

  constructor(snapshot: Snapshot, events: readonly Event[], appliedAtMs: number) {
    this.revision = snapshot.revision
    this.events = events
    this.appliedAtMs = appliedAtMs
    this.bytes = bytesOf(events)
    this.snapshot = snapshot
  }
}

export class History {
  readonly #bounds: HistoryBounds
  readonly #batches = new Ring<AppliedBatch>()
  #base: Snapshot
  #oldest: Revision
  #bytes = 0
  /** How many batches have left. */
  #shifted = 0

  constructor(bounds: HistoryBounds, base: Snapshot) {
    this.#bounds = bounds
    this.#base = base
    this.#oldest = base.revision
  }

  /** The oldest revision that can be read; every batch above it is held. */
  get oldest(): Revision {
    return this.#oldest
  }

  /** How many batches are held. */
  get size(): number {
    return this.#batches.size
  }

  /** What the batches weigh: see `bytesOf`. */
  get bytes(): number {
    return this.#bytes
  }

  /** The snapshot of the newest batch that was taken. */
  get newest(): Snapshot {
    return this.#batches.last?.snapshot ?? this.#base
  }

  /** Takes the next batch. */
  append(batch: AppliedBatch): void {
    this.#batches.push(batch)
    this.#bytes += batch.bytes
  }

  /** Puts a snapshot with the same contents in place of the newest. */
  replaceNewest(snapshot: Snapshot): void {
    const { last } = this.#batches
    if (last === undefined) this.#base = snapshot
    else last.snapshot = snapshot
  }

  /** Lets go of what exceeds the bounds at `nowMs`. */
  trim(nowMs: number): void {
    const { maxBatches, maxAgeMs, maxBytes } = this.#bounds
    for (let first = this.#batches.first; first !== undefined; first = this.#batches.first) {
      const isWithin =
        this.#batches.size <= maxBatches &&
        this.#bytes <= maxBytes &&
        nowMs - first.appliedAtMs <= maxAgeMs
      if (isWithin) return
      this.#shift(first)
    }
  }

  /** Makes `revision`, which is not above the latest, the oldest that can be read. Does nothing when it is not above it. */
  compact(revision: Revision): void {
    if (revision <= this.#oldest) return
    for (let first = this.#batches.first; first !== undefined; first = this.#batches.first) {
      if (first.revision > revision) break
      this.#shift(first)
    }
    this.#oldest = revision
  }

  /** The newest snapshot at or below `revision`, which is not below the oldest. O(log n). */
  snapshotAt(revision: Revision): Snapshot {
    const index = this.#indexAfter(revision)
    return this.#batches.at(index - 1)?.snapshot ?? this.#base
  }

  /** The first batch above `revision`; `undefined` when there is none yet; `'expired'` once it may be missing. O(log n). */
  next(revision: Revision): Batch | 'expired' | undefined {
    if (revision < this.#oldest) return 'expired'
    return this.#batches.at(this.#indexAfter(revision))
  }

  /** The batches above `revision`, those that arrive meanwhile included, or `'expired'` once any of them may be missing. O(log n),
   *  then O(1) a batch. Whoever pauses may lose the rest: the walk then fails with `expired`, never skips. */
  since(revision: Revision): Iterable<Batch> | 'expired' {
    if (revision < this.#oldest) return 'expired'
    return this.#walk(this.#shifted + this.#indexAfter(revision))
  }

  *#walk(first: number): Generator<Batch, void, undefined> {
    for (let i = first; ; i++) {
      if (i < this.#shifted) {
        throw new CacheError('expired', `history has moved on to revision ${this.#oldest}`, {
          oldest: this.#oldest,
        })
      }
      const batch = this.#batches.at(i - this.#shifted)
      if (batch === undefined) return
      yield batch
    }
  }

  #shift(first: AppliedBatch): void {
    this.#batches.shift()
    this.#shifted++
    this.#base = first.snapshot
    this.#oldest = first.revision
    this.#bytes -= first.bytes
  }

  /** The index of the first batch above `revision`. */
  #indexAfter(revision: Revision): number {
    let low = 0
    let high = this.#batches.size
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#batches.at(middle)!.revision <= revision) low = middle + 1
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
