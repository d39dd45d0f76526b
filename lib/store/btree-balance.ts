/** Keeps the nodes of a tree within their bounds: an over-full child becomes two, and a child that is too small is joined with a
 *  neighbour. Makes new nodes, as everything here does. */

import type { Key } from '../base/keys.ts'
import {
  createInner,
  createLeaf,
  Inner,
  isOverFull,
  type Keyed,
  type Leaf,
  type Node,
  Separators,
  sharedBytes,
} from './btree-nodes.ts'

/** Two neighbours, and the key that the right one begins at. */
export interface Halves<E extends Keyed> {
  readonly left: Node<E>
  readonly separator: Key
  readonly right: Node<E>
}

/** The range that the keys of a node lie in, as far as its parent knows. */
interface Bounds {
  readonly lower: Key | undefined
  readonly upper: Key | undefined
}

/** The root above an over-full root, which becomes two. */
export function splitRoot<E extends Keyed>(root: Node<E>, height: number): Inner<E> {
  const { left, separator, right } = split(root, height, { lower: undefined, upper: undefined })
  return createInner(new Separators([separator], 0), [left, right], height + 1)
}

/** The node with two halves of the over-full `child` in place of its child at `index`. */
export function withSplitChild<E extends Keyed>(
  inner: Inner<E>,
  index: number,
  child: Node<E>,
  level: number,
): Inner<E> {
  const { keys, skip } = inner.separators
  const halves = split(child, level - 1, { lower: keys[index - 1], upper: keys[index] })
  return createInner(
    new Separators(keys.toSpliced(index, 0, halves.separator), skip),
    inner.children.toSpliced(index, 1, halves.left, halves.right),
    level,
  )
}

/** The node with `child`, which is too small, in place of its child at `index` and joined with a neighbour: as one child when both
 *  fit into one, as two halves of both when not. */
export function withJoinedChild<E extends Keyed>(
  inner: Inner<E>,
  index: number,
  child: Node<E>,
  level: number,
): Inner<E> {
  const { keys, skip } = inner.separators
  const first = Math.max(0, index - 1)
  const left = index === 0 ? child : inner.children[first]!
  const right = index === 0 ? inner.children[1]! : child
  const joined = join({ left, separator: keys[first]!, right }, level - 1)
  if (!isOverFull(joined, level - 1)) {
    return createInner(
      new Separators(keys.toSpliced(first, 1), skip),
      inner.children.toSpliced(first, 2, joined),
      level,
    )
  }
  const halves = split(joined, level - 1, { lower: keys[first - 1], upper: keys[first + 1] })
  return createInner(
    new Separators(keys.with(first, halves.separator), skip),
    inner.children.toSpliced(first, 2, halves.left, halves.right),
    level,
  )
}

function split<E extends Keyed>(node: Node<E>, level: number, { lower, upper }: Bounds): Halves<E> {
  if (level === 0) {
    const { entries, skip } = node as Leaf<E>
    const middle = entries.length >>> 1
    const separator = entries[middle]!.key
    return {
      left: createLeaf(entries.slice(0, middle), skipBetween(lower, separator, skip)),
      separator,
      right: createLeaf(entries.slice(middle), skipBetween(separator, upper, skip)),
    }
  }
  const { separators, children } = node as Inner<E>
  const { keys, skip } = separators
  const middle = children.length >>> 1
  const separator = keys[middle - 1]!
  const leftKeys = new Separators(keys.slice(0, middle - 1), skipBetween(lower, separator, skip))
  const rightKeys = new Separators(keys.slice(middle), skipBetween(separator, upper, skip))
  return {
    left: createInner(leftKeys, children.slice(0, middle), level),
    separator,
    right: createInner(rightKeys, children.slice(middle), level),
  }
}

function join<E extends Keyed>({ left, separator, right }: Halves<E>, level: number): Node<E> {
  if (level === 0) {
    const a = left as Leaf<E>
    const b = right as Leaf<E>
    return createLeaf(a.entries.concat(b.entries), Math.min(a.skip, b.skip))
  }
  const a = left as Inner<E>
  const b = right as Inner<E>
  const keys = [...a.separators.keys, separator, ...b.separators.keys]
  return new Inner(
    new Separators(keys, Math.min(a.separators.skip, b.separators.skip)),
    a.children.concat(b.children),
    a.count + b.count,
  )
}

/** What all keys between two bounds have in common; `atLeast` when a bound is not known. */
function skipBetween(lower: Key | undefined, upper: Key | undefined, atLeast: number): number {
  return lower === undefined || upper === undefined ? atLeast : sharedBytes(lower, upper)
}
