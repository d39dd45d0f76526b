import t from 'tap'
import { type Key, keyFromText } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { KeyValue } from '../../../lib/store/event.ts'
import { Keyspace } from '../../../lib/store/keyspace.ts'
import { KeyspaceSizes } from '../../../lib/cache/keepers/keyspace-sizes.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const name = keyFromText('/a/')

function entry(key: Key, bytes: number, at: number): KeyValue {
  const modRevision = revision(at)
  const meta = { createRevision: modRevision, modRevision, version: 1, lease: 0n }
  return new KeyValue(key, { bytes: new Uint8Array(bytes), start: 0, end: bytes }, meta)
}

t.test('what is read anew is counted, and changes are added up', async t => {
  const clock = new FakeClock()
  const store = new Keyspace({ maxBatches: 1_000, maxAgeMs: 1e9, maxBytes: 1e9 })
  const sizes = new KeyspaceSizes({ storeOf: () => store, clock })
  sizes.start()
  const [one, two] = [keyFromText('/a/1'), keyFromText('/a/2')]
  store.restore([entry(one, 1000, 1)], revision(1))
  sizes.stateChanged(name)
  t.equal(sizes.bytesOf(name), 0)
  await clock.advance(1_000)
  const counted = sizes.bytesOf(name)
  t.ok(counted > 1000 && counted < 1500, `${counted}`)
  sizes.applied(name, store.apply(revision(2), [{ type: 'put', entry: entry(two, 500, 2) }], 0))
  t.equal(sizes.bytesOf(name), 2 * counted - 500)
  sizes.applied(name, store.apply(revision(3), [{ type: 'delete', key: one }], 0))
  t.equal(sizes.bytesOf(name), counted - 500)
  sizes.reset(name)
  await clock.advance(1_000)
  t.equal(sizes.bytesOf(name), counted - 500, 'counting says the same')
  sizes.stop()
})

t.test('a keyspace that is not mirrored any more has no size', async t => {
  const clock = new FakeClock()
  let store: Keyspace | undefined = new Keyspace({
    maxBatches: 1_000,
    maxAgeMs: 1e9,
    maxBytes: 1e9,
  })
  store.restore([entry(keyFromText('/a/1'), 1000, 1)], revision(1))
  const sizes = new KeyspaceSizes({ storeOf: () => store, clock })
  sizes.start()
  sizes.stateChanged(name)
  await clock.advance(1_000)
  t.equal(sizes.size, 1)
  store = undefined
  sizes.reset(name)
  await clock.advance(1_000)
  t.equal(sizes.size, 0)
  t.equal(sizes.totalBytes, 0)
  sizes.stop()
})
