/** The nodes of the persistent B+tree, and the searches within one node.
 *
 *  ```
 *  Inner  keys:     [ k1 , k2 ]             children[i] holds keys >= keys[i - 1] and < keys[i]
 *         marks:    [ m1 , m2 ]             marks[i] stands for keys[i]
 *         children: [ c0 , c1 , c2 ]
 *  Leaf   marks:    [ m0 , m1 , m2 ]        marks[i] stands for entries[i].key
 *         entries:  [ A  , B  , C  ]
 *  ```
 *
 *  Nodes never change once a tree has them, except for the segments that a leaf carries. All leaves are at the same depth, so code
 *  that knows the height knows the class of a node without looking.
 *
 *  A mark is a small number made of four bytes of a key: those after the `skip` bytes that all keys which can lie in the node have
 *  in common, because both neighbours of its range have them. Marks are in the order of their keys, equal ones aside, so that a
 *  search reads one array of numbers and compares strings only where marks are equal. In a large tree each string costs a cache
 *  miss or two, and the strings of one node begin alike, so that comparing them is slow as well: bench/store has the figures.
 *
 *  Most changes replace the value of a key. The new nodes then share `keys` and `marks` with the old ones, so that a change copies
 *  one array a level. */

import type { Key } from '../base/keys.ts'
import type { Segment } from './segments.ts'

/** Most entries of a leaf. */
export const maxEntries = 32

/** Most children of an inner node. More than a leaf has entries, so that a million keys are four levels however full nodes are. */
export const maxChildren = 48

/** What a tree holds: anything that knows its key. */
export interface Keyed {
  readonly key: Key
}

export class Leaf<E extends Keyed> {
  readonly marks: readonly number[]
  readonly entries: readonly E[]
  readonly skip: number
  /** What has been derived from these entries, newest first. Only `SegmentCache` touches it. */
  segments: Segment | undefined

  constructor(marks: readonly number[], entries: readonly E[], skip: number) {
    this.marks = marks
    this.entries = entries
    this.skip = skip
    this.segments = undefined
  }
}

export class Inner<E extends Keyed> {
  readonly separators: Separators
  readonly children: readonly Node<E>[]
  /** How many entries lie below this node. */
  readonly count: number
  /** How many lie below the children before each child, once somebody has asked. Only `offsetsOf` touches it. */
  offsets: readonly number[] | undefined

  constructor(separators: Separators, children: readonly Node<E>[], count: number) {
    this.separators = separators
    this.children = children
    this.count = count
    this.offsets = undefined
  }
}

/** The keys that divide the children of an inner node: those of `children[i + 1]` begin at `keys[i]`. */
export class Separators {
  readonly marks: readonly number[]
  readonly keys: readonly Key[]
  readonly skip: number

  constructor(keys: readonly Key[], skip: number) {
    this.marks = keys.map(key => markAt(key, skip))
    this.keys = keys
    this.skip = skip
  }
}

export type Node<E extends Keyed> = Leaf<E> | Inner<E>

/** A leaf of these entries, all of whose keys begin with the same `skip` bytes, as do all that may be put there. */
export function createLeaf<E extends Keyed>(entries: readonly E[], skip: number): Leaf<E> {
  return new Leaf(
    entries.map(({ key }) => markAt(key, skip)),
    entries,
    skip,
  )
}

/** An inner node `level` levels above the leaves, with the count that its children make. */
export function createInner<E extends Keyed>(
  separators: Separators,
  children: readonly Node<E>[],
  level: number,
): Inner<E> {
  let count = 0
  for (const child of children) count += countOf(child, level - 1)
  return new Inner(separators, children, count)
}

/** How many entries lie at or below a node `level` levels above the leaves. */
export function countOf<E extends Keyed>(node: Node<E>, level: number): number {
  return level === 0 ? (node as Leaf<E>).entries.length : (node as Inner<E>).count
}

/** How many entries lie below the children before each child of a node. Made when first asked for, because most nodes of a busy tree
 *  are never counted in; a node in which only a value was replaced has those of the node before it. */
export function offsetsOf<E extends Keyed>(inner: Inner<E>, level: number): readonly number[] {
  if (inner.offsets !== undefined) return inner.offsets
  let count = 0
  const offsets = inner.children.map(child => {
    const offset = count
    count += countOf(child, level - 1)
    return offset
  })
  inner.offsets = offsets
  return offsets
}

/** The node with another child at `index`, and `count` entries below it. */
export function withChild<E extends Keyed>(
  inner: Inner<E>,
  index: number,
  child: Node<E>,
  count: number,
): Inner<E> {
  const children = inner.children.slice()
  children[index] = child
  const made = new Inner(inner.separators, children, count)
  if (count === inner.count) made.offsets = inner.offsets
  return made
}

/** True for a node with more entries or children than it may have. */
export function isOverFull<E extends Keyed>(node: Node<E>, level: number): boolean {
  return level === 0
    ? (node as Leaf<E>).entries.length > maxEntries
    : (node as Inner<E>).children.length > maxChildren
}

/** True for a node with less than a third of the most, which is joined with a neighbour. Not a half, so that a key that comes and
 *  goes does not split and join nodes each time. */
export function isTooSmall<E extends Keyed>(node: Node<E>, level: number): boolean {
  return level === 0
    ? (node as Leaf<E>).entries.length < Math.floor(maxEntries / 3)
    : (node as Inner<E>).children.length < Math.floor(maxChildren / 3)
}

/** The index of the first entry whose key is not below `key`; their number when all are. */
export function entryIndex<E extends Keyed>(leaf: Leaf<E>, key: Key): number {
  const { marks, entries } = leaf
  const mark = markAt(key, leaf.skip)
  let low = 0
  let high = marks.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const other = marks[middle]!
    if (other < mark || (other === mark && entries[middle]!.key < key)) low = middle + 1
    else high = middle
  }
  return low
}

/** The index of the child that holds `key`, if any does: the number of separators that are not above it. */
export function childIndex({ marks, keys, skip }: Separators, key: Key): number {
  const mark = markAt(key, skip)
  let low = 0
  let high = marks.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const other = marks[middle]!
    if (mark < other || (mark === other && key < keys[middle]!)) high = middle
    else low = middle + 1
  }
  return low
}

/** The index of the child that holds the last key below `key`, if any does: the number of separators below it. */
export function childIndexBefore({ marks, keys, skip }: Separators, key: Key): number {
  const mark = markAt(key, skip)
  let low = 0
  let high = marks.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const other = marks[middle]!
    if (other < mark || (other === mark && keys[middle]! < key)) low = middle + 1
    else high = middle
  }
  return low
}

/** Four bytes of a key from `skip` on, as a number that fits into a pointer. Bytes that the key does not have count as zero. */
export function markAt(key: Key, skip: number): number {
  if (skip + 4 <= key.length) {
    return (
      ((key.charCodeAt(skip) << 24) |
        (key.charCodeAt(skip + 1) << 16) |
        (key.charCodeAt(skip + 2) << 8) |
        key.charCodeAt(skip + 3)) ^
      0x8000_0000
    )
  }
  let mark = 0
  for (let i = skip; i < skip + 4; i++) {
    mark = (mark << 8) | (i < key.length ? key.charCodeAt(i) : 0)
  }
  return mark ^ 0x8000_0000
}

/** How many bytes two keys have in common at their beginning. Every key between the two begins with the same. */
export function sharedBytes(a: Key, b: Key): number {
  const limit = Math.min(a.length, b.length)
  let i = 0
  while (i < limit && a.charCodeAt(i) === b.charCodeAt(i)) i++
  return i
}
