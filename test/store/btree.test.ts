import assert from 'node:assert/strict'
import t from 'tap'
import { allKeys, type Key, keyFromText, type KeyRange } from '../../lib/base/keys.ts'
import { createRandom, randomInt } from '../../lib/base/random.ts'
import { BTreeBuilder } from '../../lib/store/btree-builder.ts'
import { TreeEdit } from '../../lib/store/btree-edit.ts'
import {
  Head,
  type Inner,
  isOverFull,
  type Keyed,
  type Leaf,
  leafSize,
  markAt,
  minSize,
  offsetsOf,
  type Node,
  sharedBytes,
  sizeOf,
  skipOf,
} from '../../lib/store/btree-nodes.ts'
import { BTree } from '../../lib/store/btree.ts'

/** All that fill a few leaves, and some that fill levels above. */
const sizes = [...Array(100).keys(), 360, 400, 900, 1000, 1065, 5000, 7000, 40_000]

t.test('a bulk load of any size makes a sound tree of what it was fed', async t => {
  for (const size of sizes) {
    const tree = treeOf(numberedKeys(size))
    checkNodes(tree)
    t.equal(tree.size, size)
    t.same(keysOf(tree.range(allKeys)), numberedKeys(size))
  }
})

t.test('an entry is found by its index', async t => {
  for (const size of [0, 1, 24, 25, 400, 5000]) {
    const keys = numberedKeys(size)
    const tree = treeOf(keys)
    t.same(
      keys.map((_, index) => tree.at(index)?.key),
      keys,
    )
    t.same([tree.at(-1), tree.at(size)], [undefined, undefined])
  }
})

t.test('keys that come and go at random leave a sound tree', async t => {
  const random = createRandom(20)
  const keys = numberedKeys(3000)
  const expected = new Set<Key>()
  let edit = new TreeEdit(BTree.empty<Keyed>())
  for (const share of [0.9, 0.1, 0.5, 0.02]) {
    for (let i = 0; i < 6000; i++) {
      const key = keys[randomInt(random, 0, keys.length - 1)]!
      const isThere = expected.has(key)
      if (random.next() < share) {
        assert.equal(edit.put({ key })?.key, isThere ? key : undefined)
        expected.add(key)
      } else {
        assert.equal(edit.delete(key)?.key, isThere ? key : undefined)
        expected.delete(key)
      }
    }
    const tree = edit.tree()
    checkNodes(tree)
    t.same(keysOf(tree.range(allKeys)), [...expected].sort())
    const copy = copyOf(tree)
    checkNodes(copy)
    t.same(leavesOf(copy), leavesOf(tree), 'a copy that is told of the leaves has the same')
    edit = new TreeEdit(tree)
  }
})

t.test('ranges, counts and ranks agree with a sorted array', async () => {
  const random = createRandom(21)
  const keys = numberedKeys(2000).filter(() => random.next() < 0.7)
  const tree = treeOf(keys)
  for (let i = 0; i < 3000; i++) {
    const range = randomRange(random)
    const reverse = random.next() < 0.5
    const limit = random.next() < 0.5 ? undefined : randomInt(random, 0, 100)
    const within = keys.filter(k => k >= range.start && (range.end === undefined || k < range.end))
    assert.equal(tree.count(range), within.length)
    const ordered = reverse ? within.toReversed() : within
    assert.deepEqual(keysOf(tree.range(range, { limit, reverse })), ordered.slice(0, limit))
    assert.deepEqual(keysOf([...tree.iterate(range, reverse)]), ordered)
  }
})

function randomRange(random: ReturnType<typeof createRandom>): KeyRange {
  const start = numberedKey(randomInt(random, 0, 2000))
  if (random.next() < 0.1) return { start, end: undefined }
  return { start, end: numberedKey(randomInt(random, 0, 2000)) }
}

function numberedKeys(size: number): Key[] {
  return Array.from({ length: size }, (_, i) => numberedKey(i))
}

function numberedKey(i: number): Key {
  return keyFromText(`/k/${String(i).padStart(6, '0')}`)
}

function treeOf(keys: readonly Key[]): BTree<Keyed> {
  const builder = new BTreeBuilder<Keyed>()
  for (const key of keys) builder.add({ key })
  return builder.finish()
}

/** Loaded leaf by leaf. */
function copyOf(tree: BTree<Keyed>): BTree<Keyed> {
  const builder = new BTreeBuilder<Keyed>()
  for (const { entries, from, to } of tree.leaves(allKeys)) {
    for (const entry of entries.slice(from, to)) builder.add(entry)
    builder.endLeaf()
  }
  return builder.finish()
}

function leavesOf(tree: BTree<Keyed>): Key[][] {
  return [...tree.leaves(allKeys)].map(({ entries, from, to }) => keysOf(entries.slice(from, to)))
}

function keysOf(entries: readonly Keyed[]): Key[] {
  return entries.map(({ key }) => key)
}

/** A leaf as its keys, their marks, and what those skip. */
function partsOf<E extends Keyed>(leaf: Leaf<E>): { keys: Key[]; marks: number[]; skip: number } {
  const size = leafSize(leaf)
  const marks = leaf.slice(size, -1) as number[]
  return { keys: keysOf(leaf.slice(0, size) as E[]), marks, skip: skipOf(leaf) }
}

/** Every node within its bounds, its keys in order and between those of its parent, its marks and
 *  count right. */
function checkNodes<E extends Keyed>(tree: BTree<E>): void {
  checkNode(tree.root, tree.height, { start: '' as Key, end: undefined }, true)
}

function checkNode<E extends Keyed>(
  node: Node<E>,
  level: number,
  range: KeyRange,
  isRoot: boolean,
): number {
  assert.ok(!isOverFull(node, level))
  assert.ok(isRoot ? level === 0 || sizeOf(node, level) >= 2 : sizeOf(node, level) >= minSize)
  const { keys, marks, skip } = level === 0 ? partsOf(node as Leaf<E>) : (node as Inner<E>)[0]
  keys.forEach((key, i) => {
    assert.ok(i === 0 || key > keys[i - 1]!)
    assert.ok(key >= range.start && (range.end === undefined || key < range.end))
    assert.equal(marks[i], markAt(key, skip))
    assert.equal(key.slice(0, skip), keys[0]!.slice(0, skip))
  })
  assert.equal(marks.length, keys.length)
  if (skip > 0) assert.ok(skip <= sharedBytes(range.start, range.end!))
  assert.equal(node[0] instanceof Head, level > 0)
  if (level === 0) return keys.length
  const [head, ...children] = node as Inner<E>
  assert.equal(keys.length, children.length - 1)
  let count = 0
  const offsets = offsetsOf(node as Inner<E>, level)
  children.forEach((child, i) => {
    assert.equal(offsets[i], count)
    const start = i === 0 ? range.start : keys[i - 1]!
    count += checkNode(child, level - 1, { start, end: keys[i] ?? range.end }, false)
  })
  assert.equal(head.count, count)
  return count
}
