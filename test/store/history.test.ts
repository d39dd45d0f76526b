import assert from 'node:assert/strict'
import t from 'tap'
import { allKeys, keyFromText } from '../../lib/base/keys.ts'
import { createRandom, type Random, randomInt } from '../../lib/base/random.ts'
import { type Revision, revision } from '../../lib/base/revision.ts'
import type { Change, KeyValue } from '../../lib/store/event.ts'
import { Keyspace } from '../../lib/store/keyspace.ts'
import type { Snapshot } from '../../lib/store/snapshot.ts'
import { collector } from '../support/program/collector.ts'
import { deleteOf, entryAt, putOf, unbounded } from '../support/store/store-builders.ts'

const keys = Array.from({ length: 400 }, (_, i) => `key-${i}`)
/** The number of changes in one batch: more than lie between two snapshots that a history keeps. */
const many = 700
const terms = ['even', 'odd']

t.test('the contents at every revision are those of then, in any order of asking', async t => {
  const seed = Number(process.env['STORE_SEED'] ?? Math.floor(Math.random() * 2 ** 32))
  t.comment(`STORE_SEED=${seed}`)
  const random = createRandom(seed)
  const keyspace = new Keyspace(unbounded)
  keyspace.restore([], revision(1))
  const held: Snapshot[] = [keyspace.latest()]
  for (let batch = 0; batch < 3_000; batch++) {
    // An index comes and goes, and a snapshot has it if it was complete then.
    if (batch === 700) keyspace.addIndex('parity', ({ modRevision }) => [terms[modRevision % 2]!])
    if (batch === 2_500) keyspace.dropIndex('parity')
    if (keyspace.isIndexing) keyspace.buildIndexes(100)
    held[held.length - 1] = keyspace.latest()
    // Nothing happens at some revisions.
    const at = revision(keyspace.revision + randomInt(random, 1, 3))
    if (randomInt(random, 0, 20) === 0) keyspace.advance(at, 0)
    else keyspace.apply(at, changesOf(random, keyspace.latest(), at), 0)
    held.push(keyspace.latest())
  }
  let withIndex = 0
  for (let i = 0; i < 2_000; i++) {
    const index = randomInt(random, 0, held.length - 1)
    const then = held[index]!
    const next = held[index + 1]?.revision ?? then.revision + 1
    const asked = revision(randomInt(random, then.revision, next - 1))
    const found = keyspace.at(asked)
    assert.equal(found.revision, asked)
    assert.deepEqual(contentsOf(found), contentsOf(then), `STORE_SEED=${seed}, revision ${asked}`)
    if (found.index('parity') !== undefined) {
      withIndex++
      assert.deepEqual(indexed(found), then.range(allKeys).map(parityOf).toSorted())
    }
  }
  // From the revision at which it was complete until it was dropped.
  assert.ok(withIndex > 1_000 && withIndex < 1_400, `STORE_SEED=${seed}, ${withIndex} had an index`)
  // What leaves does so one by one, and what stays can be read until it leaves.
  for (let index = 0; index < held.length; index += 50) {
    const { revision: oldest } = held[index]!
    keyspace.compact(oldest)
    for (const back of [index, Math.min(index + 300, held.length - 1)]) {
      const then = held[back]!
      assert.deepEqual(contentsOf(keyspace.at(then.revision)), contentsOf(then))
    }
  }
})

t.test('a batch of very many changes is never undone', async t => {
  const keyspace = new Keyspace(unbounded)
  keyspace.restore([], revision(1))
  const put = (from: number, to: number, at: number): Snapshot => {
    const changes = Array.from({ length: to - from }, (_, i) => putOf(`key-${from + i}`, at))
    keyspace.apply(revision(at), changes, 0)
    return keyspace.latest()
  }
  const held = [put(0, 2, 2), put(0, many, 3), put(0, 2, 4), put(0, many, 5), put(0, many, 6)]
  for (const { revision: at, root } of held) t.equal(keyspace.at(at).root, root, `revision ${at}`)
})

t.test('a history keeps few snapshots, and none once it has left', async t => {
  const collect = collector()
  const keyspace = new Keyspace({ ...unbounded, maxBatches: many })
  keyspace.restore([], revision(1))
  const roots: WeakRef<object>[] = []
  for (let at = 2; at < 2 + 2 * many; at++) {
    keyspace.apply(revision(at), [putOf('a', at)], 0)
    roots.push(new WeakRef(keyspace.latest().root))
  }
  // What a WeakRef was made of is held until the end of the turn.
  await new Promise(resolve => setImmediate(resolve))
  collect()
  const alive = roots.flatMap((root, i) => (root.deref() === undefined ? [] : [i]))
  t.ok(alive.length > 1 && alive.length < many / 25, `${alive.length} of ${many}`)
  // V8's compiler may hold on to one that it met.
  const stale = alive.filter(i => i < many - 1)
  t.ok(stale.length <= 1, `of those that have left, ${stale.join()}`)
})

t.test('all entries of a key share the string', async t => {
  const keyspace = new Keyspace(unbounded)
  const [first, second] = [1, 2].map(at => entryAt('a', at))
  keyspace.restore([first!], revision(1))
  let sharedWith: string | undefined
  second!.shareKey = key => {
    sharedWith = key
  }
  const change: Change = { type: 'put', entry: second! }
  t.equal(keyspace.apply(revision(2), [change], 0).events[0]?.key, keyFromText('a'))
  t.equal(sharedWith, first!.key)
})

t.test('a history says how long a reader may pause', async t => {
  const keyspace = new Keyspace({ ...unbounded, maxBatches: 3 })
  const reach = (nowMs: number): number | undefined => keyspace.historyReachMs(nowMs)
  keyspace.restore([], revision(1))
  for (const at of [2, 3, 4]) keyspace.apply(revision(at), [putOf('a', at)], at * 100)
  t.equal(reach(1_000), undefined, 'all since the restore are there')
  keyspace.apply(revision(6), [putOf('a', 6)], 600)
  t.equal(reach(1_000), 800, 'since revision 2 came at 200')
  t.not(keyspace.since(revision(2)), 'expired')
  t.equal(keyspace.since(revision(1)), 'expired')
  keyspace.addIndex('parity', () => ['even'])
  while (keyspace.buildIndexes(10));
  t.equal(reach(1_000), 800, 'indexes change nothing of it')
  keyspace.compact(revision(4))
  t.equal(reach(1_000), 600, 'revision 4 came at 400')
  keyspace.compact(revision(5))
  t.equal(reach(1_000), 400, 'revision 5 has no batch: at least since that of 6')
  keyspace.advance(revision(8), 900)
  keyspace.compact(revision(7))
  t.equal(reach(1_000), 0, 'nothing is known but the newest')
  keyspace.restore([], revision(9))
  t.equal(reach(1_000), undefined)
})

t.test('whoever was up to date within the reach of a history finds every batch', async t => {
  const seed = Number(process.env['STORE_SEED'] ?? Math.floor(Math.random() * 2 ** 32))
  t.comment(`STORE_SEED=${seed}`)
  const random = createRandom(seed)
  const keyspace = new Keyspace({ ...unbounded, maxBatches: 40, maxAgeMs: 3_000 })
  keyspace.restore([], revision(1))
  /** The latest revision at each time. */
  const latest: { readonly atMs: number; readonly revision: Revision }[] = []
  let nowMs = 0
  let dropped = 0
  for (let step = 0; step < 2_000; step++) {
    nowMs += randomInt(random, 1, randomInt(random, 0, 50) === 0 ? 2_000 : 100)
    const at = revision(keyspace.revision + randomInt(random, 1, 3))
    if (randomInt(random, 0, 5) === 0) keyspace.advance(at, nowMs)
    else keyspace.apply(at, changesOf(random, keyspace.latest(), at), nowMs)
    latest.push({ atMs: nowMs, revision: keyspace.revision })
    if (randomInt(random, 0, 100) === 0) {
      const [oldest, newest] = [keyspace.oldest, keyspace.revision]
      keyspace.compact(revision(randomInt(random, oldest, newest)))
    }
    const reachMs = keyspace.historyReachMs(nowMs)
    if (reachMs !== undefined) dropped++
    for (const then of latest.slice(-80)) {
      if (reachMs !== undefined && nowMs - then.atMs > reachMs) continue
      assert.notEqual(keyspace.since(then.revision), 'expired', `STORE_SEED=${seed}, ${step}`)
    }
  }
  assert.ok(dropped > 1_500, `STORE_SEED=${seed}, ${dropped}`)
})

/** A few changes of random keys, each once; seldom very many. */
function changesOf(random: Random, contents: Snapshot, at: number): Change[] {
  const count = randomInt(random, 0, 400) === 0 ? many : randomInt(random, 1, 4)
  const changes = new Map<string, Change>()
  for (let i = 0; i < count; i++) {
    const key = keys[randomInt(random, 0, keys.length - 1)]!
    const isThere = contents.get(keyFromText(key)) !== undefined
    changes.set(key, isThere && randomInt(random, 0, 2) === 0 ? deleteOf(key) : putOf(key, at))
  }
  return [...changes.values()]
}

function contentsOf(snapshot: Snapshot): string[] {
  return snapshot.range(allKeys).map(({ key, modRevision }) => `${key}@${modRevision}`)
}

/** The contents of the index, in order. */
function indexed(snapshot: Snapshot): string[] {
  return terms.flatMap(term => {
    const entries = snapshot.index('parity')!.range(term, allKeys)
    return entries.map(({ key }) => `${term} ${key}`)
  })
}

function parityOf({ key, modRevision }: KeyValue): string {
  return `${terms[modRevision % 2]!} ${key}`
}

t.test('a large batch outlives the bound of bytes for a moment, and small ones do not', async t => {
  const keyspace = new Keyspace({ maxBatches: 1_000, maxAgeMs: 1e9, maxBytes: 100_000 })
  const some = keys.slice(0, 80)
  keyspace.apply(
    revision(1),
    some.map(key => putOf(key, 1)),
    0,
  )
  keyspace.apply(revision(2), some.map(deleteOf), 0)
  t.equal(keyspace.oldest, 0, 'who watches is on the way through both')
  keyspace.apply(
    revision(3),
    some.map(key => putOf(key, 3)),
    10_000,
  )
  t.equal(keyspace.oldest, 1, 'twice the bound is the end')
  for (let at = 4; at < 200; at++) keyspace.apply(revision(at), [putOf('other', at)], 31_000)
  t.ok(keyspace.historyBytes <= 100_000)
  t.ok(keyspace.oldest > 2)
})
