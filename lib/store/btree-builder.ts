/** Bulk load: a tree from entries that come in key order, in O(n) and in as many steps as the caller likes. */

import { CacheError } from '../base/errors.ts'
import { type Key, textFromKey } from '../base/keys.ts'
import { BTree } from './btree.ts'
import { createInner } from './btree-edit.ts'
import { Leaf, maxFanOut, minFanOut, type Node } from './btree-nodes.ts'

/** How full nodes are made. Not quite full, so that the first inserts after a load do not split every node they meet. */
const loadFanOut = 28

/** The nodes of one level that have no parent yet, and the first key of each. */
interface Level<E> {
  readonly keys: Key[]
  readonly children: Node<E>[]
}

/** Takes entries in key order. Every `add` costs O(1) on average and `finish` O(log n), so a caller that gives way between adds
 *  never holds anybody up. */
export class BTreeBuilder<E> {
  #keys: Key[] = []
  #entries: E[] = []
  readonly #levels: Level<E>[] = []
  #last: Key | undefined = undefined
  #size = 0

  /** How many entries have been added. */
  get size(): number {
    return this.#size
  }

  /** Adds an entry; refuses a key that is not above the last one. */
  add(key: Key, entry: E): void {
    if (this.#last !== undefined && key <= this.#last) {
      throw new CacheError(
        'conflict',
        `key ${textFromKey(key)} does not come after key ${textFromKey(this.#last)}`,
      )
    }
    this.#last = key
    this.#size++
    this.#keys.push(key)
    this.#entries.push(entry)
    // What stays behind is always enough for a node, so that the last one is not too small.
    if (this.#keys.length < loadFanOut + minFanOut) return
    this.#addLeaf(loadFanOut)
  }

  /** The tree of everything that was added. The builder is used up. */
  finish(): BTree<E> {
    if (this.#size === 0) return BTree.empty()
    for (const size of lastSizes(this.#keys.length)) this.#addLeaf(size)
    for (let i = 0; ; i++) {
      const { children } = this.#levels[i]!
      const isTop = i === this.#levels.length - 1
      if (isTop && children.length === 1) return new BTree(children[0]!, i)
      for (const size of lastSizes(children.length)) this.#addInner(i, size)
    }
  }

  /** Makes a leaf of the first `size` entries that have none. */
  #addLeaf(size: number): void {
    const leaf = new Leaf(this.#keys.splice(0, size), this.#entries.splice(0, size))
    this.#add(0, leaf.keys[0]!, leaf)
  }

  /** Makes a node of the first `size` nodes of a level that have no parent. */
  #addInner(index: number, size: number): void {
    const { keys, children } = this.#levels[index]!
    const [first, ...separators] = keys.splice(0, size)
    this.#add(index + 1, first!, createInner(separators, children.splice(0, size), index + 1))
  }

  #add(index: number, firstKey: Key, node: Node<E>): void {
    const level = (this.#levels[index] ??= { keys: [], children: [] })
    level.keys.push(firstKey)
    level.children.push(node)
    if (level.children.length >= loadFanOut + minFanOut) this.#addInner(index, loadFanOut)
  }
}

/** How the rest of a level is divided into nodes: one when it fits, else two halves. */
function lastSizes(rest: number): readonly number[] {
  if (rest <= maxFanOut) return [rest]
  const half = rest >>> 1
  return [half, rest - half]
}
