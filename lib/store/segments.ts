/** Derived data that is kept with the leaves and is expensive to make from their entries, such as
 *  encoded bytes.
 *
 *  A leaf never changes, so its segments are never stale: a change makes a new leaf, which has no
 *  segments yet, and all snapshots that share a leaf share its segments. One budget covers all
 *  segments of a process. When it is exceeded, the least recently used ones are evicted; segments
 *  of a leaf that no snapshot holds are not used any more, so they go first. Below the budget they
 *  go when they have not been used for some periods: a small cluster that changes would fill the
 *  budget with what nobody can ask for any more. Its budget is smaller for that reason, too. The
 *  cache holds segments, never leaves, so that it keeps no entry alive.
 *
 *  A list that is larger than the budget and is read again and again would evict each segment
 *  shortly before it is needed, so that none was ever found. Such a list says how much it reads,
 *  and evicts nothing that was used within so many bytes: what was kept first stays. The cache
 *  has no clock; it counts the bytes that it is asked for and given. */

import { assert } from '@watchglass/base'

/** The number of segments that one call evicts where the budget has become smaller: there may be
 *  very many. */
const droppedBySet = 64

/** One leaf's entries in one encoding, under the name of that encoding. A link of two lists: its
 *  leaf's, and the cache's in order of use. */
export class CachedSegment {
  readonly name: string
  readonly bytes: number
  /** `undefined` once dropped. */
  data: unknown
  /** The period in which it was used last. */
  usedIn: number
  /** Bytes that the cache had been asked for and given when this was last used. */
  usedAt: number
  nextOfLeaf: CachedSegment | undefined
  newer: CachedSegment | undefined
  older: CachedSegment | undefined

  constructor(name: string, bytes: number, data: unknown) {
    this.name = name
    this.bytes = bytes
    this.data = data
    this.usedIn = 0
    this.usedAt = 0
    this.nextOfLeaf = undefined
    this.newer = undefined
    this.older = undefined
  }
}

/** The owner of segments: a leaf. */
export interface SegmentHolder {
  /** Only `SegmentCache` touches it. */
  segments?: CachedSegment | undefined
  /** Result of the last search for it among the segments that threads share. Only the shelf of
   *  those touches it (codec/shared/shelf.ts). */
  found?: unknown
}

/** The segments of all leaves, under one budget. `D` is what a segment is made of; one cache serves
 *  all keyspaces. */
export class SegmentCache<D extends object> {
  readonly #budgetBytes: number
  readonly #onDropped: (bytes: number) => void
  #bytes = 0
  #traffic = 0
  #count = 0
  #newest: CachedSegment | undefined = undefined
  #oldest: CachedSegment | undefined = undefined
  #period = 0
  #maxBytes: number

  /** `onDropped` is told of all that is not kept any more. */
  constructor(maxBytes: number, onDropped: (bytes: number) => void = () => {}) {
    this.#budgetBytes = maxBytes
    this.#maxBytes = maxBytes
    this.#onDropped = onDropped
  }

  /** The budget. */
  get maxBytes(): number {
    return this.#maxBytes
  }

  /** Makes the budget smaller than the first one, or larger again. What is over it goes as other
   *  segments come, and with periods. */
  limitTo(bytes: number): void {
    this.#maxBytes = Math.min(bytes, this.#budgetBytes)
  }

  /** The bytes of all segments that are kept. */
  get bytes(): number {
    return this.#bytes
  }

  /** Number of segments kept. */
  get count(): number {
    return this.#count
  }

  /** The data that `set` was given for this leaf under this name, unless it was dropped since.
   *  O(segments of the leaf). */
  get(leaf: SegmentHolder, name: string): D | undefined {
    let segment = leaf.segments
    while (segment !== undefined) {
      if (segment.name === name && segment.data !== undefined) {
        this.#touch(segment)
        return segment.data as D
      }
      segment = segment.nextOfLeaf
    }
    return undefined
  }

  /** True if there is room for so much, or room was made without what was used within the last
   *  `sparedBytes` that the cache was asked for and given. */
  hasRoom(bytes: number, sparedBytes: number): boolean {
    if (sparedBytes === 0 || this.#makeRoom(bytes, this.#traffic - sparedBytes)) return true
    this.#traffic += bytes
    return false
  }

  /** Keeps `data` of size `bytes` with the leaf, in place of the old segment of the same name. Data
   *  above the whole budget is not kept. */
  set(leaf: SegmentHolder, name: string, data: D, bytes: number): void {
    let kept: CachedSegment | undefined = undefined
    for (let segment = leaf.segments; segment !== undefined;) {
      const next: CachedSegment | undefined = segment.nextOfLeaf
      if (segment.name === name) this.#drop(segment)
      if (segment.data !== undefined) {
        segment.nextOfLeaf = kept
        kept = segment
      }
      segment = next
    }
    leaf.segments = kept
    this.#traffic += bytes
    if (bytes > this.#maxBytes) {
      this.#onDropped(bytes)
      return
    }
    const segment = new CachedSegment(name, bytes, data)
    segment.nextOfLeaf = kept
    leaf.segments = segment
    segment.usedIn = this.#period
    this.#link(segment)
    this.#bytes += bytes
    this.#count++
    this.dropTo(this.#budgetBytes)
    this.#dropSome(droppedBySet)
  }

  /** Evicts segments that were last used before then, until there is room for so much. False if
   *  there is not. */
  #makeRoom(bytes: number, usedBefore: number): boolean {
    while (this.#bytes + bytes > this.#maxBytes) {
      const oldest = this.#oldest
      if (oldest === undefined || oldest.usedAt >= usedBefore) return false
      this.#drop(oldest)
    }
    return true
  }

  /** Evicts the least recently used segments until at most `bytes` are left. */
  dropTo(bytes: number): void {
    while (this.#bytes > bytes && this.#oldest !== undefined) this.#drop(this.#oldest)
  }

  /** Ends a period: evicts what was last used `kept` periods ago or earlier; no more than `max`,
   *  which bounds the time. */
  nextPeriod(kept: number, max: number): void {
    const first = this.#period - kept
    for (let i = 0; i < max; i++) {
      const segment = this.#oldest
      if (segment === undefined || segment.usedIn > first) break
      this.#drop(segment)
    }
    this.#dropSome(max)
    this.#period++
  }

  #dropSome(max: number): void {
    for (let i = 0; i < max && this.#bytes > this.#maxBytes; i++) {
      if (this.#oldest !== undefined) this.#drop(this.#oldest)
    }
  }

  #drop(segment: CachedSegment): void {
    if (segment.data === undefined) return
    segment.data = undefined
    this.#unlink(segment)
    this.#bytes -= segment.bytes
    this.#count--
    assert(this.#count > 0 || this.#bytes === 0, 'a segment is counted as long as it is kept')
    this.#onDropped(segment.bytes)
  }

  #touch(segment: CachedSegment): void {
    segment.usedIn = this.#period
    this.#traffic += segment.bytes
    segment.usedAt = this.#traffic
    if (segment === this.#newest) return
    this.#unlink(segment)
    this.#link(segment)
  }

  #link(segment: CachedSegment): void {
    segment.usedAt = this.#traffic
    segment.older = this.#newest
    if (this.#newest !== undefined) this.#newest.newer = segment
    this.#newest = segment
    this.#oldest ??= segment
  }

  #unlink(segment: CachedSegment): void {
    if (segment.newer === undefined) this.#newest = segment.older
    else segment.newer.older = segment.older
    if (segment.older === undefined) this.#oldest = segment.newer
    else segment.older.newer = segment.newer
    segment.newer = undefined
    segment.older = undefined
  }
}
