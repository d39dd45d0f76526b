/** Changes to a persistent B+tree. The tree before a change is not modified: nodes on the path to
 *  the change are copied, all others are shared. A node that becomes over-full or too small is
 *  fixed by its parent, and the root by the edit (btree-balance.ts). */

import type { Key } from '@watchglass/base'
import { splitRoot, withJoinedChild, withSplitChild } from './btree-balance.ts'
import {
  childIndex,
  entryAt,
  entryIndex,
  type Inner,
  isOverFull,
  type Keyed,
  type Leaf,
  leafSize,
  markAt,
  minSize,
  type Node,
  sizeOf,
  skipOf,
  withChild,
} from './btree-nodes.ts'
import { BTree } from './btree.ts'

/** A tree that is being changed, for one batch of changes. Readers see nothing of it before `tree`
 *  is read. */
export class TreeEdit<E extends Keyed> {
  #root: Node<E>
  #height: number
  /** The entry that the current change found at its key. */
  #before: E | undefined = undefined

  constructor(tree: BTree<E>) {
    this.#root = tree.root
    this.#height = tree.height
  }

  /** The root of the tree with all changes made so far. */
  get root(): Node<E> {
    return this.#root
  }

  /** The height of that tree. */
  get height(): number {
    return this.#height
  }

  /** That tree. */
  tree(): BTree<E> {
    return new BTree(this.#root, this.#height)
  }

  /** Puts an entry and returns the one that its key had. O(log n). */
  put(entry: E): E | undefined {
    this.#before = undefined
    const root = this.#put(this.#root, this.#height, entry)
    const isTooLarge = isOverFull(root, this.#height)
    this.#root = isTooLarge ? splitRoot(root, this.#height) : root
    if (isTooLarge) this.#height++
    return this.#before
  }

  /** Removes `key` and returns the entry it had. O(log n). */
  delete(key: Key): E | undefined {
    this.#before = undefined
    let root = this.#delete(this.#root, this.#height, key)
    while (this.#height > 0 && sizeOf(root, this.#height) === 1) {
      root = (root as Inner<E>)[1]!
      this.#height--
    }
    this.#root = root
    return this.#before
  }

  #put(node: Node<E>, level: number, entry: E): Node<E> {
    if (level === 0) return this.#putInLeaf(node as Leaf<E>, entry)
    const inner = node as Inner<E>
    const index = childIndex(inner[0], entry.key)
    const child = this.#put(inner[index + 1] as Node<E>, level - 1, entry)
    if (isOverFull(child, level - 1)) return withSplitChild(inner, index, child, level)
    const count = this.#before === undefined ? inner[0].count + 1 : inner[0].count
    return withChild(inner, index, child, count)
  }

  #putInLeaf(leaf: Leaf<E>, entry: E): Leaf<E> {
    const at = entryIndex(leaf, entry.key)
    const before = entryAt(leaf, at)
    const copy = leaf.slice()
    if (before !== undefined && before.key === entry.key) {
      this.#before = before
      copy[at] = entry
    } else {
      copy.splice(leafSize(leaf) + at, 0, markAt(entry.key, skipOf(leaf)))
      copy.splice(at, 0, entry)
    }
    return copy
  }

  #delete(node: Node<E>, level: number, key: Key): Node<E> {
    if (level === 0) return this.#deleteInLeaf(node as Leaf<E>, key)
    const inner = node as Inner<E>
    const index = childIndex(inner[0], key)
    const child = this.#delete(inner[index + 1] as Node<E>, level - 1, key)
    if (this.#before === undefined) return node
    if (sizeOf(child, level - 1) < minSize) return withJoinedChild(inner, index, child, level)
    return withChild(inner, index, child, inner[0].count - 1)
  }

  #deleteInLeaf(leaf: Leaf<E>, key: Key): Leaf<E> {
    const at = entryIndex(leaf, key)
    const before = entryAt(leaf, at)
    if (before === undefined || before.key !== key) return leaf
    this.#before = before
    return leaf.toSpliced(leafSize(leaf) + at, 1).toSpliced(at, 1)
  }
}
