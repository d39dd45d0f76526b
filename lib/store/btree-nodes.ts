/** The nodes of the persistent B+tree, and the searches within one node.
 *
 *  ```
 *  Inner  keys:     [ k1 , k2 ]             children[i] holds keys >= keys[i - 1] and < keys[i]
 *         children: [ c0 , c1 , c2 ]
 *  Leaf   keys:     [ a , b , c ]           keys[i] belongs to entries[i]
 *         entries:  [ A , B , C ]
 *  ```
 *
 *  Nodes never change once a tree has them, except for the segments that a leaf carries. Keys and entries are arrays of their
 *  own because most changes replace a value: the new leaf then shares the `keys` of the old one, and so does every inner node
 *  above it, which halves what a change costs in memory. All leaves are at the same depth, so that code which knows the height
 *  knows the class of a node without looking. */

import type { Key } from '../base/keys.ts'
import type { Segment } from './segments.ts'

/** Most entries of a leaf, and most children of an inner node. */
export const maxFanOut = 32

/** A node below this many entries or children is joined with a neighbour. Below half of the maximum, so that a key that comes
 *  and goes does not split and join nodes each time. */
export const minFanOut = 10

export class Leaf<E> {
  readonly keys: readonly Key[]
  readonly entries: readonly E[]
  /** What has been derived from these entries, newest first. Only `SegmentCache` touches it. */
  segments: Segment | undefined

  constructor(keys: readonly Key[], entries: readonly E[]) {
    this.keys = keys
    this.entries = entries
    this.segments = undefined
  }
}

export class Inner<E> {
  readonly keys: readonly Key[]
  readonly children: readonly Node<E>[]
  /** How many entries lie below this node. */
  readonly count: number

  constructor(keys: readonly Key[], children: readonly Node<E>[], count: number) {
    this.keys = keys
    this.children = children
    this.count = count
  }
}

export type Node<E> = Leaf<E> | Inner<E>

/** How many entries lie at or below a node `level` levels above the leaves. */
export function countOf<E>(node: Node<E>, level: number): number {
  return level === 0 ? (node as Leaf<E>).keys.length : (node as Inner<E>).count
}

/** The index of the first of the sorted `keys` that is not below `key`; their number when all are. */
export function lowerBound(keys: readonly Key[], key: Key): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (keys[middle]! < key) low = middle + 1
    else high = middle
  }
  return low
}

/** The index of the child that holds `key`, if any does: the number of separators that are not above it. */
export function childIndex(keys: readonly Key[], key: Key): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (key < keys[middle]!) high = middle
    else low = middle + 1
  }
  return low
}
