/** The entries of a range that are in some shards.
 *
 *  Hashes of uids hang on the leaf, in their order, twelve bytes an entry, and are made when a list
 *  of a shard first reads it: whoever asks for no shard pays nothing. A list of a shard searches
 *  each leaf for the ends of its ranges, and looks at nothing that it leaves out. A leaf never
 *  changes, so all revisions that share it share its hashes, and pages and selectors find entries
 *  in the order of keys, which one index by hash would have to restore. A change costs the hashes
 *  of one leaf.
 *
 *  A list of a whole shard keeps with each inner node what it has found under it: as long as
 *  nothing changes there, no entry is looked at.
 *
 *  Of namespaces there is one hash each, and those of other shards are stepped over whole. */

import { inRange, type Key, type KeyRange, prefixEnd } from '@watchglass/base'
import { joinedRuns, type Run, type SelectableReader } from '@watchglass/codec'
import {
  type KeyValue,
  type LeafSlice,
  SegmentCache,
  type Snapshot,
  type TreePart,
} from '@watchglass/store'
import { type MakeReader, namespaceOfKey, type Selection, uidField } from './filter.ts'
import { prefixOfNamespaces } from '../resources/keyspaces.ts'
import { compareHashes, shardHash, type ShardHash } from './shard-hash.ts'
import type { ShardSelector } from './shard-selector.ts'

/** The hashes of a leaf, sorted: the high halves, then the low ones, then the indexes of the
 *  entries that have them. */
type Hashes = Uint32Array

/** The leaf has an entry that cannot be read. */
const unreadable: Hashes = new Uint32Array(0)

/** About 16 bytes for each object, so that those of two million fit. */
const cacheMaxBytes = 32 * 1024 * 1024
const overheadBytes = 160
const cache = new SegmentCache<Hashes>(cacheMaxBytes)
const name = 'shards uid'

type ShardSelection = Pick<Selection, 'resource' | 'keyspace'> & { readonly shards: ShardSelector }

/** The entries in the shards, in the order of keys; undefined now and then, so that the work can
 *  give way. Entries that cannot be read are among them: the request may have to pass. */
export function entriesOfShards(
  snapshot: Snapshot,
  range: KeyRange,
  selection: ShardSelection,
  makeReader: MakeReader,
): Iterable<KeyValue | undefined> {
  if (selection.shards.field === 'namespace') return ofNamespaces(snapshot, range, selection)
  const reader = makeReader(selection.resource, [uidField], false)
  return ofUids(snapshot, range, selection.shards, reader)
}

/** The runs of a shard by uid, whose items are joined; empty ones now and then, so that the work
 *  can give way. */
export function runsOfUids(
  snapshot: Snapshot,
  range: KeyRange,
  { resource, shards }: Pick<ShardSelection, 'resource' | 'shards'>,
  makeReader: MakeReader,
): Iterable<Run> {
  const reader = makeReader(resource, [uidField], false)
  return runsOfPart(snapshot.part(range), { snapshot, shards, reader })
}

/** Returns whether all entries could be read. */
function* runsOfPart(
  part: TreePart,
  of: {
    readonly snapshot: Snapshot
    readonly shards: ShardSelector
    readonly reader: SelectableReader
  },
): Generator<Run, boolean, undefined> {
  const { node, parts } = part
  const known = node && keptRuns.get(node)?.ofShards.get(of.shards.text)
  if (known !== undefined) {
    yield* known.length === 0 ? [noRun] : known
    return true
  }
  const runs: Run[] = []
  let isReadable = true
  if (parts === undefined) {
    const found: KeyValue[] = []
    const walk = ofUids(of.snapshot, part.range, of.shards, of.reader)
    let next = walk.next()
    for (; next.done !== true; next = walk.next()) {
      if (next.value === undefined) yield noRun
      else found.push(next.value)
    }
    isReadable = next.value
    runs.push(...joinedRuns(found))
    yield* runs
  } else {
    for (const child of parts()) {
      const walk = runsOfPart(child, of)
      let next = walk.next()
      for (; next.done !== true; next = walk.next()) {
        if (next.value !== noRun) runs.push(next.value)
        yield next.value
      }
      isReadable &&= next.value
    }
  }
  if (isReadable && node !== undefined) keepRuns({ node, size: part.size }, of.shards.text, runs)
  return isReadable
}

const noRun: Run = { entries: [], from: 0, to: 0, leaf: undefined }

interface KeptRuns {
  readonly ofShards: Map<string, readonly Run[]>
  bytes: number
}

const keptRuns = new WeakMap<object, KeptRuns>()
/** Bytes that are kept for each object: enough for a fleet of 256 replicas. */
const keptBytesMax = 256
/** Bytes that are kept in any case. */
const keptBytesMin = 4 * 1024

/** Keeps them as long as the node is there, unless clients ask for ever more shards. */
function keepRuns(
  { node, size }: { readonly node: object; readonly size: number },
  text: string,
  runs: readonly Run[],
): void {
  const kept = keptRuns.get(node) ?? { ofShards: new Map(), bytes: 0 }
  kept.bytes += overheadBytes + text.length
  for (const { to, from } of runs) kept.bytes += overheadBytes + 24 * (to - from)
  if (kept.bytes > Math.max(keptBytesMin, keptBytesMax * size)) {
    keptRuns.delete(node)
    return
  }
  kept.ofShards.set(text, runs)
  keptRuns.set(node, kept)
}

/** Returns whether all entries could be read. */
function* ofUids(
  snapshot: Snapshot,
  range: KeyRange,
  shards: ShardSelector,
  reader: SelectableReader,
): Generator<KeyValue | undefined, boolean, undefined> {
  // Used again for each leaf.
  const indexes: number[] = []
  let isReadable = true
  for (const slice of snapshot.leaves(range)) {
    const { entries, from, to } = slice
    const hashes = hashesOf(slice, reader)
    if (hashes === unreadable) {
      isReadable = false
      for (let i = from; i < to; i++) yield entries[i]
    } else {
      const found = indexesIn(hashes, shards, indexes)
      for (let i = 0; i < found; i++) {
        const index = indexes[i]!
        if (index >= from && index < to) yield entries[index]
      }
    }
    yield undefined
  }
  return isReadable
}

/** Writes the indexes of a leaf's entries in the shards to `indexes`, in the order of keys. Returns
 *  their number. O(ranges * log entries), and what it finds. */
function indexesIn(hashes: Hashes, { ranges }: ShardSelector, indexes: number[]): number {
  const size = hashes.length / 3
  let found = 0
  let at = 0
  for (const { start, end } of ranges) {
    at = firstFrom(hashes, start, at)
    // Ranges are in order.
    if (at === size) break
    for (; at < size && isBelow(hashes, at, end); at++) {
      const index = hashes[2 * size + at]!
      let place = found++
      for (; place > 0 && indexes[place - 1]! > index; place--) indexes[place] = indexes[place - 1]!
      indexes[place] = index
    }
  }
  return found
}

/** The place of the first hash that is not below `bound`, from a place on. */
function firstFrom(hashes: Hashes, bound: ShardHash, from: number): number {
  let to = hashes.length / 3
  while (from < to) {
    const middle = (from + to) >> 1
    if (isBelow(hashes, middle, bound)) from = middle + 1
    else to = middle
  }
  return from
}

function isBelow(hashes: Hashes, at: number, { high, low }: ShardHash): boolean {
  const ofEntry = hashes[at]!
  return ofEntry < high || (ofEntry === high && hashes[hashes.length / 3 + at]! < low)
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
  const made: { readonly hash: ShardHash; readonly index: number }[] = []
  for (let index = 0; index < size; index++) {
    const entry = entries[index]
    if (entry === undefined || reader.read(entry) !== undefined) return unreadable
    made.push({ hash: shardHash(reader.field(uidField)), index })
  }
  made.sort((a, b) => compareHashes(a.hash, b.hash))
  const hashes = new Uint32Array(3 * size)
  for (const [at, { hash, index }] of made.entries()) {
    hashes[at] = hash.high
    hashes[size + at] = hash.low
    hashes[2 * size + at] = index
  }
  return hashes
}

function* ofNamespaces(
  snapshot: Snapshot,
  range: KeyRange,
  { resource, keyspace, shards }: ShardSelection,
): Generator<KeyValue | undefined, void, undefined> {
  const isIn = (namespace: string): boolean => {
    const { high, low } = shardHash(namespace)
    return shards.has(high, low)
  }
  if (!resource.isNamespaced) {
    if (isIn('')) yield* snapshot.iterate(range)
    return
  }
  const prefix = prefixOfNamespaces({ resource, keyspace })
  for (let start: Key | undefined = range.start; start !== undefined;) {
    const [first] = snapshot.range({ start, end: range.end }, { limit: 1 })
    if (first === undefined) return
    const namespace = namespaceOfKey(first.key, prefix)
    const end = prefixEnd(first.key.slice(0, first.key.indexOf('/', prefix.length) + 1) as Key)
    const isLast = end === undefined || !inRange(end, range)
    if (isIn(namespace)) yield* snapshot.iterate({ start, end: isLast ? range.end : end })
    else yield undefined
    start = isLast ? undefined : end
  }
}
