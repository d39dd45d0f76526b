/** The items of many picked entries, joined in pieces that are kept: the shards of a list, which
 *  their replicas list again and again, and nobody else does. Passing each item to the socket alone
 *  takes longer than to encrypt it, and so does copying items for each list (bench/fleet, November
 *  2026).
 *
 *  A piece hangs on the first of its entries. Where pieces end depends on the entries alone, not on
 *  how many lie before them, so that one more or one less changes no other piece. Of a piece that
 *  has changed, what stays is copied from the one before. */

import type { KeyValue, SegmentCache, SegmentHolder } from '@watchglass/store'
import { ByteWriter, NotExact } from '@watchglass/base'
import {
  holderOf,
  type ItemEncoder,
  itemsOfPicked,
  lastingCopy,
  type Members,
  overheadBytes,
  type Run,
  type Segment,
  StepEffort,
} from './segments.ts'

/** A piece has so many items, on average. */
const piecesMean = 32
/** And at most so many, of so many stored bytes, but for a single larger one: no piece takes long
 *  to make. */
const pieceEntriesMax = 64
const pieceBytesMax = 128 * 1024

/** Entries in the order of keys, as runs whose items are joined. */
export function joinedRuns(entries: readonly KeyValue[]): Run[] {
  const { length } = entries
  if (length > 0 && length <= pieceEntriesMax && bytesOf(entries) <= pieceBytesMax) {
    return [joinedRun(entries, 0, length)]
  }
  const runs: Run[] = []
  let from = 0
  let bytes = 0
  for (const [at, { key, valueLength }] of entries.entries()) {
    const isFull = at - from >= pieceEntriesMax || bytes + valueLength > pieceBytesMax
    if (at > from && (isFull || endsPiece(key))) {
      runs.push(joinedRun(entries, from, at))
      from = at
      bytes = 0
    }
    bytes += valueLength
  }
  if (from < length) runs.push(joinedRun(entries, from, length))
  return runs
}

function bytesOf(entries: readonly KeyValue[]): number {
  return entries.reduce((sum, { valueLength }) => sum + valueLength, 0)
}

function joinedRun(entries: readonly KeyValue[], from: number, to: number): Run {
  return { entries, from, to, leaf: undefined, isJoined: true, members: undefined }
}

/** The last characters of names are the ones that differ. */
const hashedEnd = 6

function endsPiece(key: string): boolean {
  let hash = 0
  for (let i = Math.max(0, key.length - hashedEnd); i < key.length; i++) {
    hash = (Math.imul(hash, 31) + key.charCodeAt(i)) | 0
  }
  // Names that are counted up must not have hashes that are, too (the last steps of Murmur3).
  hash = Math.imul(hash ^ (hash >>> 16), 0x85eb_ca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2_ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % piecesMean === 0
}

/** The items of such a run, in one piece if they can be kept. */
export function* itemsJoined(
  run: Run,
  encoder: ItemEncoder,
  cache: SegmentCache<Segment>,
): Generator<Uint8Array | NotExact, void, undefined> {
  const { segmentName, aging } = encoder
  if (segmentName === undefined || aging !== undefined) {
    yield* itemsOfPicked(run, encoder, cache)
    return
  }
  const holder = holderOf(run.entries[run.from]!)
  if (takingLong.has(holder)) {
    yield* itemsOfPicked(run, encoder, cache)
    return
  }
  const name = `joined ${segmentName}`
  const kept = cache.get(holder, name)
  const members = (run.members ??= membersOf(run))
  if (kept?.members !== undefined && areSame(kept.members, members)) {
    // Of a run that is kept they are known the next time.
    kept.members = members
    yield kept.bytes
    return
  }
  const made = join(run, members, encoder, kept)
  if (made === undefined) {
    takingLong.add(holder)
    yield* itemsOfPicked(run, encoder, cache)
    return
  }
  if (made instanceof NotExact) {
    yield made
    return
  }
  const { bytes, ends } = made
  const tables = ends.byteLength + 16 * ends.length
  cache.set(holder, name, made, bytes.length + tables + overheadBytes)
  yield bytes
}

/** The first entries of runs that take long to make: each item of such a run is a piece of its own,
 *  between which the work can give way. */
const takingLong = new WeakSet<SegmentHolder>()

function membersOf({ entries, from, to }: Run): Members {
  const [keys, revisions]: [string[], number[]] = [[], []]
  for (let i = from; i < to; i++) {
    keys.push(entries[i]!.key)
    revisions.push(entries[i]!.modRevision)
  }
  return { keys, revisions }
}

/** Whether these are the same entries. An entry is what its key was at its revision; as the first
 *  one is the same object, the history is the same. */
function areSame(a: Members, b: Members): boolean {
  if (a === b) return true
  if (a.keys.length !== b.keys.length) return false
  return a.keys.every((key, i) => a.revisions[i] === b.revisions[i] && key === b.keys[i])
}

/** Undefined if that takes long. */
function join(
  { entries, from }: Run,
  members: Members,
  { append }: ItemEncoder,
  kept: Segment | undefined,
): Segment | NotExact | undefined {
  const { keys, revisions } = members
  const ends = new Uint32Array(keys.length)
  const { keys: keptKeys = [], revisions: keptRevisions = [] } = kept?.members ?? {}
  let old = 0
  scratch.clear()
  const step = new StepEffort(scratch)
  for (const [i, key] of keys.entries()) {
    if (step.isSpent) return undefined
    while (old < keptKeys.length && keptKeys[old]! < key) old++
    if (kept !== undefined && keptKeys[old] === key && keptRevisions[old] === revisions[i]) {
      scratch.append(kept.bytes, old === 0 ? 0 : kept.ends[old - 1], kept.ends[old])
    } else {
      const problem = append(scratch, entries[from + i]!)
      if (problem !== undefined) return problem
    }
    ends[i] = scratch.length
  }
  return { bytes: lastingCopy(scratch), ends, members }
}

const scratch = new ByteWriter()
