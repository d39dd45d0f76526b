import { silentLogger } from '../../support/silent-logger.ts'
import t from 'tap'
import { SlabKeeper } from '../../../lib/cache/keepers/slab-keeper.ts'
import { allKeys, keyFromText } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { KeyValue, noLease } from '../../../lib/store/event.ts'
import { Keyspace } from '../../../lib/store/keyspace.ts'
import { SlabWriter } from '../../../lib/store/slab.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/** Writes values of 10 KB, of which each one in a number lasts and the others replace each other.
 *  How many slabs the lasting ones hold then. */
async function heldSlabs(writes: number, oneIn: number): Promise<number> {
  const store = new Keyspace({ maxBatches: 10, maxAgeMs: Infinity, maxBytes: Infinity })
  const clock = new FakeClock()
  const keeper = new SlabKeeper({ latest: () => [store.latest()], clock, logger: silentLogger })
  const slabs = new SlabWriter()
  const value = Buffer.alloc(10_000, 'x')
  for (let at = 1; at <= writes; at++) {
    const lasts = at % oneIn === 0
    const key = keyFromText(lasts ? `lasting/${at}` : 'busy')
    const version = (store.latest().get(key)?.version ?? 0) + 1
    const meta = { createRevision: revision(1), modRevision: revision(at), version, lease: noLease }
    const entry = new KeyValue(key, slabs.copy(value), meta)
    keeper.applied(keyFromText('/a/'), store.apply(revision(at), [{ type: 'put', entry }], at))
    if (lasts) await clock.advance(1)
  }
  const entries = store.latest().range(allKeys)
  return new Set(entries.map(({ bytes }) => bytes)).size
}

t.test('slabs that one lasting value holds do not add up', async t => {
  const held = await heldSlabs(5_000, 100)
  t.ok(held < 10, `${held} slabs are held`)
})

t.test(
  'a small cluster keeps little for values that were replaced, soon after its start',
  async t => {
    const held = await heldSlabs(800, 25)
    t.ok(held < 10, `${held} slabs are held`)
  },
)
