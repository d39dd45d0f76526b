/** The items of many picked entries, joined in pieces that are kept: the shards of a list, which
 *  their replicas list again and again, and nobody else does. Passing each item to the socket alone
 *  takes longer than to encrypt it, and so does copying items for each list (bench/fleet, November
 *  2026).
 *
 *  A piece hangs on the first of its entries. Where pieces end depends on the entries alone, not on
 *  how many lie before them, so that one more or one less changes no other piece. Of a piece that
 *  has changed, what stays is copied from the one before. */

import type { KeyValue } from '../../store/event.ts'
import type { SegmentCache } from '../../store/segments.ts'
import { ByteWriter } from '../../wire/byte-writer.ts'
import { NotExact } from '../not-exact.ts'
import {
  holderOf,
  type ItemEncoder,
  itemsOfPicked,
  lastingCopy,
  type Members,
  overheadBytes,
  type Run,
  type Segment,
} from './segments.ts'

/** A piece has so many items, on average. */
const piecesMean = 32
/** And at most so many, of so many stored bytes, but for a single larger one: no piece takes long
 *  to make. */
const pieceEntriesMax = 64
const pieceBytesMax = 128 * 1024

/** Entries in the order of keys, as runs whose items are joined. */
export function joinedRuns(entries: readonly KeyValue[]): Run[] {
  const runs: Run[] = []
  let from = 0
  let bytes = 0
  for (const [at, { key, valueLength }] of entries.entries()) {
    const isFull = at - from >= pieceEntriesMax || bytes + valueLength > pieceBytesMax
    if (at > from && (isFull || endsPiece(key))) {
      runs.push({ entries, from, to: at, leaf: undefined, isJoined: true })
      from = at
      bytes = 0
    }
    bytes += valueLength
  }
  if (from < entries.length) {
    runs.push({ entries, from, to: entries.length, leaf: undefined, isJoined: true })
  }
  return runs
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
  const name = `joined ${segmentName}`
  const kept = cache.get(holder, name)
  if (kept?.members !== undefined && isOf(kept.members, run)) {
    yield kept.bytes
    return
  }
  const made = join(run, encoder, kept)
  if (made instanceof NotExact) {
    yield made
    return
  }
  const { bytes, ends } = made
  const tables = ends.byteLength + 16 * ends.length
  cache.set(holder, name, made, bytes.length + tables + overheadBytes)
  yield bytes
}

/** Whether these are the entries of the run. An entry is what its key was at its revision; as the
 *  first one is the same object, the history is the same. */
function isOf({ keys, revisions }: Members, { entries, from, to }: Run): boolean {
  if (keys.length !== to - from) return false
  for (let i = 0; i < keys.length; i++) {
    const { key, modRevision } = entries[from + i]!
    if (revisions[i] !== modRevision || keys[i] !== key) return false
  }
  return true
}

function join(
  { entries, from, to }: Run,
  { append }: ItemEncoder,
  kept: Segment | undefined,
): Segment | NotExact {
  const keys: string[] = []
  const revisions: number[] = []
  const ends = new Uint32Array(to - from)
  const { keys: keptKeys = [], revisions: keptRevisions = [] } = kept?.members ?? {}
  let old = 0
  scratch.clear()
  for (let i = from; i < to; i++) {
    const entry = entries[i]!
    while (old < keptKeys.length && keptKeys[old]! < entry.key) old++
    if (
      kept !== undefined &&
      keptKeys[old] === entry.key &&
      keptRevisions[old] === entry.modRevision
    ) {
      scratch.append(kept.bytes, old === 0 ? 0 : kept.ends[old - 1], kept.ends[old])
    } else {
      const problem = append(scratch, entry)
      if (problem !== undefined) return problem
    }
    ends[i - from] = scratch.length
    keys.push(entry.key)
    revisions.push(entry.modRevision)
  }
  return { bytes: lastingCopy(scratch), ends, members: { keys, revisions } }
}

const scratch = new ByteWriter()
