/** The entries that a selection may select, from wherever the fewest have to be looked at: an
 *  index, the leaves that have a label, or the shards. */

import type { KeyRange } from '@watchglass/base'
import type { Run } from '@watchglass/codec'
import type { KeyValue, Snapshot } from '@watchglass/store'
import { compileFilter, type Filter, type MakeReader, type Selection } from './filter.ts'
import { candidates } from './index-choice.ts'
import { entriesToRead } from './leaf-labels.ts'
import { entriesOfShards, runsOfUids } from './leaf-shards.ts'

export interface SelectedEntries {
  /** In the order of keys; undefined where some were left out, so that the work can give way. */
  readonly entries: Iterable<KeyValue | undefined>
  /** The check that is left to make of each; undefined if none is. */
  readonly filter: Filter | undefined
}

/** The runs of a selection that is a shard by uid and nothing else. They may be gone through more
 *  than once. */
export function wholeShard(
  snapshot: Snapshot,
  { range, ...selection }: Selection & { readonly range: KeyRange },
  makeReader: MakeReader,
): Iterable<Run> | undefined {
  const { labels, fields, shards } = selection
  if (shards?.field !== 'uid' || !labels.isEmpty || !fields.isEmpty) return undefined
  return {
    [Symbol.iterator]: () =>
      runsOfUids(snapshot, range, { ...selection, shards }, makeReader)[Symbol.iterator](),
  }
}

export function selectedEntries(
  snapshot: Snapshot,
  range: KeyRange,
  selection: Selection,
  makeReader: MakeReader,
): SelectedEntries {
  const few = candidates(snapshot, range, selection)
  if (few !== undefined) {
    return { entries: few.entries, filter: compileFilter(few.rest, makeReader) }
  }
  const { shards } = selection
  if (shards === undefined) {
    return {
      entries: entriesToRead(snapshot, range, selection, makeReader),
      filter: compileFilter(selection, makeReader),
    }
  }
  return {
    entries: entriesOfShards(snapshot, range, { ...selection, shards }, makeReader),
    filter: compileFilter({ ...selection, shards: undefined }, makeReader),
  }
}
