/** The encoded items of one leaf in memory that all threads of the process can read.
 *
 *  ```
 *  | items | - | place, ... | revision, ... | end, ... | the bytes of the items, one after the other |
 *  ```
 *
 *  The memory is written once, by the thread that encoded the items, before any other thread is
 *  told of it, and never again. So nobody has to lock it, and it lives as long as any thread holds
 *  it: a socket that still writes from it holds it, too.
 *
 *  It says itself what it was made of. A value in a slab has a place that no other value ever
 *  has, so the places and revisions of a leaf's entries name exactly the bytes that were
 *  encoded, in whichever thread the leaf is. */

import { type KeyValue, slabBytes } from '@watchglass/store'
import type { Segment } from '@watchglass/codec'

/** The place of a value in shared memory, as a number that no other value has; undefined for one in
 *  memory of one thread. */
export type PlaceOf = (entry: KeyValue) => number | undefined

/** Makes places of the numbers of shared slabs. */
export function createPlaceOf(slabOf: (bytes: Uint8Array) => number | undefined): PlaceOf {
  return ({ bytes, start }) => {
    const slab = slabOf(bytes)
    // A value that is longer than a slab has one of its own, and begins at 0.
    return slab === undefined ? undefined : slab * slabBytes + start
  }
}

/** The places and the revisions of the entries of a leaf. */
export interface LeafIdentity {
  readonly places: Float64Array
  readonly revisions: Float64Array
}

/** Undefined if a value is in the memory of one thread: what that is made of means nothing to
 *  others. */
export function identityOf(
  entries: readonly KeyValue[],
  size: number,
  placeOf: PlaceOf,
): LeafIdentity | undefined {
  const places = new Float64Array(size)
  const revisions = new Float64Array(size)
  for (let i = 0; i < size; i++) {
    const entry = entries[i]!
    const place = placeOf(entry)
    if (place === undefined) return undefined
    places[i] = place
    revisions[i] = entry.modRevision
  }
  return { places, revisions }
}

const headBytes = 8
const numberBytes = 8
const endBytes = 4

export class SharedSegment implements Segment {
  readonly memory: SharedArrayBuffer
  readonly bytes: Buffer
  readonly ends: Uint32Array
  readonly #places: Float64Array
  readonly #revisions: Float64Array

  /** In memory that `write` has filled. */
  constructor(memory: SharedArrayBuffer) {
    const [items = 0] = new Uint32Array(memory, 0, 1)
    const [placesAt, revisionsAt, endsAt, bytesAt] = partsOf(items)
    this.memory = memory
    this.#places = new Float64Array(memory, placesAt, items)
    this.#revisions = new Float64Array(memory, revisionsAt, items)
    this.ends = new Uint32Array(memory, endsAt, items)
    this.bytes = Buffer.from(memory, bytesAt)
  }

  /** A segment of its own memory: the items of the leaf in `bytes`, each up to its end. */
  static write(
    { places, revisions }: LeafIdentity,
    ends: Uint32Array,
    bytes: Uint8Array,
  ): SharedSegment {
    const [placesAt, revisionsAt, endsAt, bytesAt] = partsOf(ends.length)
    const memory = new SharedArrayBuffer(bytesAt + bytes.length)
    new Uint32Array(memory, 0, 1)[0] = ends.length
    new Float64Array(memory, placesAt, ends.length).set(places)
    new Float64Array(memory, revisionsAt, ends.length).set(revisions)
    new Uint32Array(memory, endsAt, ends.length).set(ends)
    // `set` copies into shared memory byte by byte, ten times as slowly (Node 20).
    if (bytes.length > 0) Buffer.from(memory).fill(bytes, bytesAt)
    return new SharedSegment(memory)
  }

  /** Memory that it takes. */
  get size(): number {
    return this.memory.byteLength + overheadBytes
  }

  /** The place of its first entry, by which it is looked up. */
  get firstPlace(): number {
    return this.#places[0]!
  }

  /** Whether it was made of exactly these entries. */
  isOf(entries: readonly KeyValue[], size: number, placeOf: PlaceOf): boolean {
    if (this.#places.length !== size) return false
    for (let i = 0; i < size; i++) {
      const entry = entries[i]!
      if (entry.modRevision !== this.#revisions[i]) return false
      if (placeOf(entry) !== this.#places[i]) return false
    }
    return true
  }

  /** Whether both were made of the same entries. */
  equals(other: SharedSegment): boolean {
    const count = this.#places.length
    if (other.#places.length !== count) return false
    for (let i = 0; i < count; i++) {
      if (other.#places[i] !== this.#places[i]) return false
      if (other.#revisions[i] !== this.#revisions[i]) return false
    }
    return true
  }
}

/** The objects that a thread has of a segment. */
const overheadBytes = 600

function partsOf(items: number): readonly [number, number, number, number] {
  const revisionsAt = headBytes + items * numberBytes
  const endsAt = revisionsAt + items * numberBytes
  return [headBytes, revisionsAt, endsAt, endsAt + items * endBytes]
}
