/** Everything that other packages may import of this one. */

export { BTreeBuilder } from './btree-builder.ts'
export { TreeEdit } from './btree-edit.ts'
export { BTree, type LeafSlice, type TreePart } from './btree.ts'
export {
  type Batch,
  type Change,
  type Event,
  KeyValue,
  type KeyValueMeta,
  noLease,
  type ValueWindow,
} from './event.ts'
export type { HistoryBounds } from './history.ts'
export { IndexSnapshot, type TermsOf } from './index-snapshot.ts'
export { Keyspace } from './keyspace.ts'
export type { PreparedBatch } from './prepared-batch.ts'
export { Ring } from './ring.ts'
export { SegmentCache, type SegmentHolder } from './segments.ts'
export { packSlabs } from './slab-packer.ts'
export {
  countShared,
  heldSlabBytes,
  shareSlabs,
  slabBytes,
  slabsAreShared,
  SlabWriter,
} from './slab.ts'
export { Snapshot } from './snapshot.ts'
export type { AudienceSpec, Framed, RequiredShards, RequiredTerms } from './watch/audience.ts'
export { bookmarkDueMs, usualBookmarkIntervalMs } from './watch/bookmarks.ts'
export { FrameCache } from './watch/frame-cache.ts'
export { Hub } from './watch/hub.ts'
export { Schedule } from './watch/schedule.ts'
export type { WatchSource } from './watch/watch-source.ts'
export { Watcher, type WatcherSink } from './watch/watcher.ts'
