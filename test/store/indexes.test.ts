import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { CacheError } from '../../lib/base/errors.ts'
import { allKeys, keyFromText, prefixRange } from '../../lib/base/keys.ts'
import { revision } from '../../lib/base/revision.ts'
import { noteEffort } from '../../lib/base/slice.ts'
import type { KeyValue } from '../../lib/store/event.ts'
import { Keyspace } from '../../lib/store/keyspace.ts'
import { deleteOf, entryOf, unbounded } from '../support/store/store-builders.ts'

const name = 'label:app'

t.test('an index finds the entries of a term in key order', async t => {
  const keyspace = keyspaceOf({ a: 'web', b: 'db', c: 'web', d: '', x1: 'web' })
  keyspace.addIndex(name, termsOf)
  t.equal(keyspace.latest().index(name), undefined, 'not before it is built')
  keyspace.buildIndexes(100)
  const view = keyspace.latest().index(name)!
  t.same(keysOf(view.range('web', allKeys)), ['a', 'c', 'x1'])
  t.same(keysOf(view.range('web', allKeys, { reverse: true, limit: 2 })), ['x1', 'c'])
  t.same(keysOf(view.range('web', prefixRange(keyFromText('x')))), ['x1'])
  t.same(keysOf([...view.iterate('db', allKeys)]), ['b'])
  t.equal(view.count('web', allKeys), 3)
  t.equal(view.count('we', allKeys), 0, 'a term that begins another is not the other')
})

t.test('an index follows every batch and answers at every revision since it was built', async t => {
  const keyspace = keyspaceOf({ a: 'web', b: 'db' })
  keyspace.apply(revision(2), [putOf('c', 'web', 2)], 0)
  keyspace.addIndex(name, termsOf)
  keyspace.advance(revision(3), 0)
  keyspace.buildIndexes(100)
  keyspace.apply(revision(4), [putOf('a', 'db', 4), deleteOf('c')], 0)
  keyspace.apply(revision(5), [putOf('b', 'db', 5)], 0)
  t.same(webAt(keyspace, 5), [])
  t.same(webAt(keyspace, 4), [])
  t.same(webAt(keyspace, 3), ['a', 'c'])
  t.same(webAt(keyspace, 2), ['a', 'c'], 'nothing has changed since revision 2')
  t.equal(webAt(keyspace, 1), 'not indexed')
})

t.test('building calls for no more entries than a slice allows, batches or not', async t => {
  const size = 100_000
  const slice = 500
  const apps = Array.from({ length: size }, (_, i) => [nameOf(i), `app-${i % 97}`] as const)
  const keyspace = keyspaceOf(Object.fromEntries(apps))
  let calls = 0
  const counted = (entry: KeyValue): readonly string[] => {
    calls++
    return termsOf(entry)
  }
  keyspace.addIndex(name, counted)
  let slices = 0
  let most = 0
  for (let isMore = true; isMore; slices++) {
    const before = calls
    isMore = keyspace.buildIndexes(slice)
    most = Math.max(most, calls - before)
    const at = slices + 2
    // One change behind the walk and one before it, each of which moves an entry to another term.
    const changes = [
      putOf(nameOf(slices), 'moved', at),
      putOf(nameOf(size - 1 - slices), 'moved', at),
    ]
    keyspace.apply(revision(at), changes, 0)
  }
  t.ok(most <= slice)
  t.ok(
    slices <= (1.25 * size) / slice + 2,
    'reading takes a slice for so many, making the tree a quarter',
  )
  const view = keyspace.latest().index(name)!
  t.equal(view.count('moved', allKeys), 2 * slices)
  const scanned = keyspace.latest().range(allKeys)
  for (const term of ['moved', 'app-0', 'app-96', 'none']) {
    const expected = scanned.filter(entry => termsOf(entry).includes(term))
    t.same(keysOf(view.range(term, allKeys)), keysOf(expected))
  }
})

t.test('building calls for fewer entries where each takes long to read', async t => {
  const keyspace = keyspaceOf({ a: 'web', b: 'db', c: 'web' })
  keyspace.addIndex(name, entry => {
    noteEffort(2_000)
    return termsOf(entry)
  })
  let slices = 1
  while (keyspace.buildIndexes(100)) slices++
  t.ok(slices >= 3, `${slices} slices`)
  t.same(keysOf(keyspace.latest().index(name)!.range('web', allKeys)), ['a', 'c'])
})

t.test('whatever changes while an index is built, it holds what a scan finds', async () => {
  const change = fc.record({
    name: fc.nat({ max: 30 }),
    app: fc.option(fc.constantFrom('a', 'b', 'ab', 'c', ''), { nil: undefined }),
  })
  const step = fc.record({ slice: fc.nat({ max: 6 }), changes: fc.array(change, { maxLength: 3 }) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), steps => {
      const keyspace = keyspaceOf(
        Object.fromEntries(Array.from({ length: 20 }, (_, i) => [nameOf(i), i % 2 ? 'a' : 'b'])),
      )
      keyspace.addIndex(name, termsOf)
      for (const [i, { slice, changes }] of steps.entries()) {
        keyspace.buildIndexes(slice)
        const byName = new Map(changes.map(one => [nameOf(one.name), one.app]))
        const batch = [...byName].flatMap(([key, app]) => {
          if (app !== undefined) return [putOf(key, app, i + 2)]
          return keyspace.latest().get(keyFromText(key)) === undefined ? [] : [deleteOf(key)]
        })
        if (batch.length > 0) keyspace.apply(revision(i + 2), batch, 0)
      }
      while (keyspace.buildIndexes(5));
      const view = keyspace.latest().index(name)!
      for (const term of ['a', 'b', 'ab', 'c']) {
        const expected = keyspace
          .latest()
          .range(allKeys)
          .filter(entry => termsOf(entry).includes(term))
        assert.deepEqual(keysOf(view.range(term, allKeys)), keysOf(expected))
      }
      const terms = keyspace.latest().range(allKeys).flatMap(termsOf)
      const places = terms.reduce((sum, term) => sum + term.length + 2 + nameOf(0).length, 0)
      assert.equal(keyspace.indexBytes, 120 * terms.length + places)
    }),
  )
})

t.test('a slice is shared by all indexes that are being built', async t => {
  const keyspace = keyspaceOf({ a: 'x', b: 'x', c: 'x' })
  let calls = 0
  const counted = (): readonly string[] => {
    calls++
    return ['x']
  }
  keyspace.addIndex('one', counted)
  keyspace.addIndex('two', counted)
  t.ok(keyspace.buildIndexes(4))
  t.equal(calls, 4)
  t.ok(keyspace.latest().index('one'))
  t.equal(keyspace.latest().index('two'), undefined)
  t.notOk(keyspace.buildIndexes(4))
  t.equal(calls, 6)
})

t.test('an index can be dropped and added while running; held snapshots keep it', async t => {
  const keyspace = keyspaceOf({ a: 'web' })
  keyspace.addIndex(name, termsOf)
  t.throws(() => keyspace.addIndex(name, termsOf), CacheError)
  keyspace.buildIndexes(100)
  const held = keyspace.latest()
  t.ok(keyspace.dropIndex(name))
  t.notOk(keyspace.dropIndex(name))
  t.equal(keyspace.latest().index(name), undefined)
  t.equal(held.index(name)?.count('web', allKeys), 1)
  keyspace.addIndex(name, termsOf)
  t.ok(keyspace.isIndexing)
  keyspace.buildIndexes(100)
  t.notOk(keyspace.isIndexing)
  t.equal(keyspace.latest().index(name)?.count('web', allKeys), 1)
})

t.test('a restore has every index built anew', async t => {
  const keyspace = keyspaceOf({ a: 'web' })
  keyspace.addIndex(name, termsOf)
  keyspace.buildIndexes(100)
  keyspace.restore([entry('b', 'web', 9)], revision(9))
  t.equal(keyspace.latest().index(name), undefined)
  t.ok(keyspace.isIndexing)
  keyspace.buildIndexes(100)
  t.same(webAt(keyspace, 9), ['b'])
})

t.test('a batch whose terms cannot be told changes nothing', async t => {
  const keyspace = keyspaceOf({ a: 'web', b: 'db' })
  keyspace.addIndex(name, termsOf)
  keyspace.addIndex('label:bad', entry => {
    if (termsOf(entry).includes('bad')) throw new CacheError('unsupported', 'cannot be read')
    return []
  })
  keyspace.buildIndexes(100)
  const before = keyspace.latest()
  t.throws(() => keyspace.apply(revision(2), [putOf('a', 'bad', 2)], 0), CacheError)
  t.equal(keyspace.latest(), before)
  t.same(webAt(keyspace, 1), ['a'])
  keyspace.apply(revision(2), [putOf('b', 'web', 2)], 0)
  t.same(webAt(keyspace, 2), ['a', 'b'])
})

function keyspaceOf(apps: Readonly<Record<string, string>>): Keyspace {
  const keyspace = new Keyspace(unbounded)
  const entries = Object.entries(apps).map(([key, app]) => entry(key, app, 1))
  keyspace.restore(entries, revision(1))
  return keyspace
}

function entry(key: string, app: string, at: number): KeyValue {
  return entryOf({ key: keyFromText(key), value: app, modRevision: at })
}

function putOf(key: string, app: string, at: number): { type: 'put'; entry: KeyValue } {
  return { type: 'put', entry: entry(key, app, at) }
}

/** The value is the one term, unless it is empty. */
function termsOf({ value }: KeyValue): readonly string[] {
  return value.length === 0 ? [] : [Buffer.from(value).toString()]
}

function nameOf(i: number): string {
  return `/registry/pods/${String(i).padStart(6, '0')}`
}

function webAt(keyspace: Keyspace, at: number): string[] | 'not indexed' {
  const view = keyspace.at(revision(at)).index(name)
  return view === undefined ? 'not indexed' : keysOf(view.range('web', allKeys))
}

function keysOf(entries: readonly KeyValue[]): string[] {
  return entries.map(({ key }) => key)
}
