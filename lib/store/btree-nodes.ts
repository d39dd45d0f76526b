/** The nodes of the persistent B+tree, and the searches within one node. Every node is one plain
 *  array.
 *
 *  ```
 *  Inner  [ head , c0 , c1 , c2 ]                      ci holds keys >= head.keys[i - 1] and < head.keys[i]
 *  Head     keys:  [ k1 , k2 ]
 *           marks: [ m1 , m2 ]                         marks[i] stands for keys[i]
 *  Leaf   [ e0 , e1 , e2 , m0 , m1 , m2 , skip ]       mi stands for the key of entry ei
 *  ```
 *
 *  Nodes never change once a tree has them, except for derived data that is kept with them. All
 *  leaves are at the same depth, so code that knows the height knows the type of a node without a
 *  check.
 *
 *  A mark is a small number made of four bytes of a key: those after the first `skip` bytes, which
 *  all possible keys of the node share because both bounds of its range share them. Marks have the
 *  order of their keys, except for equal marks, so a search reads one array of numbers and compares
 *  strings only if marks are equal. In a large tree each string costs a cache miss or two, and the
 *  strings of one node have a long common prefix, so comparing them is slow as well.
 *
 *  Most changes replace the value of a key. Their cost is the copied nodes and, in a large tree,
 *  also the memory accesses, above all to the leaf, which is in no processor cache: so its
 *  entries and marks are in one array, side by side. Inner nodes are read often; they share
 *  heads with their copies. Nodes that survive in the history are copied twice by the garbage
 *  collector, which is half of the time of a change (bench/store). */

import type { Key } from '@watchglass/base'
import type { SegmentHolder } from './segments.ts'

/** Most entries of a leaf. With more a change copies more, with less a scan of many keys waits for
 *  memory more often (bench/store, November 2026). */
export const maxEntries = 24

/** Most children of an inner node: a million keys are five levels. */
export const maxChildren = 20

/** A node with less is joined with a neighbour. Less than a half of the most, so that a key that
 *  comes and goes does not split and join nodes each time. */
export const minSize = 5

/** An entry of a tree: anything that knows its key. */
export interface Keyed {
  readonly key: Key
}

export type Node<E extends Keyed> = Leaf<E> | Inner<E>

/** Entries, their marks, and how many bytes those skip. What has been derived from the entries
 *  hangs on it (`SegmentCache`), and is not copied with it. */
export interface Leaf<E extends Keyed> extends ReadonlyArray<E | number>, SegmentHolder {}

/** A head and the children. */
export type Inner<E extends Keyed> = readonly [head: Head, ...children: Node<E>[]]

/** The part of an inner node that is shared with copies that have other children: the keys that
 *  divide the children, and the number of entries. The keys of child `i + 1` begin at `keys[i]`. */
export class Head {
  readonly marks: readonly number[]
  readonly keys: readonly Key[]
  readonly skip: number
  /** Number of entries below the node. */
  readonly count: number
  /** Numbers of entries before each child; made when first needed. Only `offsetsOf` uses it. */
  offsets: readonly number[] | undefined

  constructor(marks: readonly number[], keys: readonly Key[], skip: number, count: number) {
    this.marks = marks
    this.keys = keys
    this.skip = skip
    this.count = count
    this.offsets = undefined
  }
}

/** A leaf of these entries, all of whose keys begin with the same `skip` bytes, as do all that may
 *  be put there. */
export function createLeaf<E extends Keyed>(entries: readonly E[], skip: number): Leaf<E> {
  return [...entries, ...entries.map(({ key }) => markAt(key, skip)), skip]
}

/** The number of entries of a leaf. */
export function leafSize<E extends Keyed>(leaf: Leaf<E>): number {
  return leaf.length >>> 1
}

/** The entry at an index below `leafSize`; undefined at that. */
export function entryAt<E extends Keyed>(leaf: Leaf<E>, index: number): E | undefined {
  return index < leafSize(leaf) ? (leaf[index] as E) : undefined
}

/** The number of bytes that the marks of a leaf skip. */
export function skipOf<E extends Keyed>(leaf: Leaf<E>): number {
  return leaf[leaf.length - 1] as number
}

/** Parts of an inner node. */
export interface InnerParts<E extends Keyed> {
  readonly keys: readonly Key[]
  /** All keys that may lie below the node begin with the same so many bytes. */
  readonly skip: number
  readonly children: readonly Node<E>[]
}

/** An inner node `level` levels above the leaves. */
export function createInner<E extends Keyed>(
  { keys, skip, children }: InnerParts<E>,
  level: number,
): Inner<E> {
  let count = 0
  for (const child of children) count += countOf(child, level - 1)
  const marks = keys.map(key => markAt(key, skip))
  return [new Head(marks, keys, skip, count), ...children]
}

/** The node with another child at `index`, and `count` entries below it. */
export function withChild<E extends Keyed>(
  inner: Inner<E>,
  index: number,
  child: Node<E>,
  count: number,
): Inner<E> {
  const copy = inner.slice() as [Head, ...Node<E>[]]
  copy[index + 1] = child
  const head = inner[0]
  if (count !== head.count) copy[0] = new Head(head.marks, head.keys, head.skip, count)
  return copy
}

/** The number of entries at or below a node `level` levels above the leaves. */
export function countOf<E extends Keyed>(node: Node<E>, level: number): number {
  return level === 0 ? leafSize(node as Leaf<E>) : (node as Inner<E>)[0].count
}

/** The number of entries or children of a node. */
export function sizeOf<E extends Keyed>(node: Node<E>, level: number): number {
  return level === 0 ? leafSize(node as Leaf<E>) : (node as Inner<E>).length - 1
}

/** True for a node with more entries or children than it may have. */
export function isOverFull<E extends Keyed>(node: Node<E>, level: number): boolean {
  return sizeOf(node, level) > (level === 0 ? maxEntries : maxChildren)
}

/** The number of entries before each child of a node. Made when first asked for, because most nodes
 *  of a busy tree are never counted in; a node in which only a value was replaced has those of the
 *  node before it. */
export function offsetsOf<E extends Keyed>(inner: Inner<E>, level: number): readonly number[] {
  const head = inner[0]
  if (head.offsets !== undefined) return head.offsets
  const offsets: number[] = []
  let count = 0
  for (let i = 1; i < inner.length; i++) {
    offsets.push(count)
    count += countOf(inner[i] as Node<E>, level - 1)
  }
  head.offsets = offsets
  return offsets
}

/** The index of the first entry whose key is not below `key`; their number when all are. */
export function entryIndex<E extends Keyed>(leaf: Leaf<E>, key: Key): number {
  const size = leafSize(leaf)
  const mark = markAt(key, skipOf(leaf))
  let low = 0
  let high = size
  while (low < high) {
    const middle = (low + high) >>> 1
    const other = leaf[size + middle] as number
    if (other < mark || (other === mark && (leaf[middle] as E).key < key)) low = middle + 1
    else high = middle
  }
  return low
}

/** The index of the child that holds `key`, if any does: the number of keys that are not above
 *  it. */
export function childIndex({ marks, keys, skip }: Head, key: Key): number {
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

/** The index of the child that holds the last key below `key`, if any does: the number of keys
 *  below it. */
export function childIndexBefore({ marks, keys, skip }: Head, key: Key): number {
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

/** Four bytes of a key from `skip` on, as a number that fits into a pointer. Bytes that the key
 *  does not have count as zero. */
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

/** The number of bytes that two keys share at their beginning. Every key between the two begins
 *  with the same. */
export function sharedBytes(a: Key, b: Key): number {
  const limit = Math.min(a.length, b.length)
  let i = 0
  while (i < limit && a.charCodeAt(i) === b.charCodeAt(i)) i++
  return i
}
