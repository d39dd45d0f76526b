/** Keeps the nodes of a tree within their bounds: splits an over-full child, and joins a child that
 *  is too small with a neighbour. It makes new nodes and never changes old ones. */

import type { Key } from '@watchglass/base'
import {
  createInner,
  createLeaf,
  type Inner,
  isOverFull,
  type Keyed,
  type Leaf,
  leafSize,
  type Node,
  sharedBytes,
  skipOf,
} from './btree-nodes.ts'

/** Two neighbours, and the key that the right one begins at. */
interface Halves<E extends Keyed> {
  readonly left: Node<E>
  readonly separator: Key
  readonly right: Node<E>
}

/** The range of a node's keys, as far as its parent knows it. */
interface Bounds {
  readonly lower: Key | undefined
  readonly upper: Key | undefined
}

/** Splits an over-full root: a new root with two children. */
export function splitRoot<E extends Keyed>(root: Node<E>, height: number): Inner<E> {
  const { left, separator, right } = split(root, height, { lower: undefined, upper: undefined })
  return createInner({ keys: [separator], skip: 0, children: [left, right] }, height + 1)
}

/** The node with two halves of the over-full `child` in place of its child at `index`. */
export function withSplitChild<E extends Keyed>(
  inner: Inner<E>,
  index: number,
  child: Node<E>,
  level: number,
): Inner<E> {
  const [{ keys, skip }, ...children] = inner
  const halves = split(child, level - 1, { lower: keys[index - 1], upper: keys[index] })
  children.splice(index, 1, halves.left, halves.right)
  return createInner({ keys: keys.toSpliced(index, 0, halves.separator), skip, children }, level)
}

/** The node with `child`, which is too small, in place of its child at `index`, joined with a
 *  neighbour: as one child if both fit into one, otherwise as two halves. */
export function withJoinedChild<E extends Keyed>(
  inner: Inner<E>,
  index: number,
  child: Node<E>,
  level: number,
): Inner<E> {
  const [{ keys, skip }, ...children] = inner
  const first = Math.max(0, index - 1)
  const left = index === 0 ? child : children[first]!
  const right = index === 0 ? children[1]! : child
  const joined = join({ left, separator: keys[first]!, right }, level - 1)
  if (!isOverFull(joined, level - 1)) {
    children.splice(first, 2, joined)
    return createInner({ keys: keys.toSpliced(first, 1), skip, children }, level)
  }
  const halves = split(joined, level - 1, { lower: keys[first - 1], upper: keys[first + 1] })
  children.splice(first, 2, halves.left, halves.right)
  return createInner({ keys: keys.with(first, halves.separator), skip, children }, level)
}

function split<E extends Keyed>(node: Node<E>, level: number, { lower, upper }: Bounds): Halves<E> {
  if (level === 0) {
    const entries = entriesOf(node as Leaf<E>)
    const skip = skipOf(node as Leaf<E>)
    const middle = entries.length >>> 1
    const separator = entries[middle]!.key
    return {
      left: createLeaf(entries.slice(0, middle), skipBetween(lower, separator, skip)),
      separator,
      right: createLeaf(entries.slice(middle), skipBetween(separator, upper, skip)),
    }
  }
  const [{ keys, skip }, ...children] = node as Inner<E>
  const middle = children.length >>> 1
  const separator = keys[middle - 1]!
  const left = {
    keys: keys.slice(0, middle - 1),
    skip: skipBetween(lower, separator, skip),
    children: children.slice(0, middle),
  }
  const right = {
    keys: keys.slice(middle),
    skip: skipBetween(separator, upper, skip),
    children: children.slice(middle),
  }
  return { left: createInner(left, level), separator, right: createInner(right, level) }
}

function join<E extends Keyed>({ left, separator, right }: Halves<E>, level: number): Node<E> {
  if (level === 0) {
    const a = left as Leaf<E>
    const b = right as Leaf<E>
    return createLeaf(entriesOf(a).concat(entriesOf(b)), Math.min(skipOf(a), skipOf(b)))
  }
  const [a, ...firstChildren] = left as Inner<E>
  const [b, ...secondChildren] = right as Inner<E>
  const keys = [...a.keys, separator, ...b.keys]
  const children = firstChildren.concat(secondChildren)
  return createInner({ keys, skip: Math.min(a.skip, b.skip), children }, level)
}

function entriesOf<E extends Keyed>(leaf: Leaf<E>): E[] {
  return leaf.slice(0, leafSize(leaf)) as E[]
}

/** The number of leading bytes that all keys between two bounds share; `atLeast` if a bound is not
 *  known. */
function skipBetween(lower: Key | undefined, upper: Key | undefined, atLeast: number): number {
  return lower === undefined || upper === undefined ? atLeast : sharedBytes(lower, upper)
}
