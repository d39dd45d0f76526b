/** Frees slabs that few living values hold on to.
 *
 *  Values lie on slabs in the order in which they came. Where few objects change often and many change rarely, most of a slab dies
 *  soon, and what still lives keeps all of it: a cluster whose leases are renewed all the time would hold a slab for every pod that
 *  was written in between. So now and then the values on mostly dead slabs are moved together. */

import { allKeys } from '../base/keys.ts'
import type { KeyValue } from './event.ts'
import { slabBytes, SlabWriter } from './slab.ts'
import type { Snapshot } from './snapshot.ts'

/** A slab with less living bytes is left by those that live on it. */
const liveMinBytes = slabBytes / 2

/** What packing came to. */
export interface Packing {
  /** Living values together. */
  valueBytes: number
  movedBytes: number
}

/** Moves the living values of mostly dead slabs to new ones; gives way after each leaf. What histories and older snapshots hold stays
 *  where it is until they are gone. Values that are written meanwhile wait for the next time. */
export function* packSlabs(latest: () => Iterable<Snapshot>): Generator<void, Packing> {
  const packing: Packing = { valueBytes: 0, movedBytes: 0 }
  const live = new Map<Uint8Array, number>()
  for (const entries of leavesOf(latest())) {
    for (const { bytes, valueLength } of entries) {
      packing.valueBytes += valueLength
      if (bytes.length === slabBytes) live.set(bytes, (live.get(bytes) ?? 0) + valueLength)
    }
    yield
  }
  const slabs = new SlabWriter()
  for (const entries of leavesOf(latest())) {
    for (const entry of entries) {
      if ((live.get(entry.bytes) ?? slabBytes) >= liveMinBytes) continue
      packing.movedBytes += entry.valueLength
      entry.move(slabs.copy(entry.bytes, entry.start, entry.end))
    }
    yield
  }
  return packing
}

function* leavesOf(snapshots: Iterable<Snapshot>): Iterable<readonly KeyValue[]> {
  for (const snapshot of snapshots) {
    for (const { entries, from, to } of snapshot.leaves(allKeys)) yield entries.slice(from, to)
  }
}
