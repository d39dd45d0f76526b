import { silentLogger } from '../../support/silent-logger.ts'
import t from 'tap'
import { SlabKeeper } from '../../../lib/upkeep/slab-keeper.ts'
import { allKeys, keyFromText } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { KeyValue, noLease } from '../../../lib/store/event.ts'
import { Keyspace } from '../../../lib/store/keyspace.ts'
import { SlabWriter } from '../../../lib/store/slab.ts'
import { FakeClock } from '../../support/fake-clock.ts'

t.test('slabs that one lasting value holds do not add up', async t => {
  const store = new Keyspace({ maxBatches: 10, maxAgeMs: Infinity, maxBytes: Infinity })
  const clock = new FakeClock()
  const keeper = new SlabKeeper({ latest: () => [store.latest()], clock, logger: silentLogger })
  const slabs = new SlabWriter()
  const value = Buffer.alloc(10_000, 'x')
  for (let at = 1; at <= 5_000; at++) {
    const key = keyFromText(at % 100 === 0 ? `lasting/${at}` : 'busy')
    const version = (store.latest().get(key)?.version ?? 0) + 1
    const meta = { createRevision: revision(1), modRevision: revision(at), version, lease: noLease }
    const entry = new KeyValue(key, slabs.copy(value), meta)
    keeper.applied(keyFromText('/a/'), store.apply(revision(at), [{ type: 'put', entry }], at))
    if (at % 100 === 0) await clock.advance(1)
  }
  const held = new Set(
    store
      .latest()
      .range(allKeys)
      .map(({ bytes }) => bytes),
  )
  t.ok(store.latest().size > 50)
  t.ok(held.size < 16, `${held.size} slabs are held`)
})
