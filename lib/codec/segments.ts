/** The bytes of list items, kept with the leaves that the items lie in: made when a list first asks for them, shared by every
 *  snapshot that shares the leaf, dropped under the budget of the store's cache. */

import type { SegmentCache, SegmentHolder } from '../store/segments.ts'
import type { KeyValue } from '../store/event.ts'
import { ByteWriter } from './byte-writer.ts'
import type { ZippedRun } from './gzip.ts'
import { NotExact } from './not-exact.ts'

/** The items of one leaf in one form, one after the other, each with whatever separates it from the one before it. */
export interface Segment {
  readonly bytes: Uint8Array
  /** Where each item ends. */
  readonly ends: Uint32Array
  /** Stand for the entries that were picked out, in this order. Not the entries, which would keep their values in memory. */
  readonly of?: readonly SegmentHolder[] | undefined
  /** What a compressed run says of itself. */
  readonly zipped?: ZippedRun | undefined
}

/** What a list is made of: entries `from..to` of an array, which is a leaf's, or one of selected entries. */
export interface Run {
  readonly entries: readonly KeyValue[]
  readonly from: number
  readonly to: number
  /** Where segments are kept; undefined for entries that were picked out. */
  readonly leaf: SegmentHolder | undefined
  /** These entries were picked out, and may well be picked out again. */
  readonly isKept?: boolean | undefined
}

/** Appends one item of a list, with its separator. */
export type AppendItem = (out: ByteWriter, entry: KeyValue) => NotExact | undefined

/** How the items of one list are written, and under which name they are kept. Without a name, nothing is kept. */
export interface ItemForm {
  readonly append: AppendItem
  readonly segmentName: string | undefined
}

/** The items of a run as one piece, without a copy where the segment is there. A part of a leaf is not made whole for its own
 *  sake: the first and the last leaf of a page mostly are parts. */
export function itemsOfRun(
  run: Run,
  form: ItemForm,
  cache: SegmentCache<Segment> | undefined,
): Uint8Array | NotExact {
  const { leaf, from, to } = run
  const name = form.segmentName
  const kept = name === undefined || leaf === undefined ? undefined : cache?.get(leaf, name)
  if (kept !== undefined) return partOf(kept, from, to)
  const made = makeSegment(run, form.append)
  if (made instanceof NotExact) return made
  const isWhole = from === 0 && to === run.entries.length
  if (isWhole && leaf !== undefined && name !== undefined) {
    cache?.set(leaf, name, made, made.bytes.length + made.ends.byteLength + overheadBytes)
  }
  return made.bytes
}

/** Where what is made of the kept items of a whole leaf is kept, such as their compressed form; undefined for bytes that are no such
 *  items. It goes with the bytes, so that neither keeps a leaf in memory. */
export function holderOfKept(items: Uint8Array): SegmentHolder | undefined {
  return holdersOfKept.get(items)
}

/** Bytes that `itemsOfRun` has kept, for whoever looks for them with `holderOfKept`. */
export function noteKept(items: Uint8Array, { entries, from, to, leaf }: Run): void {
  const isWhole = leaf !== undefined && from === 0 && to === entries.length
  if (isWhole && !holdersOfKept.has(items)) holdersOfKept.set(items, { segments: undefined })
}

const holdersOfKept = new WeakMap<Uint8Array, SegmentHolder>()

/** The items of a run of picked entries, in one piece if the same were picked before, else one by one. What is kept hangs on the
 *  first entry; equal holders say that it is of the same entries. */
export function* itemsOfPicked(
  { entries, from, to }: Run,
  form: ItemForm,
  cache: SegmentCache<Segment>,
): Generator<Uint8Array | NotExact, void, undefined> {
  const name = form.segmentName
  const holders = entries.slice(from, to).map(holderOf)
  const [first] = holders
  if (first === undefined) return
  const kept = name === undefined ? undefined : cache.get(first, `picked ${name}`)
  if (kept?.of?.length === holders.length && kept.of.every((one, i) => one === holders[i])) {
    yield kept.bytes
    return
  }
  const pieces: Uint8Array[] = []
  let bytes = 0
  for (const [i, leaf] of holders.entries()) {
    const items = itemsOfRun({ entries: [entries[from + i]!], from: 0, to: 1, leaf }, form, cache)
    yield items
    if (items instanceof NotExact) return
    bytes += items.length
    if (bytes <= pickedMaxBytes) pieces.push(items)
  }
  if (name === undefined || bytes > pickedMaxBytes) return
  const segment = { bytes: Buffer.concat(pieces), ends: noEnds, of: holders }
  cache.set(first, `picked ${name}`, segment, bytes + overheadBytes + 8 * holders.length)
}

/** Copying more into one piece takes long, and spares little. */
const pickedMaxBytes = 256 * 1024

/** What a segment weighs beside its bytes: two typed arrays and what holds them. */
const overheadBytes = 300

/** The bytes of a single entry in one form, kept with the entry itself: what is made of it alone, or of entries that were picked out,
 *  which lie in leaves with others that were not asked for. */
export function keptOfEntry(
  entry: KeyValue,
  name: string,
  cache: SegmentCache<Segment>,
  make: () => Uint8Array | NotExact,
): Uint8Array | NotExact {
  const holder = holderOf(entry)
  const kept = cache.get(holder, name)
  if (kept !== undefined) return kept.bytes
  const bytes = make()
  if (bytes instanceof NotExact) return bytes
  cache.set(holder, name, { bytes, ends: noEnds }, bytes.length + overheadBytes)
  return bytes
}

const noEnds = new Uint32Array(0)

/** Where what is made of a single entry is kept. */
export function holderOf(entry: KeyValue): SegmentHolder {
  let holder = holders.get(entry)
  if (holder === undefined) {
    holder = { segments: undefined }
    holders.set(entry, holder)
  }
  return holder
}

const holders = new WeakMap<KeyValue, SegmentHolder>()

function partOf({ bytes, ends }: Segment, from: number, to: number): Uint8Array {
  const start = from === 0 ? 0 : (ends[from - 1] as number)
  const end = to === 0 ? 0 : (ends[to - 1] as number)
  return start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end)
}

function makeSegment({ entries, from, to }: Run, append: AppendItem): Segment | NotExact {
  const ends = new Uint32Array(to - from)
  scratch.clear()
  for (let i = from; i < to; i++) {
    const problem = append(scratch, entries[i] as KeyValue)
    if (problem !== undefined) return problem
    ends[i - from] = scratch.length
  }
  return { bytes: scratch.copy(), ends }
}

const scratch = new ByteWriter()
