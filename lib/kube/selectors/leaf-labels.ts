/** The entries that a selector may select, with the leaves left out whose objects all lack a label
 *  that it requires.
 *
 *  Most objects lack most labels, and looking at each object again for every selector costs a third
 *  of a millisecond for a thousand: a client that makes up labels makes as much work as one that
 *  lists. So the names of the labels of a leaf are kept with it, as hashes. */

import type { KeyRange } from '@watchglass/base'
import type { SelectableReader } from '@watchglass/codec'
import { type KeyValue, type LeafSlice, SegmentCache, type Snapshot } from '@watchglass/store'
import { groupVersionText } from '../resources/resource.ts'
import type { MakeReader, Selection } from './filter.ts'

/** Hashes of the names of labels. */
type Names = readonly number[]

/** A leaf has 24 objects; with more names than this it is always looked at. */
const namesMax = 64
const tooMany: Names = []
/** The leaf was looked at once: names are read the second time, because most selectors are asked
 *  for again and get an index. */
const seenOnce: Names = []

/** About 10 bytes for each object, so that those of a million fit. */
const cacheMaxBytes = 16 * 1024 * 1024
const nameBytes = 8
const overheadBytes = 160
const cache = new SegmentCache<Names>(cacheMaxBytes)

/** The entries of the range that may be selected; undefined for each leaf that is left out, so that
 *  the work can give way. */
export function* entriesToRead(
  snapshot: Snapshot,
  range: KeyRange,
  selection: Selection,
  makeReader: MakeReader,
): Generator<KeyValue | undefined, void, undefined> {
  const { resource } = selection
  const required = requiredNames(selection)
  // Whether a custom object can be read depends on its definition, which may change while its leaf
  // stays.
  const isFixed = resource.custom === undefined && resource.learned === undefined
  if (required.length === 0 || !isFixed) {
    yield* snapshot.iterate(range)
    return
  }
  const reader = makeReader(resource, [], true)
  const name = `labels ${groupVersionText(resource.group, resource.version)}`
  for (const slice of snapshot.leaves(range)) {
    const names = namesOf(slice, reader, name)
    const mayHave = names === undefined || required.every(hash => names.includes(hash))
    if (!mayHave) yield undefined
    else for (let i = slice.from; i < slice.to; i++) yield slice.entries[i]
  }
}

/** Labels without which nothing is selected. */
function requiredNames({ labels }: Selection): Names {
  return labels.requirements
    .filter(({ operator }) => operator !== 'notin' && operator !== 'absent')
    .map(({ key }) => hashOf(key))
}

/** Undefined if the leaf must be looked at. */
function namesOf(
  slice: LeafSlice<KeyValue>,
  reader: SelectableReader,
  name: string,
): Names | undefined {
  const { leaf } = slice
  const known = cache.get(leaf, name)
  if (known === tooMany) return undefined
  if (known !== undefined && known !== seenOnce) return known
  const names = known === undefined ? seenOnce : readNames(slice, reader)
  cache.set(leaf, name, names, overheadBytes + nameBytes * names.length)
  return names === seenOnce || names === tooMany ? undefined : names
}

function readNames({ entries, size }: LeafSlice<KeyValue>, reader: SelectableReader): Names {
  const found = new Set<number>()
  for (let i = 0; i < size && found.size <= namesMax; i++) {
    const entry = entries[i]
    // What cannot be read must not be left out: the request may have to pass.
    if (entry === undefined || reader.read(entry) !== undefined) return tooMany
    reader.eachLabel(key => found.add(hashOf(key)))
  }
  return found.size > namesMax ? tooMany : [...found]
}

/** FNV-1a. Names with equal hashes cost a look at the objects. */
function hashOf(name: string): number {
  let hash = 0x811c_9dc5
  for (let i = 0; i < name.length; i++) {
    hash = Math.imul(hash ^ name.charCodeAt(i), 0x0100_0193)
  }
  return hash & 0x3fff_ffff
}
