import t from 'tap'
import { revision } from '../../lib/base/revision.ts'
import {
  type Inner,
  type Leaf,
  leafSize,
  maxEntries,
  type Node,
} from '../../lib/store/btree-nodes.ts'
import type { BTree } from '../../lib/store/btree.ts'
import type { Change, KeyValue } from '../../lib/store/event.ts'
import { Keyspace } from '../../lib/store/keyspace.ts'
import { SegmentCache } from '../../lib/store/segments.ts'
import { deleteOf, entryAt, putOf, unbounded } from '../support/store/store-builders.ts'

const size = 100_000

const changes: readonly [string, Change][] = [
  ['an update', putOf(nameOf(4242), 2)],
  ['an insert', putOf(`${nameOf(4242)}x`, 2)],
  ['a delete', deleteOf(nameOf(4242))],
]

for (const [name, change] of changes) {
  t.test(`after ${name}, a snapshot shares all but O(log n) nodes with the one before`, async t => {
    const keyspace = keyspaceOf(size)
    const before = keyspace.latest()
    keyspace.apply(revision(2), [change], 0)
    const after = keyspace.latest()
    const old = new Set(nodesOf(before))
    const all = nodesOf(after)
    const made = all.filter(node => !old.has(node))
    t.ok(after.height <= 5)
    t.ok(all.length > size / maxEntries)
    t.equal(made.length, after.height + 1)
  })
}

t.test('even an insert that splits nodes makes no more than two of each level', async t => {
  const keyspace = new Keyspace(unbounded)
  let most = 0
  for (let at = 1; keyspace.latest().height < 2; at++) {
    const before = new Set(nodesOf(keyspace.latest()))
    keyspace.apply(revision(at), [putOf(nameOf(at), at)], 0)
    most = Math.max(most, nodesOf(keyspace.latest()).filter(node => !before.has(node)).length)
  }
  t.equal(most, 5, 'two leaves, two inner nodes, and a root')
})

t.test('an update shares what the children of its inner nodes were found by', async t => {
  const keyspace = keyspaceOf(size)
  const before = keyspace.latest().root as Inner<KeyValue>
  keyspace.apply(revision(2), [putOf(nameOf(0), 2)], 0)
  const after = keyspace.latest().root as Inner<KeyValue>
  t.not(after, before)
  t.equal(after[0], before[0])
})

t.test('segments of untouched leaves survive, and no other leaf has one', async t => {
  const keyspace = keyspaceOf(size)
  const segments = new SegmentCache<{ readonly entries: number }>(Infinity)
  const leaves = leavesOf(keyspace.latest())
  for (const leaf of leaves) segments.set(leaf, 'json', { entries: leafSize(leaf) }, 1)
  keyspace.apply(revision(2), [putOf(nameOf(4242), 2)], 0)
  keyspace.apply(revision(3), [putOf(nameOf(77_777), 3)], 0)
  const after = leavesOf(keyspace.latest())
  t.equal(after.length, leaves.length)
  t.equal(after.filter(leaf => segments.get(leaf, 'json') === undefined).length, 2)
  t.ok(leaves.every(leaf => segments.get(leaf, 'json') !== undefined))
  t.equal(leavesOf(keyspace.at(revision(1)))[0], leaves[0])
})

function keyspaceOf(entries: number): Keyspace {
  const keyspace = new Keyspace(unbounded)
  const base = Array.from({ length: entries }, (_, i) => entryAt(nameOf(i), 1))
  keyspace.restore(base, revision(1))
  return keyspace
}

function nameOf(i: number): string {
  return `/registry/pods/${String(i).padStart(8, '0')}`
}

function nodesOf(tree: BTree<KeyValue>): Node<KeyValue>[] {
  const nodes: Node<KeyValue>[] = []
  const visit = (node: Node<KeyValue>, level: number): void => {
    nodes.push(node)
    if (level === 0) return
    const [, ...children] = node as Inner<KeyValue>
    for (const child of children) visit(child, level - 1)
  }
  visit(tree.root, tree.height)
  return nodes
}

function leavesOf(tree: BTree<KeyValue>): Leaf<KeyValue>[] {
  return nodesOf(tree).filter(node => typeof node.at(-1) === 'number') as Leaf<KeyValue>[]
}
