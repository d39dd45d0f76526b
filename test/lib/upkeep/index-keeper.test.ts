import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { type ListPlan, planRead } from '../../../lib/kube/read-plan.ts'
import { parseTarget } from '../../../lib/kube/request/request.ts'
import { Keyspace } from '../../../lib/store/keyspace.ts'
import { IndexKeeper } from '../../../lib/upkeep/index-keeper.ts'
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
