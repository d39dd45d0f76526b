import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { type ListPlan, planRead } from '../../../lib/kube/read-plan.ts'
import { parseTarget } from '../../../lib/kube/request/request.ts'
import { Keyspace } from '../../../lib/store/keyspace.ts'
import { IndexKeeper } from '../../../lib/cache/keepers/index-keeper.ts'
import { FakeClock, settle } from '../../support/fake-clock.ts'
import { builtIn, labelled } from '../../support/kube/kube-builders.ts'
import { slowReader } from '../../support/kube/slow-selectable.ts'

/** Ten objects in a small namespace, and ninety in a large one. */
function setUp(fits: (bytes: number) => boolean = () => true): {
  store: Keyspace
  keeper: IndexKeeper
  ask: (label: string, namespace?: string) => Promise<void>
} {
  const store = new Keyspace({ maxBatches: 100, maxAgeMs: 1e9, maxBytes: 1e9 })
  const entries = Array.from({ length: 100 }, (_, i) => {
    const namespace = i < 10 ? 'a' : 'b'
    const name = String(i).padStart(3, '0')
    return labelled(`/registry/configmaps/${namespace}/${name}`, { app: `${i}`, tier: 'x' })
  })
  store.restore(entries, revision(1))
  const clock = new FakeClock()
  const keeper = new IndexKeeper({ storeOf: () => store, clock, fits })
  return {
    store,
    keeper,
    ask: async (label, namespace = '') => {
      const { query } = parseTarget(`/x?labelSelector=${label}%3D1`)!
      const resource = builtIn('configmaps')
      const scope = { verb: 'list', namespace, name: '' } as const
      const route = { type: 'resource', schema: schemaOf(), resource, ...scope } as const
      const plan = planRead(route as never, query) as ListPlan
      keeper.asked(plan, { user: 'somebody', makeReader: slowReader })
      await settle()
    },
  }
}

function indexes(store: Keyspace, ...labels: string[]): string[] {
  return labels.filter(label => store.latest().index(`label:${label}`) !== undefined)
}

t.test('indexes are weighed, and dropped when memory is needed', async t => {
  const { store, keeper, ask } = setUp()
  for (const label of ['app', 'app', 'tier', 'tier', 'app']) await ask(label)
  t.strictSame(indexes(store, 'app', 'tier'), ['app', 'tier'])
  const { bytes } = keeper
  t.ok(bytes > 200 * 120 && bytes < 200 * 240, `${bytes}`)
  keeper.dropTo(bytes)
  t.equal(keeper.bytes, bytes)
  keeper.dropTo(bytes - 1)
  t.strictSame(indexes(store, 'app', 'tier'), ['app'], 'the one that was used last stays')
  const key = keyFromText('/registry/configmaps/a/000')
  const before = keeper.bytes
  store.apply(revision(2), [{ type: 'delete', key }], 0)
  t.ok(keeper.bytes < before, 'less with an object less')
  keeper.dropTo(0)
  t.equal(keeper.bytes, 0)
})

t.test('whoever may list a small part of a keyspace makes no index of all of it', async t => {
  const { store, ask } = setUp()
  for (let i = 0; i < 3; i++) await ask('app', 'empty')
  t.strictSame(indexes(store, 'app'), [])
  for (let i = 0; i < 3; i++) await ask('app', 'b')
  t.strictSame(indexes(store, 'app'), ['app'])
})

t.test('nothing is indexed for which there is no memory', async t => {
  let left = 0
  const { store, keeper, ask } = setUp(bytes => bytes <= left)
  for (let i = 0; i < 3; i++) await ask('app')
  t.equal(keeper.bytes, 0)
  left = 1e6
  for (let i = 0; i < 3; i++) await ask('app')
  t.strictSame(indexes(store, 'app'), ['app'])
})

/** A keyspace that is large enough to wait for its index, and who asks for parts of it. */
function setUpLarge(): {
  store: Keyspace
  keeper: IndexKeeper
  clock: FakeClock
  reads: () => number
  ask: (value: number, namespace?: string) => Promise<void> | undefined
} {
  const store = new Keyspace({ maxBatches: 100, maxAgeMs: 1e9, maxBytes: 1e9 })
  const entries = Array.from({ length: 20_000 }, (_, i) => {
    const name = String(i).padStart(5, '0')
    const namespace = i < 100 ? 'a' : 'b'
    return labelled(`/registry/configmaps/${namespace}/${name}`, { app: `${i % 100}` })
  })
  store.restore(entries, revision(1))
  const clock = new FakeClock()
  // Each slice is over as soon as it is looked at.
  clock.yield = () => new Promise(resolve => clock.setTimer(1, resolve))
  clock.monotonicMs = () => (now += 3)
  let now = 0
  let reads = 0
  const keeper = new IndexKeeper({ storeOf: () => store, clock })
  const makeReader: typeof slowReader = (...of) => {
    const reader = slowReader(...of)
    return {
      ...reader,
      read: entry => {
        reads++
        return reader.read(entry)
      },
      label: name => reader.label(name),
      field: name => reader.field(name),
    }
  }
  return {
    store,
    keeper,
    clock,
    reads: () => reads,
    ask: (value, namespace = '') => {
      const { query } = parseTarget(`/x?labelSelector=app%3D${value}`)!
      const scope = { verb: 'list', namespace, name: '' } as const
      const resource = builtIn('configmaps')
      const route = { type: 'resource', schema: schemaOf(), resource, ...scope } as const
      return keeper.asked(planRead(route as never, query) as ListPlan, { makeReader })
    },
  }
}

t.test('lists that come while their index is built wait for it, and it is built once', async t => {
  const { store, clock, reads, ask } = setUpLarge()
  t.equal(ask(1), undefined, 'the first looks at everything itself')
  let done = 0
  const waiting = Array.from({ length: 8 }, async (_, i) => {
    const indexing = ask(i)
    t.type(indexing, Promise)
    await indexing
    t.ok(store.latest().index('label:app'), 'the index is there when the wait is over')
    done++
  })
  await clock.advance(20)
  t.equal(done, 0)
  t.equal(ask(1, 'a'), undefined, 'a small part is looked at sooner than everything is indexed')
  const key = keyFromText('/registry/configmaps/b/19999')
  store.apply(revision(2), [{ type: 'delete', key }], 0)
  await clock.advance(1000)
  await Promise.all(waiting)
  t.ok(reads() <= 20_010, `each object is read once: ${reads()} reads of 20,000`)
  t.equal(store.latest().index('label:app')?.count('99', { start: key, end: undefined }), 0)
  t.equal(ask(5), undefined, 'now it answers at once')
})

t.test('a wait for an index ends when the index is dropped, or after a while', async t => {
  const { keeper, clock, ask } = setUpLarge()
  void ask(1)
  const dropped = ask(2)
  await clock.advance(5)
  keeper.dropTo(0)
  await dropped
  void ask(1)
  const waiting = ask(2)
  // Nothing goes on meanwhile: other work takes all the time.
  clock.yield = () => new Promise(() => {})
  await clock.advance(29_000)
  let isOver = false
  void waiting?.then(() => (isOver = true))
  await clock.advance(500)
  t.notOk(isOver)
  await clock.advance(1_000)
  t.ok(isOver)
  t.equal(clock.pendingTimers, 0)
})
