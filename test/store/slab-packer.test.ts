import { strict as assert } from 'node:assert'
import t from 'tap'
import { allKeys, keyFromText } from '../../lib/base/keys.ts'
import { createRandom, randomInt } from '../../lib/base/random.ts'
import { revision } from '../../lib/base/revision.ts'
import { KeyValue, noLease } from '../../lib/store/event.ts'
import { Keyspace } from '../../lib/store/keyspace.ts'
import { SlabWriter } from '../../lib/store/slab.ts'
import { packSlabs } from '../../lib/store/slab-packer.ts'

/** Every 100th write is a new key that stays; the others replace the values of 50 keys. */
function busyKeyspace(writes: number): { store: Keyspace; slabs: SlabWriter } {
  const store = new Keyspace({ maxBatches: 100, maxAgeMs: Infinity, maxBytes: Infinity })
  const random = createRandom(7)
  const slabs = new SlabWriter()
  for (let at = 1; at <= writes; at++) {
    const isLasting = at % 100 === 0
    const name = isLasting ? `lasting/${at}` : `busy/${randomInt(random, 0, 49)}`
    const value = Buffer.alloc(randomInt(random, 500, 1500), `${name}=${at};`)
    const key = keyFromText(name)
    const before = store.latest().get(key)
    const meta = {
      createRevision: before?.createRevision ?? revision(at),
      modRevision: revision(at),
      version: (before?.version ?? 0) + 1,
      lease: noLease,
    }
    const entry = new KeyValue(key, slabs.copy(value), meta)
    store.apply(revision(at), [{ type: 'put', entry }], at)
  }
  return { store, slabs }
}

function slabsOf(store: Keyspace): Set<Uint8Array> {
  return new Set(
    store
      .latest()
      .range(allKeys)
      .map(({ bytes }) => bytes),
  )
}

t.test('what lives on mostly dead slabs is moved together, and reads as before', async t => {
  const { store } = busyKeyspace(50_000)
  const contents = (): string[] =>
    [store.latest(), store.at(store.oldest)].flatMap(snapshot =>
      snapshot.range(allKeys).map(({ key, value }) => `${key} ${Buffer.from(value).toString()}`),
    )
  const before = contents()
  t.ok(slabsOf(store).size > 150, 'nearly every slab is held')
  const packing = packSlabs(() => [store.latest()])
  let steps = 0
  let step = packing.next()
  for (; step.done !== true; step = packing.next()) steps++
  t.ok(steps > 20, 'it gives way often')
  t.ok(slabsOf(store).size <= 6)
  t.ok(step.value.movedBytes > 400_000 && step.value.movedBytes <= step.value.valueBytes)
  t.strictSame(contents(), before)
  const again = packSlabs(() => [store.latest()])
  for (step = again.next(); step.done !== true;) step = again.next()
  t.ok(step.value.movedBytes < 256 * 1024, 'and stays, but for what the last slab has')
})

t.test('values that are written meanwhile are left alone', async () => {
  const { store, slabs } = busyKeyspace(5_000)
  const packing = packSlabs(() => [store.latest()])
  let at = store.revision as number
  for (let step = packing.next(); step.done !== true; step = packing.next()) {
    const value = slabs.copy(Buffer.from(`new ${++at}`))
    const meta = {
      createRevision: revision(at),
      modRevision: revision(at),
      version: 1,
      lease: noLease,
    }
    const entry = new KeyValue(keyFromText(`lasting/x${at}`), value, meta)
    store.apply(revision(at), [{ type: 'put', entry }], at)
  }
  for (const { key, value } of store.latest().range(allKeys)) {
    const text = Buffer.from(value).toString()
    assert.ok(text.startsWith('new ') || text.startsWith(`${key}=`), text)
  }
})
