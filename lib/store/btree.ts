/** A persistent B+tree over keys in byte order, as a value: reading never changes it and a change
 *  makes another tree (btree-edit.ts) that shares all nodes but those on the path to the change.
 *  Every inner node knows how many entries lie below it, so that counting a range takes O(log
 *  n). */

import { assert, isEmptyRange, type Key, type KeyRange } from '@watchglass/base'
import {
  childIndex,
  childIndexBefore,
  countOf,
  createLeaf,
  entryAt,
  entryIndex,
  type Inner,
  type Keyed,
  type Leaf,
  leafSize,
  type Node,
  offsetsOf,
} from './btree-nodes.ts'
import type { SegmentHolder } from './segments.ts'

/** The part of one leaf that lies in a range. */
export interface LeafSlice<E extends Keyed> {
  /** Leaf of the entries; whatever is derived from them is kept with it. */
  readonly leaf: SegmentHolder
  /** The entries from index `from` up to, not including, `to`. */
  readonly entries: readonly E[]
  readonly from: number
  readonly to: number
  /** Number of entries in the leaf. */
  readonly size: number
}

/** The part of a range that lies under an inner node. */
export interface TreePart {
  /** The node, if all of it lies in the range: it changes only with what lies under it. */
  readonly node: object | undefined
  /** Number of entries under it. */
  readonly size: number
  readonly range: KeyRange
  /** The parts under its children; undefined for one of the lowest inner nodes. */
  readonly parts: (() => Iterable<TreePart>) | undefined
}

export interface RangeOptions {
  /** At most this many; all when left out. */
  readonly limit?: number | undefined
  /** From the last key to the first. */
  readonly reverse?: boolean | undefined
}

/** The contents of a tree. Immutable. */
export class BTree<E extends Keyed> {
  readonly root: Node<E>
  /** Number of levels of inner nodes above the leaves. */
  readonly height: number

  constructor(root: Node<E>, height: number) {
    this.root = root
    this.height = height
  }

  /** A tree without entries. */
  static empty<E extends Keyed>(): BTree<E> {
    return emptyTree as BTree<Keyed> as BTree<E>
  }

  /** Number of entries. */
  get size(): number {
    return countOf(this.root, this.height)
  }

  /** The entry of `key`. O(log n). */
  get(key: Key): E | undefined {
    let node = this.root
    for (let level = this.height; level > 0; level--) {
      const inner = node as Inner<E>
      node = inner[childIndex(inner[0], key) + 1] as Node<E>
    }
    const leaf = node as Leaf<E>
    const entry = entryAt(leaf, entryIndex(leaf, key))
    return entry !== undefined && entry.key === key ? entry : undefined
  }

  /** The number of keys below `key`. O(log n). */
  rank(key: Key): number {
    let node = this.root
    let rank = 0
    for (let level = this.height; level > 0; level--) {
      const inner = node as Inner<E>
      const index = childIndex(inner[0], key)
      rank += offsetsOf(inner, level)[index]!
      node = inner[index + 1] as Node<E>
    }
    return rank + entryIndex(node as Leaf<E>, key)
  }

  /** The entry before which there are so many others; undefined from the size on. O(log n). */
  at(index: number): E | undefined {
    if (index < 0 || index >= this.size) return undefined
    let node = this.root
    let left = index
    for (let level = this.height; level > 0; level--) {
      const inner = node as Inner<E>
      const offsets = offsetsOf(inner, level)
      let child = offsets.length - 1
      while (offsets[child]! > left) child--
      left -= offsets[child]!
      node = inner[child + 1] as Node<E>
    }
    return entryAt(node as Leaf<E>, left)
  }

  /** The number of keys in the range. O(log n). */
  count(range: KeyRange): number {
    if (isEmptyRange(range)) return 0
    const below = range.end === undefined ? this.size : this.rank(range.end)
    return below - this.rank(range.start)
  }

  /** The entries of the range in key order, or from the end. O(log n) and what it returns. */
  range(range: KeyRange, { limit = Infinity, reverse = false }: RangeOptions = {}): E[] {
    const found: E[] = []
    if (limit <= 0) return found
    for (const { entries, from, to } of this.leaves(range, reverse)) {
      if (reverse) {
        for (let i = to - 1; i >= from; i--) if (found.push(entries[i]!) >= limit) return found
      } else {
        for (let i = from; i < to; i++) if (found.push(entries[i]!) >= limit) return found
      }
    }
    return found
  }

  /** The entries of the range one by one, as they are asked for. */
  *iterate(range: KeyRange, reverse = false): Iterable<E> {
    for (const { entries, from, to } of this.leaves(range, reverse)) {
      if (reverse) for (let i = to - 1; i >= from; i--) yield entries[i]!
      else for (let i = from; i < to; i++) yield entries[i]!
    }
  }

  /** The leaves of the range, in key order or from the end, with the part of each that is in the
   *  range; never an empty part. Lazy: leaves are visited only when they are needed, except for the
   *  next two. In a large tree each access to another array waits for memory, so the next leaves
   *  are fetched while the caller works on the present one (at a million entries a scan takes a
   *  quarter less). */
  *leaves(range: KeyRange, reverse = false): Iterable<LeafSlice<E>> {
    if (isEmptyRange(range)) return
    const { start, end } = range
    const walk = new LeafWalk(this)
    // A leaf occurs once in a tree, so the last one is recognised, and no keys of the leaves before
    // it are compared.
    const first = reverse ? walk.seekBefore(end) : walk.seek(start)
    const last = reverse ? new LeafWalk(this).seek(start) : new LeafWalk(this).seekBefore(end)
    const lowest = reverse ? last : first
    const highest = reverse ? first : last
    const after = (leaf: Leaf<E> | undefined): Leaf<E> | undefined => {
      if (leaf === undefined || leaf === last) return undefined
      return reverse ? walk.previous() : walk.next()
    }
    let leaf: Leaf<E> | undefined = first
    let next = after(leaf)
    let afterNext = after(next)
    while (leaf !== undefined) {
      // Reading fetches them into the cache: the place of the one after next, and the contents of
      // the next.
      assert(afterNext === undefined || afterNext.length > 0, 'a leaf is an array')
      assert(next === undefined || next[0] !== undefined, 'no leaf of several is empty')
      const from = leaf === lowest ? entryIndex(leaf, start) : 0
      const isCut = leaf === highest && end !== undefined
      const size = leafSize(leaf)
      const to = isCut ? entryIndex(leaf, end) : size
      if (from < to) yield { leaf, entries: leaf as readonly unknown[] as E[], from, to, size }
      leaf = next
      next = afterNext
      afterNext = after(afterNext)
    }
  }

  /** The range as a part, which has others. */
  part(range: KeyRange): TreePart {
    const { start, end } = range
    // Where the tree ends, the keys of its nodes do, too.
    const low = this.rank(start) === 0 ? start : lowestKey
    const high = end !== undefined && this.rank(end) === this.size ? end : undefined
    return partOf(this.root, this.height, { start: low, end: high }, range)
  }
}

const lowestKey = '' as Key

/** The part of a range under a node, whose keys lie in `keys`. */
function partOf<E extends Keyed>(
  node: Node<E>,
  level: number,
  keys: KeyRange,
  range: KeyRange,
): TreePart {
  const { start, end } = range
  const isCut = isAbove(keys.end, end)
  return {
    node: isCut || keys.start < start ? undefined : node,
    size: countOf(node, level),
    range: { start: keys.start > start ? keys.start : start, end: isCut ? end : keys.end },
    parts: level <= 1 ? undefined : () => partsOf(node as Inner<E>, level, keys, range),
  }
}

function* partsOf<E extends Keyed>(
  [head, ...children]: Inner<E>,
  level: number,
  keys: KeyRange,
  range: KeyRange,
): Iterable<TreePart> {
  for (const [i, child] of children.entries()) {
    const part = { start: head.keys[i - 1] ?? keys.start, end: head.keys[i] ?? keys.end }
    const isOutside = !isAbove(part.end, range.start) || !isAbove(range.end, part.start)
    if (!isOutside) yield partOf(child, level - 1, part, range)
  }
}

/** Whether the end of a range is behind another. */
function isAbove(end: Key | undefined, other: Key | undefined): boolean {
  return other !== undefined && (end === undefined || end > other)
}

const emptyTree = new BTree<Keyed>(createLeaf<Keyed>([], 0), 0)

/** A position among the leaves of one tree. Trees that share nodes have no links between leaves, so
 *  a walk keeps its path. */
class LeafWalk<E extends Keyed> {
  readonly #tree: BTree<E>
  /** The inner nodes from the root down, and which child of each the path takes. */
  readonly #path: Inner<E>[] = []
  readonly #taken: number[] = []

  constructor(tree: BTree<E>) {
    this.#tree = tree
  }

  /** The leaf that holds `key`, or would. */
  seek(key: Key): Leaf<E> {
    return this.#descend(this.#tree.root, 0, inner => childIndex(inner[0], key))
  }

  /** The leaf that holds the last key below `end`, or would. */
  seekBefore(end: Key | undefined): Leaf<E> {
    return this.#descend(this.#tree.root, 0, inner =>
      end === undefined ? inner.length - 2 : childIndexBefore(inner[0], end),
    )
  }

  next(): Leaf<E> | undefined {
    let depth = this.#path.length - 1
    while (depth >= 0 && this.#taken[depth]! + 2 >= this.#path[depth]!.length) depth--
    if (depth < 0) return undefined
    const index = ++this.#taken[depth]!
    return this.#descend(this.#path[depth]![index + 1] as Node<E>, depth + 1, () => 0)
  }

  previous(): Leaf<E> | undefined {
    let depth = this.#path.length - 1
    while (depth >= 0 && this.#taken[depth] === 0) depth--
    if (depth < 0) return undefined
    const index = --this.#taken[depth]!
    const child = this.#path[depth]![index + 1] as Node<E>
    return this.#descend(child, depth + 1, inner => inner.length - 2)
  }

  #descend(from: Node<E>, depth: number, choose: (inner: Inner<E>) => number): Leaf<E> {
    let node = from
    for (let at = depth; at < this.#tree.height; at++) {
      const inner = node as Inner<E>
      const index = choose(inner)
      this.#path[at] = inner
      this.#taken[at] = index
      node = inner[index + 1] as Node<E>
    }
    return node as Leaf<E>
  }
}
