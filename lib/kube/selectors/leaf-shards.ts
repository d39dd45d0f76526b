/** The entries of a range that are in some shards.
 *
 *  Hashes of uids hang on the leaf, eight bytes an entry, and are made when a list of a shard first
 *  reads it: whoever asks for no shard pays nothing, and a list looks at a row of numbers instead
 *  of an object for each entry that it leaves out. A leaf never changes, so all revisions that
 *  share it share its hashes, and pages and selectors find entries in the order of keys, which an
 *  index by hash would have to restore. A change costs the hashes of one leaf.
 *
 *  Of namespaces there is one hash each, and those of other shards are stepped over whole. */

import { inRange, type Key, type KeyRange, prefixEnd } from '../../base/keys.ts'
import type { SelectableReader } from '../../codec/fields/selectable.ts'
import type { LeafSlice } from '../../store/btree.ts'
import type { KeyValue } from '../../store/event.ts'
import { SegmentCache } from '../../store/segments.ts'
import type { Snapshot } from '../../store/snapshot.ts'
import { type MakeReader, namespaceOfKey, type Selection, uidField } from './filter.ts'
import { shardHash } from './shard-hash.ts'
import type { ShardSelector } from './shard-selector.ts'

/** The hashes of a leaf: the high halves, then the low ones. */
type Hashes = Uint32Array

/** The leaf has an entry that cannot be read. */
const unreadable: Hashes = new Uint32Array(0)

/** About 16 bytes for each object, so that those of two million fit. */
const cacheMaxBytes = 32 * 1024 * 1024
const overheadBytes = 160
const cache = new SegmentCache<Hashes>(cacheMaxBytes)
const name = 'shards uid'

/** The entries in the shards, in the order of keys; undefined now and then, so that the work can
 *  give way. Entries that cannot be read are among them: the request may have to pass. */
export function entriesOfShards(
  snapshot: Snapshot,
  range: KeyRange,
  selection: Selection & { readonly shards: ShardSelector },
  makeReader: MakeReader,
): Iterable<KeyValue | undefined> {
  if (selection.shards.field === 'namespace') return ofNamespaces(snapshot, range, selection)
  const reader = makeReader(selection.resource, [uidField], false)
  return ofUids(snapshot, range, selection.shards, reader)
}

function* ofUids(
  snapshot: Snapshot,
  range: KeyRange,
  shards: ShardSelector,
  reader: SelectableReader,
): Generator<KeyValue | undefined, void, undefined> {
  for (const slice of snapshot.leaves(range)) {
    const { entries, from, to, size } = slice
    const hashes = hashesOf(slice, reader)
    for (let i = from; i < to; i++) {
      if (hashes === unreadable || shards.has(hashes[i]!, hashes[size + i]!)) yield entries[i]
    }
    yield undefined
  }
}

function hashesOf(slice: LeafSlice<KeyValue>, reader: SelectableReader): Hashes {
  const { leaf } = slice
  const known = cache.get(leaf, name)
  if (known !== undefined) return known
  const hashes = hashAll(slice, reader)
  // Whether a custom object can be read depends on its definition, which may change while its leaf
  // stays.
  if (hashes !== unreadable) cache.set(leaf, name, hashes, hashes.byteLength + overheadBytes)
  return hashes
}

function hashAll({ entries, size }: LeafSlice<KeyValue>, reader: SelectableReader): Hashes {
  const hashes = new Uint32Array(2 * size)
  for (let i = 0; i < size; i++) {
    const entry = entries[i]
    if (entry === undefined || reader.read(entry) !== undefined) return unreadable
    const { high, low } = shardHash(reader.field(uidField))
    hashes[i] = high
    hashes[size + i] = low
  }
  return hashes
}

function* ofNamespaces(
  snapshot: Snapshot,
  range: KeyRange,
  { resource, keyspace, shards }: Selection & { readonly shards: ShardSelector },
): Generator<KeyValue | undefined, void, undefined> {
  const isIn = (namespace: string): boolean => {
    const { high, low } = shardHash(namespace)
    return shards.has(high, low)
  }
  if (!resource.isNamespaced) {
    if (isIn('')) yield* snapshot.iterate(range)
    return
  }
  for (let start: Key | undefined = range.start; start !== undefined;) {
    const [first] = snapshot.range({ start, end: range.end }, { limit: 1 })
    if (first === undefined) return
    const namespace = namespaceOfKey(first.key, keyspace)
    const end = prefixEnd(first.key.slice(0, first.key.indexOf('/', keyspace.length) + 1) as Key)
    const isLast = end === undefined || !inRange(end, range)
    if (isIn(namespace)) yield* snapshot.iterate({ start, end: isLast ? range.end : end })
    else yield undefined
    start = isLast ? undefined : end
  }
}
