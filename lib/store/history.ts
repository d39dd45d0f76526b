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
  /** Of what only history keeps alive: see `batchBytes`. */
  readonly maxBytes: number
}

export class History {
  readonly #bounds: HistoryBounds
  readonly #batches = new Ring<Batch>()
  readonly #snapshots = new Ring<Snapshot>()
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

  /** What the batches weigh: see `batchBytes`. */
  get bytes(): number {
    return this.#bytes
  }

  /** The snapshot of the newest batch that was taken. */
  get newest(): Snapshot {
    return this.#snapshots.at(this.#snapshots.size - 1) ?? this.#base
  }

  /** Takes the next batch and the snapshot that it left. */
  append(batch: Batch, snapshot: Snapshot): void {
    this.#batches.push(batch)
    this.#snapshots.push(snapshot)
    this.#bytes += batchBytes(batch)
  }

  /** Puts a snapshot with the same contents in place of the newest. */
  replaceNewest(snapshot: Snapshot): void {
    if (this.#snapshots.size === 0) this.#base = snapshot
    else this.#snapshots.replaceLast(snapshot)
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
    return index === 0 ? this.#base : this.#snapshots.at(index - 1)!
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

  #shift(first: Batch): void {
    this.#batches.shift()
    this.#shifted++
    this.#base = this.#snapshots.shift()!
    this.#oldest = first.revision
    this.#bytes -= batchBytes(first)
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
export function batchBytes({ events }: Batch): number {
  let bytes = 0
  for (const event of events) bytes += eventBytes(event)
  return bytes
}

function eventBytes({ key, before }: Event): number {
  return changeBytes + (before === undefined ? 0 : key.length + before.valueLength)
}
