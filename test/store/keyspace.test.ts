import t from 'tap'
import { CacheError, type ErrorCode } from '../../lib/base/errors.ts'
import { allKeys, keyFromText } from '../../lib/base/keys.ts'
import { type Revision, revision } from '../../lib/base/revision.ts'
import type { Batch, KeyValue } from '../../lib/store/event.ts'
import type { HistoryBounds } from '../../lib/store/history.ts'
import { Keyspace } from '../../lib/store/keyspace.ts'
import { deleteOf, entryAt, putOf, unbounded } from '../support/store/store-builders.ts'

t.test('a batch is seen at its revision and not before', async t => {
  const keyspace = keyspaceOf(['a', 'b'], 5)
  keyspace.apply(revision(7), [putOf('a', 7), putOf('c', 7), deleteOf('b')], 0)
  t.same(contents(keyspace.latest().range(allKeys)), ['a@7', 'c@7'])
  t.same(contents(keyspace.at(revision(6)).range(allKeys)), ['a@5', 'b@5'])
  t.equal(keyspace.at(revision(6)).revision, 6)
  t.equal(keyspace.revision, 7)
})

t.test('a batch tells what was there before and what is there now', async t => {
  const keyspace = keyspaceOf(['a', 'b'], 5)
  const batch = keyspace.apply(revision(6), [putOf('a', 6), deleteOf('b'), putOf('c', 6)], 123)
  t.same(batch.events.map(describe), ['a: a@5 -> a@6', 'b: b@5 -> -', 'c: - -> c@6'])
  t.equal(batch.appliedAtMs, 123)
})

t.test('a batch can be made in steps, and is seen when it is published', async t => {
  const keyspace = keyspaceOf(['a', 'b', 'c'], 5)
  const prepared = keyspace.prepare(revision(6), [deleteOf('a'), deleteOf('b'), putOf('d', 6)])
  t.equal(prepared.step(2), true, 'one change is left')
  t.equal(keyspace.revision, 5)
  t.same(contents(keyspace.latest().range(allKeys)), ['a@5', 'b@5', 'c@5'])
  t.equal(prepared.step(2), false)
  t.same(contents(keyspace.latest().range(allKeys)), ['a@5', 'b@5', 'c@5'])
  const batch = keyspace.publish(prepared, 123)
  t.same(batch.events.map(describe), ['a: a@5 -> -', 'b: b@5 -> -', 'd: - -> d@6'])
  t.same(contents(keyspace.latest().range(allKeys)), ['c@5', 'd@6'])
  t.equal(keyspace.revision, 6)
})

t.test('a batch in the making is made again where contents were replaced meanwhile', async t => {
  const keyspace = keyspaceOf(['a', 'b'], 5)
  const prepared = keyspace.prepare(revision(9), [putOf('a', 9), putOf('c', 9)])
  prepared.step(1)
  keyspace.restore([entryAt('b', 7)], revision(7))
  keyspace.publish(prepared, 0)
  t.same(contents(keyspace.latest().range(allKeys)), ['a@9', 'b@7', 'c@9'])
})

t.test('a batch in the making is refused where its revision has passed', async t => {
  const keyspace = keyspaceOf(['a'], 5)
  const prepared = keyspace.prepare(revision(6), [putOf('a', 6)])
  keyspace.advance(revision(6), 0)
  t.throws(() => keyspace.publish(prepared, 0), { code: 'conflict' })
  t.same(contents(keyspace.latest().range(allKeys)), ['a@5'])
})

t.test('an index that is added, or built on, while a batch is made has it, too', async t => {
  const keyspace = keyspaceOf(['a', 'b'], 5)
  const changes = [putOf('a', 6), putOf('c', 6)]
  const before = keyspace.prepare(revision(6), changes)
  before.step(1)
  keyspace.addIndex('keys', ({ key }) => [key])
  while (keyspace.buildIndexes(1));
  keyspace.publish(before, 0)
  t.equal(keyspace.latest().index('keys')?.count(keyFromText('c'), allKeys), 1)
})

t.test('progress advances the revision and changes nothing', async t => {
  const keyspace = keyspaceOf(['a'], 5)
  const { root } = keyspace.latest()
  keyspace.advance(revision(9), 0)
  t.equal(keyspace.latest().revision, 9)
  t.equal(keyspace.latest().root, root)
  keyspace.advance(revision(9), 0)
  t.equal(keyspace.at(revision(8)).revision, 8)
  t.equal(keyspace.historyBatches, 0)
})

t.test('what does not follow from what is there is refused and leaves no trace', async t => {
  const keyspace = keyspaceOf(['a', 'b'], 5)
  keyspace.apply(revision(7), [putOf('a', 7)], 0)
  const before = keyspace.latest()
  const huge = (2 ** 53) as Revision
  const refusals: [string, ErrorCode, () => unknown][] = [
    ['a revision going back', 'conflict', () => keyspace.apply(revision(6), [putOf('a', 6)], 0)],
    ['a revision applied', 'conflict', () => keyspace.apply(revision(7), [putOf('a', 7)], 0)],
    [
      'a delete of a missing key',
      'conflict',
      () => keyspace.apply(revision(8), [deleteOf('x')], 0),
    ],
    [
      'a delete of a missing key after a good change',
      'conflict',
      () => keyspace.apply(revision(8), [putOf('b', 8), deleteOf('x')], 0),
    ],
    [
      'two changes of one key',
      'conflict',
      () => keyspace.apply(revision(8), [putOf('a', 8), deleteOf('a')], 0),
    ],
    ['no changes', 'conflict', () => keyspace.apply(revision(8), [], 0)],
    [
      'an entry of another revision',
      'conflict',
      () => keyspace.apply(revision(8), [putOf('a', 9)], 0),
    ],
    ['too high a revision', 'invalid_request', () => keyspace.apply(huge, [deleteOf('a')], 0)],
    ['progress going back', 'conflict', () => keyspace.advance(revision(6), 0)],
    ['progress too high', 'invalid_request', () => keyspace.advance(huge, 0)],
    ['a base at too high a revision', 'invalid_request', () => keyspace.restore([], huge)],
    [
      'a base that is not in order',
      'conflict',
      () => keyspace.restore([entryAt('b', 1), entryAt('a', 1)], revision(9)),
    ],
    [
      'a base with a key twice',
      'conflict',
      () => keyspace.restore([entryAt('a', 1), entryAt('a', 1)], revision(9)),
    ],
    ['a compaction above the latest', 'future_revision', () => keyspace.compact(revision(8))],
    ['a snapshot above the latest', 'future_revision', () => keyspace.at(revision(8))],
    ['a snapshot at too high a revision', 'invalid_request', () => keyspace.at(huge)],
  ]
  for (const [name, code, attempt] of refusals) {
    t.equal(codeOf(attempt), code, name)
    t.equal(keyspace.latest(), before, name)
    t.equal(keyspace.historyBatches, 1, name)
  }
})

t.test('a refusal carries the revision that can be read', async t => {
  const keyspace = keyspaceOf(['a'], 5)
  t.match(
    failureOf(() => keyspace.at(revision(4))),
    { code: 'expired', details: { oldest: 5 } },
  )
  t.match(
    failureOf(() => keyspace.at(revision(6))),
    {
      code: 'future_revision',
      details: { latest: 5 },
    },
  )
})

t.test('positions see the batches above them, or that they have expired', async t => {
  const keyspace = keyspaceOf(['a'], 5)
  for (const n of [7, 9, 12]) keyspace.apply(revision(n), [putOf('a', n)], 0)
  keyspace.advance(revision(20), 0)
  t.same(revisions(keyspace.since(revision(5))), [7, 9, 12])
  t.same(revisions(keyspace.since(revision(8))), [9, 12])
  t.same(revisions(keyspace.since(revision(12))), [])
  t.same(revisions(keyspace.since(revision(99))), [])
  t.equal(keyspace.since(revision(4)), 'expired')
  t.equal((keyspace.next(revision(7)) as Batch).revision, 9)
  t.equal(keyspace.next(revision(20)), undefined)
  t.equal(keyspace.next(revision(4)), 'expired')
})

t.test('a walk over batches sees those that arrive, and fails when it is overtaken', async t => {
  const keyspace = keyspaceOf(['a'], 5, { ...unbounded, maxBatches: 2 })
  keyspace.apply(revision(6), [putOf('a', 6)], 0)
  const walk = (keyspace.since(revision(5)) as Iterable<Batch>)[Symbol.iterator]()
  t.equal(walk.next().value?.revision, 6)
  keyspace.apply(revision(7), [putOf('a', 7)], 0)
  t.equal(walk.next().value?.revision, 7)
  for (const n of [8, 9, 10]) keyspace.apply(revision(n), [putOf('a', n)], 0)
  t.match(
    failureOf(() => walk.next()),
    { code: 'expired', details: { oldest: 8 } },
  )
})

t.test('compaction makes its revision the oldest', async t => {
  const keyspace = keyspaceOf(['a'], 5)
  for (const n of [7, 9, 12]) keyspace.apply(revision(n), [putOf('a', n)], 0)
  keyspace.compact(revision(10))
  t.equal(keyspace.oldest, 10)
  t.same(contents(keyspace.at(revision(10)).range(allKeys)), ['a@9'])
  t.match(
    failureOf(() => keyspace.at(revision(9))),
    { code: 'expired', details: { oldest: 10 } },
  )
  t.same(revisions(keyspace.since(revision(10))), [12])
  t.equal(keyspace.since(revision(9)), 'expired')
  keyspace.compact(revision(3))
  t.equal(keyspace.oldest, 10, 'compacting below the oldest does nothing')
})

t.test('history is bounded by count', async t => {
  const keyspace = keyspaceOf(['a'], 5, { ...unbounded, maxBatches: 2 })
  for (const n of [6, 7, 8]) keyspace.apply(revision(n), [putOf('a', n)], 0)
  t.equal(keyspace.oldest, 6)
  t.same(revisions(keyspace.since(revision(6))), [7, 8])
})

t.test('history is bounded by age, also when only progress arrives', async t => {
  const keyspace = keyspaceOf(['a'], 5, { ...unbounded, maxAgeMs: 100 })
  keyspace.apply(revision(6), [putOf('a', 6)], 1000)
  keyspace.apply(revision(7), [putOf('a', 7)], 1050)
  keyspace.advance(revision(8), 1100)
  t.equal(keyspace.oldest, 5)
  keyspace.advance(revision(8), 1101)
  t.equal(keyspace.oldest, 6)
  keyspace.advance(revision(9), 2000)
  t.equal(keyspace.oldest, 7)
})

t.test('history is bounded by bytes', async t => {
  const keyspace = keyspaceOf(['a'], 5, { ...unbounded, maxBytes: 10_000 })
  for (let n = 6; n < 106; n++) keyspace.apply(revision(n), [putOf('a', n)], 0)
  t.ok(keyspace.historyBytes <= 10_000)
  t.ok(keyspace.historyBatches >= 1)
  t.ok(keyspace.historyBatches < 10)
})

t.test('a snapshot that is held stays readable whatever happens to the keyspace', async t => {
  const keyspace = keyspaceOf(['a', 'b'], 5, { ...unbounded, maxBatches: 1 })
  const held = keyspace.latest()
  for (const n of [6, 7, 8]) keyspace.apply(revision(n), [putOf('a', n)], 0)
  keyspace.restore([], revision(3))
  t.same(contents(held.range(allKeys)), ['a@5', 'b@5'])
  t.equal(keyspace.revision, 3)
  t.equal(keyspace.oldest, 3)
  t.equal(keyspace.latest().size, 0)
})

function keyspaceOf(
  keys: readonly string[],
  at: number,
  bounds: HistoryBounds = unbounded,
): Keyspace {
  const keyspace = new Keyspace(bounds)
  keyspace.restore(
    keys.map(key => entryAt(key, at)),
    revision(at),
  )
  return keyspace
}

function contents(entries: readonly KeyValue[]): string[] {
  return entries.map(textOf)
}

function textOf(entry: KeyValue | undefined): string {
  return entry === undefined ? '-' : Buffer.from(entry.value).toString()
}

function describe({ key, before, after }: Batch['events'][number]): string {
  return `${key}: ${textOf(before)} -> ${textOf(after)}`
}

function revisions(batches: Iterable<Batch> | 'expired'): number[] | 'expired' {
  return batches === 'expired' ? 'expired' : Array.from(batches, batch => batch.revision)
}

function failureOf(attempt: () => unknown): CacheError | undefined {
  try {
    attempt()
  } catch (error) {
    if (error instanceof CacheError) return error
    throw error
  }
  return undefined
}

function codeOf(attempt: () => unknown): ErrorCode | undefined {
  return failureOf(attempt)?.code
}
