/** Bulk load: a tree from entries that come in key order, in O(n) and in as many steps as the
 *  caller likes. */

import { assert, CacheError, type Key, textFromKey } from '@watchglass/base'
import { BTree } from './btree.ts'
import {
  createInner,
  createLeaf,
  type Keyed,
  maxChildren,
  maxEntries,
  minSize,
  type Node,
  sharedBytes,
} from './btree-nodes.ts'

/** The sizes of nodes after a load. Not completely, so that the first inserts after a load do not
 *  split every node. */
const loadEntries = 21
const loadChildren = 18

/** The nodes of one level that have no parent yet, and the first key of each. */
class Level<E extends Keyed> {
  readonly keys: Key[] = []
  readonly children: Node<E>[] = []
  isFirstNode = true
}

/** Takes entries in key order. Every `add` costs O(1) on average and `finish` O(log n), so a caller
 *  that yields between adds never holds the event loop. */
export class BTreeBuilder<E extends Keyed> {
  readonly #entries: E[] = []
  readonly #levels: Level<E>[] = []
  #isFirstLeaf = true
  #isLeafEnded = false
  #last: Key | undefined = undefined
  #size = 0

  /** Number of entries added so far. */
  get size(): number {
    return this.#size
  }

  /** Adds an entry; refuses a key that is not above the last one. */
  add(entry: E): void {
    if (this.#last !== undefined && entry.key <= this.#last) {
      throw new CacheError(
        'conflict',
        `key ${textFromKey(entry.key)} does not come after key ${textFromKey(this.#last)}`,
      )
    }
    this.#last = entry.key
    this.#size++
    this.#entries.push(entry)
    if (this.#isLeafEnded) {
      this.#isLeafEnded = false
      this.#addLeaf(this.#entries.length - 1)
      return
    }
    // The remaining entries always suffice for a node, so that the last one is not too small.
    if (this.#entries.length >= loadEntries + maxEntries / 2) this.#addLeaf(loadEntries)
  }

  /** Ends a leaf with the entry that was added last, where that makes no node too small or too
   *  large: for a tree with the leaves of another. */
  endLeaf(): void {
    const { length } = this.#entries
    // The leaf is made when the next entry is known, so that its marks can skip what both share.
    this.#isLeafEnded = length >= minSize && length <= maxEntries
  }

  /** The tree of everything that was added. The builder must not be used afterwards. */
  finish(): BTree<E> {
    if (this.#size === 0) return BTree.empty()
    for (const size of lastSizes(this.#entries.length, maxEntries)) this.#addLeaf(size)
    for (let i = 0; ; i++) {
      const { children } = this.#levels[i]!
      const isTop = i === this.#levels.length - 1
      if (isTop && children.length === 1) {
        const tree = new BTree(children[0]!, i)
        assert(tree.size === this.#size, 'a load loses no entry')
        return tree
      }
      for (const size of lastSizes(children.length, maxChildren)) this.#addInner(i, size)
    }
  }

  /** Makes a leaf of the first `size` entries that have none. */
  #addLeaf(size: number): void {
    const entries = this.#entries.splice(0, size)
    const first = entries[0]!.key
    const next = this.#entries[0]?.key
    const skip = this.#isFirstLeaf || next === undefined ? 0 : sharedBytes(first, next)
    this.#isFirstLeaf = false
    this.#add(0, first, createLeaf(entries, skip))
  }

  /** Makes a node of the first `size` nodes of a level that have no parent. */
  #addInner(index: number, size: number): void {
    const level = this.#levels[index]!
    const [first, ...keys] = level.keys.splice(0, size)
    const next = level.keys[0]
    const skip = level.isFirstNode || next === undefined ? 0 : sharedBytes(first!, next)
    level.isFirstNode = false
    const children = level.children.splice(0, size)
    this.#add(index + 1, first!, createInner({ keys, skip, children }, index + 1))
  }

  #add(index: number, firstKey: Key, node: Node<E>): void {
    const level = (this.#levels[index] ??= new Level())
    level.keys.push(firstKey)
    level.children.push(node)
    if (level.children.length >= loadChildren + maxChildren / 2) this.#addInner(index, loadChildren)
  }
}

/** The sizes of the nodes that the rest of a level is divided into: one when it fits, else two
 *  halves. */
function lastSizes(rest: number, most: number): readonly number[] {
  if (rest <= most) return [rest]
  const half = rest >>> 1
  return [half, rest - half]
}
