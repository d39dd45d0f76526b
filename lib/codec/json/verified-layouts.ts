/** Verifies an object by comparing it with one that was verified before.
 *
 *  Objects of one kind that the same program writes differ in their values and hardly in their
 *  members. So the text of a verified object is kept, with the positions of its leaves: texts,
 *  numbers, true and false. Another object with the same bytes between the leaves, and leaves of
 *  the same sort, needs no verification of its own:
 *
 *      {"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","uid":"1"},"spec":{"size":10,"note":null}}
 *                                                               ^^^       ^^^                  ^^
 *
 *  What the server changes in an object depends on its keys, brackets and nulls, and, inside
 *  metadata, on whether texts are empty and times are valid. Keys, brackets and nulls lie
 *  between the leaves; the sort of a leaf covers the rest. apiVersion and kind are not leaves.
 *  Comparing takes 3.5 µs of an object of 4,357 bytes, verifying 6.0, or 8.2 where a schema
 *  declares all members (bench/codec, November 2026). */

import { scalarEnd } from './proven.ts'
import type { JsonVerifier } from './verify.ts'
import { canonicalStringEnd, inputOf, isCanonicalTime, type JsonInput } from '@watchglass/go'

/** The objects of a list mostly have one of a few layouts; with more, most comparisons would
 *  fail. */
const layoutCount = 4
/** Larger objects are verified each time: they are few and rarely similar. */
const layoutMaxBytes = 16 * 1024
/** After so many objects in a row that were like no other, comparing pauses for `pauseObjects`
 *  objects. */
const missesBeforePause = 8
const pauseObjects = 64

/** The sorts of leaves: what stands in the same place of another object must be of the same
 *  sort. */
const anyText = 0
const filledText = 1
const time = 2
const anyNumber = 3
const integer = 4
const nonZero = 5
const boolean = 6

const quote = 0x22
const colon = 0x3a

/** Objects that were verified under the same rules. A match puts its positions into the verifier
 *  that it is given. */
export class VerifiedLayouts {
  readonly #list: Layout[] = []
  #last = 0
  #misses = 0
  #pause = 0

  /** True if the object in `bytes[start..end)` is like a kept one; then `verifier` has its
   *  positions, as after `verify`. */
  match(verifier: JsonVerifier, bytes: Uint8Array, start: number, end: number): boolean {
    if (this.#pause > 0) {
      this.#pause--
      return false
    }
    verifier.setInput(bytes)
    const count = this.#list.length
    for (let i = 0; i < count; i++) {
      const at = (this.#last + i) % count
      if ((this.#list[at] as Layout).match(verifier, start, end)) {
        this.#last = at
        this.#misses = 0
        return true
      }
    }
    return false
  }

  /** Keeps the object that `verifier` has just verified. */
  remember(verifier: JsonVerifier): void {
    if (this.#pause > 0 || verifier.resourceVersionStart >= 0) return
    if (verifier.objectEnd - verifier.objectStart > layoutMaxBytes) return
    this.#misses++
    if (this.#misses > missesBeforePause) {
      this.#misses = 0
      this.#pause = pauseObjects
    }
    this.#last =
      this.#list.length < layoutCount ? this.#list.length : (this.#last + 1) % layoutCount
    this.#list[this.#last] = new Layout(verifier)
  }
}

/** One verified object. Positions count from its opening brace. */
class Layout {
  readonly #known: JsonInput
  readonly #leafStarts: Int32Array
  readonly #leafEnds: Int32Array
  readonly #sorts: Uint8Array
  /** By leaf, and behind the last: how far what comes before it is moved in the object that is
   *  compared. */
  readonly #shifts: Int32Array
  readonly #apiVersion: Place
  readonly #kind: Place
  readonly #insertAt: Place
  readonly #isInsertedLast: boolean
  readonly #isMetadataEmpty: boolean

  constructor(verifier: JsonVerifier) {
    const { objectStart, objectEnd } = verifier
    this.#known = inputOf(verifier.input.bytes.slice(objectStart, objectEnd))
    const placeOf = (start: number, end: number): Place => ({
      start: start - objectStart,
      end: end - objectStart,
      leaf: 0,
    })
    this.#apiVersion = placeOf(verifier.apiVersionStart, verifier.apiVersionEnd)
    this.#kind = placeOf(verifier.kindStart, verifier.kindEnd)
    this.#insertAt = placeOf(verifier.insertAt, verifier.insertAt)
    this.#isInsertedLast = verifier.isInsertedLast
    this.#isMetadataEmpty = verifier.isMetadataEmpty
    const leaves = leavesOf(this.#known, [this.#apiVersion, this.#kind, this.#insertAt])
    this.#leafStarts = Int32Array.from(leaves, leaf => leaf.start)
    this.#leafEnds = Int32Array.from(leaves, leaf => leaf.end)
    this.#sorts = Uint8Array.from(leaves, leaf => leaf.sort)
    this.#shifts = new Int32Array(leaves.length + 1)
  }

  match(verifier: JsonVerifier, start: number, end: number): boolean {
    const { input } = verifier
    const known = this.#known
    const shifts = this.#shifts
    const leafStarts = this.#leafStarts
    const leafCount = leafStarts.length
    const knownEnd = known.bytes.length
    let from = 0
    let at = start
    for (let i = 0; ; i++) {
      const to = i < leafCount ? (leafStarts[i] as number) : knownEnd
      shifts[i] = at - from
      if (to - from > end - at || !isSame(known.view, from, to, input.view, at)) return false
      at += to - from
      if (i === leafCount) break
      at = leafEnd(input, at, end, this.#sorts[i] as number)
      if (at < 0) return false
      from = this.#leafEnds[i] as number
    }
    return verifier.endsAt(start, at, end) && this.#note(verifier)
  }

  /** Gives the verifier the places in the object that has been compared. */
  #note(verifier: JsonVerifier): true {
    const apiVersionShift = this.#shifts[this.#apiVersion.leaf] as number
    const kindShift = this.#shifts[this.#kind.leaf] as number
    verifier.apiVersionStart = this.#apiVersion.start + apiVersionShift
    verifier.apiVersionEnd = this.#apiVersion.end + apiVersionShift
    verifier.kindStart = this.#kind.start + kindShift
    verifier.kindEnd = this.#kind.end + kindShift
    verifier.resourceVersionStart = -1
    verifier.insertAt = this.#insertAt.start + (this.#shifts[this.#insertAt.leaf] as number)
    verifier.isInsertedLast = this.#isInsertedLast
    verifier.isMetadataEmpty = this.#isMetadataEmpty
    return true
  }
}

/** A place between leaves, and how many leaves come before it. */
interface Place {
  readonly start: number
  readonly end: number
  leaf: number
}

interface Leaf {
  readonly start: number
  readonly end: number
  readonly sort: number
}

/** The leaves of a proven object, but for those that `places` hold; and into the places, how many
 *  come before them. */
function leavesOf(known: JsonInput, places: readonly Place[]): Leaf[] {
  const { bytes } = known
  const leaves: Leaf[] = []
  let at = 0
  while (at < bytes.length) {
    const start = at
    const byte = bytes[start] as number
    for (const place of places) if (place.start === start) place.leaf = leaves.length
    if (byte === quote) {
      at = canonicalStringEnd(known, start + 1, bytes.length)
      const isValue = bytes[at] !== colon
      if (isValue && places.every(place => place.start !== start)) {
        leaves.push({ start, end: at, sort: textSort(bytes, start + 1, at - 1) })
      }
    } else if (byte === 0x74 || byte === 0x66) {
      at = start + (byte === 0x74 ? 4 : 5)
      leaves.push({ start, end: at, sort: boolean })
    } else if (byte === 0x2d || (byte >= 0x30 && byte <= 0x39)) {
      while (isNumberByte(bytes[at] as number)) at++
      leaves.push({ start, end: at, sort: numberSort(bytes, start, at) })
    } else {
      at += byte === 0x6e ? 4 : 1
    }
  }
  return leaves
}

function textSort(bytes: Uint8Array, start: number, end: number): number {
  if (isCanonicalTime(bytes, start, end)) return time
  return start === end ? anyText : filledText
}

function numberSort(bytes: Uint8Array, start: number, end: number): number {
  if (!isPlainInteger(bytes, start, end)) return anyNumber
  return bytes[start] === 0x30 ? integer : nonZero
}

/** The end of the leaf at `at`, if it is of that sort and as Go writes it; otherwise -1. */
function leafEnd(input: JsonInput, at: number, end: number, sort: number): number {
  const { bytes } = input
  if (at >= end) return -1
  const first = bytes[at] as number
  if (sort <= time) {
    if (first !== quote) return -1
    const after = canonicalStringEnd(input, at + 1, end)
    if (sort === filledText && after === at + 2) return -1
    return sort === time && !isCanonicalTime(bytes, at + 1, after - 1) ? -1 : after
  }
  if (sort === boolean) return first === 0x74 || first === 0x66 ? scalarEnd(input, at, end) : -1
  if (first > 0x39) return -1
  const after = scalarEnd(input, at, end)
  if (sort === anyNumber || after < 0) return after
  if (sort === nonZero && first === 0x30) return -1
  return isPlainInteger(bytes, at, after) ? after : -1
}

/** Short enough to be an integer in every form. */
function isPlainInteger(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start > 15) return false
  for (let i = start + 1; i < end; i++) {
    if ((bytes[i] as number) < 0x30 || (bytes[i] as number) > 0x39) return false
  }
  return true
}

function isNumberByte(byte: number): boolean {
  return (
    (byte >= 0x30 && byte <= 0x39) ||
    byte === 0x2d ||
    byte === 0x2b ||
    byte === 0x2e ||
    (byte | 0x20) === 0x65
  )
}

/** True if the text `known[from..to)` stands at `at`, too. */
// oxlint-disable-next-line max-params -- positions in the innermost loop; an object of them would be made for each leaf
function isSame(known: DataView, from: number, to: number, view: DataView, at: number): boolean {
  const shift = at - from
  let position = from
  for (; position + 4 <= to; position += 4) {
    if (known.getInt32(position) !== view.getInt32(position + shift)) return false
  }
  for (; position < to; position++) {
    if (known.getUint8(position) !== view.getUint8(position + shift)) return false
  }
  return true
}
