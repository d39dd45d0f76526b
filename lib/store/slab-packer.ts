/** Frees slabs with few live values.
 *
 *  Values are on slabs in the order in which they came. If few objects change often and many change
 *  rarely, most values of a slab are soon dead, and the few live ones keep the whole slab in
 *  memory: a cluster whose leases are renewed all the time would hold a slab for every pod that was
 *  written in between. So from time to time the live values of mostly dead slabs are moved to new
 *  slabs. */

import { allKeys } from '@watchglass/base'
import type { KeyValue } from './event.ts'
import { slabBytes, SlabWriter } from './slab.ts'
import type { Snapshot } from './snapshot.ts'

/** Values are moved off a slab with fewer live bytes than this. */
const liveMinBytes = slabBytes / 2

/** The result of packing. */
export interface Packing {
  /** Bytes of all live values. */
  valueBytes: number
  movedBytes: number
}

/** Moves the live values of mostly dead slabs to new ones; yields after each leaf. Values of
 *  histories and older snapshots stay in place until those are dropped. Values that are written
 *  meanwhile wait for the next run. */
export function* packSlabs(
  latest: () => Iterable<Snapshot>,
  onMoved: (entry: KeyValue) => void = () => {},
): Generator<void, Packing> {
  const packing: Packing = { valueBytes: 0, movedBytes: 0 }
  const live = new Map<Uint8Array, number>()
  for (const entries of leavesOf(latest())) {
    for (const { kept, valueLength } of entries) {
      const { bytes, start, end } = kept
      packing.valueBytes += valueLength
      if (bytes.length === slabBytes) live.set(bytes, (live.get(bytes) ?? 0) + end - start)
    }
    yield
  }
  const slabs = new SlabWriter()
  for (const entries of leavesOf(latest())) {
    for (const entry of entries) {
      const { bytes, start, end } = entry.kept
      if ((live.get(bytes) ?? slabBytes) >= liveMinBytes) continue
      packing.movedBytes += end - start
      entry.move(slabs.copy(bytes, start, end))
      onMoved(entry)
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
