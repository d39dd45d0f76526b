/** The bytes of list items, kept with the leaves that the items lie in: made when a list first asks
 *  for them, shared by every snapshot that shares the leaf, dropped under the budget of the store's
 *  cache. */

import { assert, atOnce, ByteWriter, notedEffort, NotExact, type Steps } from '@watchglass/base'
import type { KeyValue, SegmentCache, SegmentHolder } from '@watchglass/store'
import type { ZippedRun } from './gzip.ts'

/** The items of one leaf in one encoder, one after the other, each with whatever separates it from
 *  the one before it. */
export interface Segment {
  readonly bytes: Uint8Array
  /** End of each item. */
  readonly ends: Uint32Array
  /** Stand for the entries that were picked out, in this order. Not the entries, which would keep
   *  their values in memory. */
  readonly of?: readonly SegmentHolder[] | undefined
  /** The entries that were joined. Not the entries themselves, which would keep their values in
   *  memory. */
  members?: Members | undefined
  /** Times of items that age: from when until when each may be shown, in milliseconds of the wall
   *  clock. */
  readonly ages?: Ages | undefined
  /** Header and trailer values of a compressed run. */
  readonly zipped?: ZippedRun | undefined
}

/** Keys of entries and when each was written last. */
export interface Members {
  readonly keys: readonly string[]
  readonly revisions: readonly number[]
}

/** Times of the wall clock, one for each item. */
export interface Ages {
  readonly from: Float64Array
  /** Not shown then any more. */
  readonly until: Float64Array
}

/** A run of a list's items: entries `from..to` of an array, which is a leaf's, or one of selected
 *  entries. */
export interface Run {
  readonly entries: readonly KeyValue[]
  readonly from: number
  readonly to: number
  /** Leaf that keeps the segments; undefined for entries that were picked out. */
  readonly leaf: SegmentHolder | undefined
  /** Number of the leaf's entries: what is kept with it is made of all of them. */
  readonly size?: number | undefined
  /** True where the entries were picked out, and may well be picked out again. */
  readonly isKept?: boolean | undefined
  /** True where many entries were picked out: their items are joined (joined-items.ts). */
  readonly isJoined?: boolean | undefined
  /** Made when first needed. */
  members?: Members | undefined
}

/** Runs of entries that were picked out are as long as this, so that no piece takes long to
 *  make. */
export const runEntries = 64

/** Entries that were picked out, as runs. */
export function runsOfEntries(entries: readonly KeyValue[]): Run[] {
  const runs: Run[] = []
  for (let from = 0; from < entries.length; from += runEntries) {
    runs.push({ entries, from, to: Math.min(entries.length, from + runEntries), leaf: undefined })
  }
  return runs
}

/** Stored bytes of a run from which on its items are made one by one: so much takes about 5 ms to
 *  make, and a leaf may have forty times as much. */
const atOnceMaxBytes = 512 * 1024

/** The run; or its entries, each as a run, if they are not kept together and are too large to be
 *  made in one step, and held as one piece for each client. */
export function partsOfRun(
  run: Run,
  name: string | undefined,
  cache: SegmentCache<Segment> | undefined,
): readonly Run[] {
  const { entries, from, to, leaf } = run
  const isKept = name !== undefined && leaf !== undefined && cache?.get(leaf, name) !== undefined
  if (isKept || !isLarge(run)) return [run]
  return entries.slice(from, to).map(entry => {
    const single = { ...run, entries: [entry], from: 0, to: 1 }
    return leaf === undefined ? single : { ...single, size: 1, leaf: holderOf(entry) }
  })
}

function isLarge({ entries, from, to }: Run): boolean {
  let bytes = 0
  for (let i = from; i < to && bytes <= atOnceMaxBytes; i++) bytes += entries[i]!.valueLength
  return bytes > atOnceMaxBytes && to - from > 1
}

/** Appends one item of a list, with its separator. */
export type AppendItem = (out: ByteWriter, entry: KeyValue) => NotExact | undefined

/** The encoder of one list's items, and the name under which they are kept. Without a name, nothing
 *  is kept. */
export interface ItemEncoder {
  readonly append: AppendItem
  readonly segmentName: string | undefined
  /** The name under which all threads of the process keep them together; undefined if each must for
   *  itself. */
  readonly sharedName?: string | undefined
  /** Clock for items that show ages. */
  readonly aging?: Aging | undefined
  /** The name of the same items with something more, and how that is cut out of an item at the end
   *  of a writer: an item that is kept need not be encoded again. */
  readonly uncut?:
    | {
        readonly segmentName: string
        readonly cut: (out: ByteWriter, from: number) => NotExact | undefined
      }
    | undefined
}

/** The time for which items that show ages stay as they are. */
export interface Aging {
  /** The wall clock. */
  readonly now: number
  /** Called before an item is written. */
  readonly begin: () => void
  /** Asked after an item was written: for how many milliseconds it stays as it is. */
  readonly holdsMs: () => number
}

/** Items that any thread of a process has encoded, each leaf by whichever thread was first. */
export interface SharedSegments {
  /** The most that is kept. */
  readonly maxBytes: number
  /** Bytes that may still be kept without letting go of something. */
  readonly room: number
  /** The items of the run's whole leaf; undefined if they are not there. */
  find(name: string, run: Run): Segment | undefined
  /** Keeps the items of a whole leaf. Returns them as they are kept, or undefined if they cannot
   *  be. `made` is valid during the call only. */
  keep(name: string, run: Run, made: Segment): Segment | undefined
}

/** The places that keep items. */
export interface KeptItems {
  readonly cache?: SegmentCache<Segment> | undefined
  readonly shared?: SharedSegments | undefined
  /** For `SegmentCache.hasRoom`. */
  readonly sparedBytes?: number | undefined
  /** The list has many items: a whole leaf more or less is no matter. */
  readonly isLong?: boolean | undefined
}

/** The items of a run as one piece, without a copy where the segment is there. */
export function itemsOfRun(run: Run, encoder: ItemEncoder, keep: KeptItems): Uint8Array | NotExact {
  return atOnce(itemsInSteps(run, encoder, keep))
}

/** Makes the items of a run in steps, none of which is much more than the work of one item: a leaf
 *  has 24, and each may take long. */
export function* itemsInSteps(
  run: Run,
  encoder: ItemEncoder,
  keep: KeptItems,
): Steps<Uint8Array | NotExact> {
  const { leaf, from, to, size } = run
  const { segmentName: name, sharedName } = encoder
  const kept = name === undefined || leaf === undefined ? undefined : keep.cache?.get(leaf, name)
  if (kept !== undefined && isOfNow(kept, encoder.aging, run)) return partOf(kept, from, to)
  const common = sharedName === undefined ? undefined : keep.shared?.find(sharedName, run)
  if (common !== undefined) return partOf(common, from, to)
  if (leaf !== undefined && name !== undefined && isMadeWhole(run, keep)) {
    const whole = yield* makeWhole({ run, leaf, name, encoder, keep }, kept)
    if (!(whole instanceof NotExact)) return partOf(whole, from, to)
    // What cannot be shown may be outside of the run.
    if (from === 0 && to === size) return whole
  }
  const made = yield* makeSegment(run, encoder, kept, uncutOf(run, encoder, keep))
  return made instanceof NotExact ? made : made.out.copy()
}

/** Only whole leaves are kept. The first and the last leaf of a page mostly are parts: the same
 *  page may be asked for again, and the next one begins with what is left of the last leaf. */
function isMadeWhole({ from, to, size }: Run, { isLong = false }: KeptItems): boolean {
  return size !== undefined && (isLong || 2 * (to - from) >= size)
}

interface ToMake {
  readonly run: Run
  readonly leaf: SegmentHolder
  readonly name: string
  readonly encoder: ItemEncoder
  readonly keep: KeptItems
}

/** Makes the items of the run's whole leaf, and keeps them if there is room. */
function* makeWhole(
  { run, leaf, name, encoder, keep }: ToMake,
  kept: Segment | undefined,
): Steps<Segment | NotExact> {
  const { cache, shared, sparedBytes = 0 } = keep
  const { sharedName } = encoder
  const whole = { ...run, from: 0, to: run.size ?? 0 }
  const written = yield* makeSegment(whole, encoder, kept, uncutOf(run, encoder, keep))
  if (written instanceof NotExact) return written
  const { made, out } = written
  if (shared !== undefined && sharedName !== undefined && mayKeep(shared, made, sparedBytes)) {
    const everywhere = shared.keep(sharedName, whole, made)
    if (everywhere !== undefined) return everywhere
  }
  const tables = made.ends.byteLength * (made.ages === undefined ? 1 : 5)
  const bytes = made.bytes.length + tables + overheadBytes
  if (cache?.hasRoom(bytes, sparedBytes) !== true) return { ...made, bytes: out.copy() }
  const own = { ...made, bytes: lastingCopy(out) }
  cache.set(leaf, name, own, bytes)
  return own
}

/** Smaller ones are joined, which takes long from shared memory (`lib/store/slab.ts`), and are many
 *  objects for few bytes. */
const lastingMinBytes = 8 * 1024

/** A copy of what was written, in memory that V8 does not count. It makes a full collection for
 *  each 64 MB that it counts, whatever there is already: 17 for a first list of a gigabyte, which
 *  took nearly half of its processor time. Whoever keeps the copies has V8 collect when they are
 *  dropped (`lib/cache/ops/released-memory.ts`). */
export function lastingCopy(written: ByteWriter): Uint8Array {
  if (written.length < lastingMinBytes) return written.copy()
  const memory = Buffer.from(new SharedArrayBuffer(written.length))
  memory.fill(written.bytes.subarray(0, written.length))
  return memory
}

/** Room for a segment; of a list that does not fit, what was kept first stays. */
function mayKeep({ room }: SharedSegments, { bytes }: Segment, sparedBytes: number): boolean {
  return sparedBytes === 0 || bytes.length + overheadBytes <= room
}

/** The holder of whatever is made of kept items, such as their compressed form; undefined for bytes
 *  that are no such items. It goes with the bytes, so that neither keeps a leaf in memory. */
export function holderOfKept(items: Uint8Array): SegmentHolder | undefined {
  return holdersOfKept.get(items)
}

/** Notes bytes of a whole leaf, or of joined items, that are kept, for whoever looks for them with
 *  `holderOfKept`. */
export function noteKept(items: Uint8Array): void {
  if (!holdersOfKept.has(items)) holdersOfKept.set(items, {})
}

/** The run is a whole leaf. */
export function isWhole({ from, to, size }: Run): boolean {
  return from === 0 && to === size
}

const holdersOfKept = new WeakMap<Uint8Array, SegmentHolder>()

/** A part of kept items: the same array each time, as long as not many other parts are asked for,
 *  so that it has a holder, too. */
export function partOfKept(items: Uint8Array, start: number, end: number): Uint8Array {
  if (start === 0 && end === items.length) return items
  let parts = partsOfKept.get(items)
  if (parts === undefined) partsOfKept.set(items, (parts = []))
  const from = items.byteOffset + start
  const known = parts.find(
    ({ byteOffset, length }) => byteOffset === from && length === end - start,
  )
  if (known !== undefined) return known
  const part = items.subarray(start, end)
  holdersOfKept.set(part, {})
  if (parts.length === partsMax) parts.shift()
  parts.push(part)
  return part
}

/** The number of parts kept of a leaf: one page ends in it and the next begins, and some lists of
 *  other sizes do too. */
const partsMax = 4

const partsOfKept = new WeakMap<Uint8Array, Uint8Array[]>()

/** The items of a run of picked entries, in one piece if the same were picked before, else one by
 *  one. What is kept hangs on the first entry; equal holders say that it is of the same entries. */
export function* itemsOfPicked(
  { entries, from, to }: Run,
  encoder: ItemEncoder,
  cache: SegmentCache<Segment>,
): Generator<Uint8Array | NotExact, void, undefined> {
  // Items that show ages are kept one by one only.
  const name = encoder.aging === undefined ? encoder.segmentName : undefined
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
    const run = { entries: [entries[from + i]!], from: 0, to: 1, leaf, size: 1 }
    const items = itemsOfRun(run, encoder, { cache })
    yield items
    if (items instanceof NotExact) return
    bytes += items.length
    if (bytes <= pickedMaxBytes) pieces.push(items)
  }
  if (name === undefined || bytes > pickedMaxBytes) return
  const segment = { bytes: Buffer.concat(pieces), ends: noEnds, of: holders }
  cache.set(first, `picked ${name}`, segment, bytes + overheadBytes + 8 * holders.length)
}

/** Copying more into one piece takes long and saves little. */
const pickedMaxBytes = 256 * 1024

/** The bytes of a segment beside its own: two typed arrays and what holds them. */
export const overheadBytes = 300

/** The bytes of a single entry in one encoder, kept with the entry itself: what is made of it
 *  alone, or of entries that were picked out, which lie in leaves with others that were not asked
 *  for. */
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

/** The holder of whatever is made of a single entry. */
export function holderOf(entry: KeyValue): SegmentHolder {
  let holder = holders.get(entry)
  if (holder === undefined) {
    holder = {}
    holders.set(entry, holder)
  }
  return holder
}

const holders = new WeakMap<KeyValue, SegmentHolder>()

function partOf({ bytes, ends, ages }: Segment, from: number, to: number): Uint8Array {
  const start = from === 0 ? 0 : (ends[from - 1] as number)
  const end = to === 0 ? 0 : (ends[to - 1] as number)
  // Items that show ages are not kept a second time.
  return ages === undefined ? partOfKept(bytes, start, end) : bytes.subarray(start, end)
}

/** Items that were written, to be copied before anybody else writes. */
interface Written {
  readonly made: Segment
  readonly out: ByteWriter
}

/** The effort after which others have a turn: about a millisecond. */
const stepEffort = 1_000
/** The bytes that are written in the time of a small thing, beside what was noted. */
const bytesPerEffort = 512

/** The work of one step. */
export class StepEffort {
  readonly #out: ByteWriter
  readonly #begunAt: number = notedEffort()
  readonly #length: number

  constructor(out: ByteWriter) {
    this.#out = out
    this.#length = out.length
  }

  get isSpent(): boolean {
    const written = (this.#out.length - this.#length) / bytesPerEffort
    return notedEffort() - this.#begunAt + written > stepEffort
  }
}

/** Writes items into `scratch`; once others have had a turn, into a writer of its own. Items that
 *  have not aged since they were kept are taken from there. */
function* makeSegment(
  { entries, from, to }: Run,
  { append, aging, uncut }: ItemEncoder,
  kept: Segment | undefined,
  whole: Segment | undefined,
): Steps<Written | NotExact> {
  const ends = new Uint32Array(to - from)
  const ages = aging === undefined ? undefined : emptyAges(to - from)
  let out = scratch
  out.clear()
  let step = new StepEffort(out)
  for (let i = from; i < to; i++) {
    if (step.isSpent) {
      if (out === scratch) {
        out = new ByteWriter()
        out.append(scratch.bytes, 0, scratch.length)
      }
      yield
      step = new StepEffort(out)
    }
    if (kept?.ages !== undefined && aging !== undefined && isAgeOfNow(kept.ages, i, aging.now)) {
      out.append(kept.bytes, i === 0 ? 0 : (kept.ends[i - 1] as number), kept.ends[i])
      noteAge(ages, i - from, kept.ages.from[i] as number, kept.ages.until[i] as number)
    } else if (whole !== undefined && uncut !== undefined) {
      const start = out.length
      out.append(whole.bytes, i === 0 ? 0 : (whole.ends[i - 1] as number), whole.ends[i])
      const problem = uncut.cut(out, start)
      if (problem !== undefined) return problem
    } else {
      aging?.begin()
      const start = out.length
      const problem = append(out, entries[i] as KeyValue)
      assert(out.length >= start, 'an item is behind those before it')
      if (problem !== undefined) return problem
      if (aging !== undefined) noteAge(ages, i - from, aging.now, aging.now + aging.holdsMs())
    }
    ends[i - from] = out.length
  }
  return { made: { bytes: out.bytes.subarray(0, out.length), ends, ages }, out }
}

/** The kept items of the run's leaf, of which something is to be cut out. */
function uncutOf({ leaf }: Run, { uncut }: ItemEncoder, { cache }: KeptItems): Segment | undefined {
  if (uncut === undefined || leaf === undefined) return undefined
  return cache?.get(leaf, uncut.segmentName)
}

function emptyAges(items: number): Ages {
  return { from: new Float64Array(items), until: new Float64Array(items) }
}

function noteAge(ages: Ages | undefined, index: number, from: number, until: number): void {
  if (ages === undefined) return
  ages.from[index] = from
  ages.until[index] = until
}

/** Whether all of the run's items are in the segment as they have to be shown now. */
function isOfNow({ ages }: Segment, aging: Aging | undefined, { from, to }: Run): boolean {
  if (ages === undefined || aging === undefined) return true
  for (let i = from; i < to; i++) if (!isAgeOfNow(ages, i, aging.now)) return false
  return true
}

/** The clock may have been put back since. */
function isAgeOfNow({ from, until }: Ages, index: number, now: number): boolean {
  return (from[index] as number) <= now && now < (until[index] as number)
}

const scratch = new ByteWriter()

/** The share that stays in the cache, in sizes of the list: several clients may read it. */
const sparedLists = 3

/** The expected size of a list, from its items so far. */
export class ExpectedSize {
  readonly #allItems: number
  readonly #keptMaxBytes: number
  #items = 0
  #bytes = 0

  constructor(allItems: number, keptMaxBytes: number = Infinity) {
    this.#allItems = allItems
    this.#keptMaxBytes = keptMaxBytes
  }

  /** Bytes that items of this list must not replace; 0 if it fits. */
  get sparedBytes(): number {
    if (this.#items === 0) return 0
    const bytes = (this.#bytes * this.#allItems) / this.#items
    return bytes > this.#keptMaxBytes ? sparedLists * bytes : 0
  }

  add(items: number, bytes: number): void {
    this.#items += items
    this.#bytes += bytes
  }
}
