/** Runs operations on a keyspace and on the model, and compares all their answers. */

import assert from 'node:assert/strict'
import { CacheError, type ErrorCode } from '../../../lib/base/errors.ts'
import { inRange, isEmptyRange, type Key, keyAfter, type KeyRange } from '../../../lib/base/keys.ts'
import { revision, type Revision } from '../../../lib/base/revision.ts'
import { type Change, KeyValue, noLease } from '../../../lib/store/event.ts'
import type { HistoryBounds } from '../../../lib/store/history.ts'
import type { TermsOf } from '../../../lib/store/index-snapshot.ts'
import { Keyspace } from '../../../lib/store/keyspace.ts'
import { inModelRange, type ModelContents, ModelStore } from './model-store.ts'
import type { Operation, RandomChange, RandomRange } from './store-operations.ts'

const terms = ['', 'a', 'a\0', 'ab', '\0', '\0\u0001', '😀', 'é']

/** Three ways to index: a few terms, others, and terms that come twice and backwards. */
const indexes: readonly { readonly name: string; readonly termsOf: TermsOf }[] = [
  { name: 'low', termsOf: entry => termsOfMask(entry.value[0]! & 0x0f) },
  { name: 'high', termsOf: entry => termsOfMask(entry.value[0]! & 0xf8) },
  {
    name: 'twice',
    termsOf: entry => {
      const once = termsOfMask(entry.value[0]! & 0x55)
      return [...once.toReversed(), ...once]
    },
  },
]

interface IndexState {
  /** Contents that came to be below this revision are not answered by the index. */
  from: number | undefined
}

export class StoreScenario {
  readonly #keys: readonly Key[]
  readonly #bounds: HistoryBounds
  readonly #keyspace: Keyspace
  #model: ModelStore
  #nowMs = 0
  readonly #indexes = new Map<number, IndexState>()

  constructor(keys: readonly Key[], bounds: HistoryBounds) {
    this.#keys = keys
    this.#bounds = bounds
    this.#keyspace = new Keyspace(bounds)
    this.#model = new ModelStore(bounds, [], 0)
  }

  run(operation: Operation): void {
    this.#do(operation)
    const { latest, oldest } = this.#model
    assert.equal(this.#keyspace.revision, latest)
    assert.equal(this.#keyspace.oldest, oldest)
    assert.equal(this.#keyspace.latest().size, this.#model.at(latest).length)
  }

  #do(operation: Operation): void {
    switch (operation.type) {
      case 'batch':
        return this.#batch(operation.changes, operation.step, operation.ms)
      case 'run':
        return this.#batch(this.#runOf(operation), 1, 1)
      case 'advance':
        return this.#advance(operation.step, operation.ms)
      case 'compact':
        return this.#compact(operation.back)
      case 'restore':
        return this.#restore(operation.step, operation.share)
      case 'read':
        return this.#read(operation.back, operation.range)
      case 'since':
        return this.#since(operation.back)
      case 'refuse':
        return this.#refuse(this.#keyAt(operation.key))
      case 'index':
        return operation.isDrop ? this.#drop(operation.index) : this.#add(operation.index)
      case 'build':
        return this.#build(operation.entries)
      case 'readIndex':
        return this.#readIndex(operation)
    }
  }

  #batch(changes: readonly RandomChange[], step: number, ms: number): void {
    const at = revision(this.#model.latest + step)
    const made = this.#changesOf(changes, at)
    if (made.length === 0) return
    this.#nowMs += ms
    const expected = this.#model.apply(at, made, this.#nowMs)
    const batch = this.#keyspace.apply(at, made, this.#nowMs)
    assert.equal(batch.revision, at)
    assert.equal(batch.appliedAtMs, this.#nowMs)
    assert.equal(batch.events.length, expected.events.length)
    expected.events.forEach((event, i) => assert.deepEqual({ ...batch.events[i] }, event))
  }

  #changesOf(changes: readonly RandomChange[], at: Revision): Change[] {
    const contents = this.#model.at(at)
    const made = new Map<Key, Change>()
    for (const { key: index, isDelete, terms: mask } of changes) {
      const key = this.#keyAt(index)
      if (isDelete && find(contents, key) !== undefined) made.set(key, { type: 'delete', key })
      else if (!isDelete) made.set(key, { type: 'put', entry: entryOf(key, mask, at) })
    }
    return [...made.values()]
  }

  #runOf({ at, length, isDelete, terms: mask }: Operation & { type: 'run' }): RandomChange[] {
    const count = Math.min(length, this.#keys.length)
    return Array.from({ length: count }, (_, i) => ({ key: at + i, isDelete, terms: mask }))
  }

  #advance(step: number, ms: number): void {
    this.#nowMs += ms
    const to = revision(this.#model.latest + step - 1)
    this.#model.advance(to, this.#nowMs)
    this.#keyspace.advance(to, this.#nowMs)
  }

  #compact(back: number): void {
    const at = this.#revisionBack(back)
    this.#model.compact(at)
    this.#keyspace.compact(at)
  }

  #restore(step: number, share: number): void {
    const at = revision(Math.max(1, this.#model.latest + step))
    const contents = this.#keys
      .filter((_, i) => i % share === 0)
      .map((key, i) => entryOf(key, i % 256, at))
    this.#model = new ModelStore(this.#bounds, contents, at)
    this.#keyspace.restore(contents, at)
    for (const state of this.#indexes.values()) state.from = undefined
  }

  #read(back: number, random: RandomRange): void {
    const at = this.#revisionBack(back)
    if (at < this.#model.oldest) {
      assert.equal(
        codeOf(() => this.#keyspace.at(at)),
        'expired',
      )
      return
    }
    const snapshot = this.#keyspace.at(at)
    assert.equal(snapshot.revision, at)
    const contents = this.#model.at(at)
    const range = this.#rangeOf(random)
    const within = inModelRange(contents, range)
    assert.equal(snapshot.size, contents.length)
    assert.equal(snapshot.count(range), within.length)
    assert.equal(snapshot.get(range.start), find(contents, range.start))
    const { limit, reverse } = random
    const ordered = reverse ? within.toReversed() : within
    assertSame(snapshot.range(range, { limit, reverse }), ordered.slice(0, limit))
    assertSame([...snapshot.iterate(range, reverse)], ordered)
    const sliced: KeyValue[] = []
    for (const { entries, from, to } of snapshot.leaves(range)) {
      assert.ok(from < to)
      sliced.push(...entries.slice(from, to))
    }
    assertSame(sliced, within)
  }

  #since(back: number): void {
    const at = this.#revisionBack(back)
    const expected = this.#model.since(at)
    const found = this.#keyspace.since(at)
    const next = this.#keyspace.next(at)
    if (expected === 'expired' || found === 'expired') {
      assert.equal(found, expected)
      assert.equal(next, expected)
      return
    }
    const batches = [...found]
    assert.equal(batches.length, expected.length)
    assert.equal(next, batches[0])
    batches.forEach((batch, i) => {
      assert.equal(batch.revision, expected[i]!.revision)
      assert.equal(batch.events.length, expected[i]!.events.length)
    })
  }

  /** Checks that wrong changes are refused with their code, and change nothing: `run` compares
   *  afterwards. */
  #refuse(key: Key): void {
    const { latest } = this.#model
    const put = (at: number): Change => ({ type: 'put', entry: entryOf(key, 1, at) })
    const attempts: [ErrorCode, () => unknown][] = [
      ['conflict', () => this.#apply(latest, [put(latest)])],
      ['conflict', () => this.#apply(latest + 1, [])],
      ['conflict', () => this.#apply(latest + 1, [put(latest + 2)])],
      ['conflict', () => this.#apply(latest + 1, [put(latest + 1), put(latest + 1)])],
      ['invalid_request', () => this.#apply(2 ** 53, [put(2 ** 53)])],
      ['future_revision', () => this.#keyspace.at(revision(latest + 1))],
      ['future_revision', () => this.#keyspace.compact(revision(latest + 1))],
    ]
    if (latest > 0) {
      attempts.push(['conflict', () => this.#keyspace.advance(revision(latest - 1), 0)])
      attempts.push(['conflict', () => this.#apply(latest - 1, [put(latest - 1)])])
    }
    if (find(this.#model.at(latest), key) === undefined) {
      attempts.push(['conflict', () => this.#apply(latest + 1, [{ type: 'delete', key }])])
    }
    for (const [code, attempt] of attempts) assert.equal(codeOf(attempt), code)
  }

  #apply(at: number, changes: readonly Change[]): void {
    this.#keyspace.apply(at as Revision, changes, this.#nowMs)
  }

  #add(index: number): void {
    const { name, termsOf } = indexes[index]!
    if (this.#indexes.has(index)) {
      assert.equal(
        codeOf(() => this.#keyspace.addIndex(name, termsOf)),
        'invalid_request',
      )
      return
    }
    this.#keyspace.addIndex(name, termsOf)
    this.#indexes.set(index, { from: undefined })
  }

  #drop(index: number): void {
    assert.equal(this.#keyspace.dropIndex(indexes[index]!.name), this.#indexes.delete(index))
    assert.equal(this.#keyspace.latest().index(indexes[index]!.name), undefined)
  }

  #build(entries: number): void {
    const isMore = this.#keyspace.buildIndexes(entries)
    assert.equal(isMore, this.#keyspace.isIndexing)
    for (const [index, state] of this.#indexes) {
      const isComplete = this.#keyspace.latest().index(indexes[index]!.name) !== undefined
      if (isComplete) state.from ??= this.#model.changedAt(this.#model.latest)
      if (!isMore) assert.ok(isComplete)
    }
  }

  #readIndex(operation: Operation & { type: 'readIndex' }): void {
    const at = this.#revisionBack(operation.back)
    if (at < this.#model.oldest) return
    const { name, termsOf } = indexes[operation.index]!
    const from = this.#indexes.get(operation.index)?.from
    const view = this.#keyspace.at(at).index(name)
    if (view === undefined) {
      assert.ok(from === undefined || this.#model.changedAt(at) < from)
      return
    }
    const term = terms[operation.term]!
    const range = this.#rangeOf(operation.range)
    const within = inModelRange(this.#model.at(at), range).filter(entry =>
      termsOf(entry).includes(term),
    )
    const { limit, reverse } = operation.range
    const ordered = reverse ? within.toReversed() : within
    assert.equal(view.count(term, range), within.length)
    assertSame(view.range(term, range, { limit, reverse }), ordered.slice(0, limit))
    assertSame([...view.iterate(term, range, reverse)], ordered)
  }

  #revisionBack(back: number): Revision {
    return revision(Math.max(0, this.#model.latest - back))
  }

  #keyAt(index: number): Key {
    return this.#keys[index % this.#keys.length]!
  }

  #rangeOf({ start, end, isAfter, isOpen }: RandomRange): KeyRange {
    const first = this.#keyAt(start)
    const last = this.#keyAt(end)
    const range = { start: isAfter ? keyAfter(first) : first, end: isOpen ? undefined : last }
    if (isEmptyRange(range)) assert.ok(!this.#keys.some(key => inRange(key, range)))
    return range
  }
}

function entryOf(key: Key, mask: number, at: number): KeyValue {
  const meta = { createRevision: 1 as Revision, modRevision: at as Revision, version: 1 }
  return new KeyValue(
    key,
    { bytes: Uint8Array.of(mask), start: 0, end: 1 },
    { ...meta, lease: noLease },
  )
}

function termsOfMask(mask: number): string[] {
  return terms.filter((_, i) => (mask & (1 << i)) !== 0)
}

function find(contents: ModelContents, key: Key): KeyValue | undefined {
  return contents.find(entry => entry.key === key)
}

function assertSame(found: readonly KeyValue[], expected: readonly KeyValue[]): void {
  assert.equal(found.length, expected.length)
  expected.forEach((entry, i) => assert.ok(found[i] === entry))
}

function codeOf(attempt: () => unknown): ErrorCode | undefined {
  try {
    attempt()
  } catch (error) {
    if (error instanceof CacheError) return error.code
    throw error
  }
  return undefined
}
