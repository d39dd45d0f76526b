/** Changes to a persistent B+tree. The tree that a change begins with stays as it is: nodes on the path to the change are
 *  copied, all others are shared.
 *
 *  A child that comes back over-full is split by its parent, and one that comes back too small is joined with a neighbour by its
 *  parent; the edit does the same for the root. */

import type { Key } from '../base/keys.ts'
import { BTree } from './btree.ts'
import {
  childIndex,
  countOf,
  Inner,
  Leaf,
  lowerBound,
  maxFanOut,
  minFanOut,
  type Node,
} from './btree-nodes.ts'

/** A tree under change, for one batch of changes. Nothing of it is seen before `tree()`. */
export class TreeEdit<E> {
  #root: Node<E>
  #height: number
  /** What the change under way found at its key. */
  #before: E | undefined = undefined

  constructor(tree: BTree<E>) {
    this.#root = tree.root
    this.#height = tree.height
  }

  /** The tree with all changes made so far. */
  tree(): BTree<E> {
    return new BTree(this.#root, this.#height)
  }

  /** Sets the entry of `key` and returns the one it had. O(log n). */
  put(key: Key, entry: E): E | undefined {
    this.#before = undefined
    const root = this.#put(this.#root, this.#height, key, entry)
    if (sizeOf(root, this.#height) > maxFanOut) {
      const { left, right, key: separator } = split(root, this.#height)
      const count = countOf(root, this.#height)
      this.#root = new Inner([separator], [left, right], count)
      this.#height++
    } else {
      this.#root = root
    }
    return this.#before
  }

  /** Removes `key` and returns the entry it had. O(log n). */
  delete(key: Key): E | undefined {
    this.#before = undefined
    let root = this.#delete(this.#root, this.#height, key)
    while (this.#height > 0 && (root as Inner<E>).children.length === 1) {
      root = (root as Inner<E>).children[0]!
      this.#height--
    }
    this.#root = root
    return this.#before
  }

  #put(node: Node<E>, level: number, key: Key, entry: E): Node<E> {
    if (level === 0) return this.#putInLeaf(node as Leaf<E>, key, entry)
    const inner = node as Inner<E>
    const index = childIndex(inner.keys, key)
    const child = this.#put(inner.children[index]!, level - 1, key, entry)
    const count = this.#before === undefined ? inner.count + 1 : inner.count
    if (sizeOf(child, level - 1) <= maxFanOut) return withChild(inner, index, child, count)
    const { left, right, key: separator } = split(child, level - 1)
    const keys = inner.keys.slice()
    keys.splice(index, 0, separator)
    const children = inner.children.slice()
    children.splice(index, 1, left, right)
    return new Inner(keys, children, count)
  }

  #putInLeaf(leaf: Leaf<E>, key: Key, entry: E): Leaf<E> {
    const at = lowerBound(leaf.keys, key)
    const entries = leaf.entries.slice()
    if (leaf.keys[at] === key) {
      this.#before = entries[at]
      entries[at] = entry
      return new Leaf(leaf.keys, entries)
    }
    const keys = leaf.keys.slice()
    keys.splice(at, 0, key)
    entries.splice(at, 0, entry)
    return new Leaf(keys, entries)
  }

  #delete(node: Node<E>, level: number, key: Key): Node<E> {
    if (level === 0) return this.#deleteInLeaf(node as Leaf<E>, key)
    const inner = node as Inner<E>
    const index = childIndex(inner.keys, key)
    const child = this.#delete(inner.children[index]!, level - 1, key)
    if (this.#before === undefined) return node
    const count = inner.count - 1
    if (sizeOf(child, level - 1) >= minFanOut || inner.children.length === 1) {
      return withChild(inner, index, child, count)
    }
    return joinChild(inner, index, child, level)
  }

  #deleteInLeaf(leaf: Leaf<E>, key: Key): Leaf<E> {
    const at = lowerBound(leaf.keys, key)
    if (leaf.keys[at] !== key) return leaf
    this.#before = leaf.entries[at]
    const keys = leaf.keys.slice()
    keys.splice(at, 1)
    const entries = leaf.entries.slice()
    entries.splice(at, 1)
    return new Leaf(keys, entries)
  }
}

function sizeOf<E>(node: Node<E>, level: number): number {
  return level === 0 ? (node as Leaf<E>).keys.length : (node as Inner<E>).children.length
}

function withChild<E>(inner: Inner<E>, index: number, child: Node<E>, count: number): Inner<E> {
  const children = inner.children.slice()
  children[index] = child
  return new Inner(inner.keys, children, count)
}

interface Halves<E> {
  readonly left: Node<E>
  /** The first key of the right half. */
  readonly key: Key
  readonly right: Node<E>
}

/** The two halves of an over-full node. */
function split<E>(node: Node<E>, level: number): Halves<E> {
  if (level === 0) return splitLeaf((node as Leaf<E>).keys, (node as Leaf<E>).entries)
  const { keys, children } = node as Inner<E>
  return splitInner(keys, children, level)
}

function splitLeaf<E>(keys: readonly Key[], entries: readonly E[]): Halves<E> {
  const middle = keys.length >>> 1
  return {
    left: new Leaf(keys.slice(0, middle), entries.slice(0, middle)),
    key: keys[middle]!,
    right: new Leaf(keys.slice(middle), entries.slice(middle)),
  }
}

function splitInner<E>(
  keys: readonly Key[],
  children: readonly Node<E>[],
  level: number,
): Halves<E> {
  const middle = children.length >>> 1
  return {
    left: createInner(keys.slice(0, middle - 1), children.slice(0, middle), level),
    key: keys[middle - 1]!,
    right: createInner(keys.slice(middle), children.slice(middle), level),
  }
}

/** The node with its child at `index`, which has become too small, joined with a neighbour: as one child when both fit, as two
 *  halves of both when not. */
function joinChild<E>(inner: Inner<E>, index: number, child: Node<E>, level: number): Inner<E> {
  const leftIndex = index > 0 ? index - 1 : 0
  const left = index > 0 ? inner.children[leftIndex]! : child
  const right = index > 0 ? child : inner.children[1]!
  const separator = inner.keys[leftIndex]!
  const joined = join(left, separator, right, level - 1)
  const keys = inner.keys.slice()
  const children = inner.children.slice()
  if (sizeOf(joined, level - 1) > maxFanOut) {
    const halves = split(joined, level - 1)
    keys[leftIndex] = halves.key
    children.splice(leftIndex, 2, halves.left, halves.right)
  } else {
    keys.splice(leftIndex, 1)
    children.splice(leftIndex, 2, joined)
  }
  return new Inner(keys, children, inner.count - 1)
}

function join<E>(left: Node<E>, separator: Key, right: Node<E>, level: number): Node<E> {
  if (level === 0) {
    const first = left as Leaf<E>
    const second = right as Leaf<E>
    return new Leaf(first.keys.concat(second.keys), first.entries.concat(second.entries))
  }
  const first = left as Inner<E>
  const second = right as Inner<E>
  return new Inner(
    [...first.keys, separator, ...second.keys],
    first.children.concat(second.children),
    first.count + second.count,
  )
}

/** An inner node `level` levels above the leaves, with the count that its children make. */
export function createInner<E>(
  keys: readonly Key[],
  children: readonly Node<E>[],
  level: number,
): Inner<E> {
  let count = 0
  for (const child of children) count += countOf(child, level - 1)
  return new Inner(keys, children, count)
}
