import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { revision } from '../../../lib/base/revision.ts'
import { schemaOf } from '../../../lib/codec/schema/schema.ts'
import { ObjectEncoder, type ObjectOptions } from '../../../lib/codec/output/object-encoder.ts'
import type { ByteWriter } from '../../../lib/base/bytes/byte-writer.ts'
import type { NotExact } from '../../../lib/base/not-exact.ts'
import { shardHash } from '../../../lib/kube/selectors/shard-hash.ts'
import { builtInResources } from '../../../lib/kube/resources/built-ins.ts'
import type { KeyValue } from '../../../lib/store/event.ts'
import { Keyspace } from '../../../lib/store/keyspace.ts'
import { WarmUp, type WarmUpOptions } from '../../../lib/cache/keepers/warm-up.ts'
import { SlowClock } from '../../support/fake-clock.ts'
import { recordedReader } from '../../support/kube/selectable.ts'
import { configMap, configMaps, entryOf } from '../../support/kube/outputs.ts'

class NotingEncoder extends ObjectEncoder {
  readonly written: string[] = []
  fault: Error | undefined
  override append(out: ByteWriter, object: KeyValue, options: ObjectOptions): NotExact | undefined {
    if (this.fault !== undefined) throw this.fault
    const { encoding, drops } = options.form
    const form = drops === undefined ? encoding : `dropped ${encoding}`
    this.written.push(`${form} ${object.modRevision}`)
    return super.append(out, object, options)
  }
}

const name = keyFromText('/registry/configmaps/')

function warmUpOf(
  entries: readonly KeyValue[],
  minObjects: number,
  served: Pick<WarmUpOptions, 'hasDrop' | 'hasShards'> = {},
) {
  const store = new Keyspace({ maxBatches: 1_000, maxAgeMs: 1e9, maxBytes: 1e9 })
  const sorted = [...entries].sort((a, b) => (a.key < b.key ? -1 : 1))
  store.restore(sorted, revision(1_000))
  const encoder = new NotingEncoder(configMaps, undefined)
  const resources = builtInResources(schemaOf(), '/registry')
  const clock = new SlowClock()
  const state = { registry: { resources }, encoderOf: () => encoder, makeReader: recordedReader }
  const storeOf = (): Keyspace => store
  const ready = Promise.resolve()
  const faults: unknown[] = []
  const onFault = (error: unknown): void => void faults.push(error)
  const options = { storeOf, clock, ready, onFault, minObjects, ...served }
  const warmUp = new WarmUp({ state: () => state, ...options })
  return { clock, encoder, warmUp, faults }
}

t.test('objects of a large resource are written once in both forms, in slices', async t => {
  const entries = Array.from({ length: 40 }, (_, i) => configMap(`c${i + 10}`, {}, i + 1))
  const { warmUp, encoder, clock } = warmUpOf(entries, 40)
  warmUp.stateChanged(name)
  warmUp.applied(name)
  await clock.advance(1)
  const all = entries.map(({ modRevision }) => modRevision)
  const forms = ['json', 'protobuf'].flatMap(form => all.map(at => `${form} ${at}`))
  t.same(encoder.written, forms)
  t.ok(clock.yields >= 40, `${clock.yields} turns for others`)
})

t.test('they are also written without managed fields where they may be asked for', async t => {
  const { warmUp, encoder, clock } = warmUpOf([configMap('c', {}, 1)], 1, { hasDrop: true })
  warmUp.stateChanged(name)
  await clock.advance(1)
  t.same(encoder.written, ['json 1', 'dropped json 1', 'protobuf 1', 'dropped protobuf 1'])
})

t.test('where shards may be asked for, one of four is written as lists of it are', async t => {
  const uids = Array.from({ length: 40 }, (_, i) => `${i}-of-forty`)
  const entries = uids.map((uid, i) =>
    configMap(`c${i + 10}`, { metadata: { name: `c${i + 10}`, namespace: 'team', uid } }, i + 1),
  )
  const isOfShard = (uid: string): boolean => shardHash(uid).high < 0x4000_0000
  const shard = uids.flatMap((uid, i) => (isOfShard(uid) ? [i + 1] : []))
  const { warmUp, encoder, clock } = warmUpOf(entries, 1, { hasShards: true })
  warmUp.stateChanged(name)
  await clock.advance(1)
  t.ok(shard.length > 0)
  const forms = ['json', 'protobuf'].flatMap(form => shard.map(at => `${form} ${at}`))
  t.same(encoder.written.slice(80), forms)
})

t.test('a small resource is not', async t => {
  const { warmUp, encoder, clock } = warmUpOf([configMap('c', {}, 1)], 2)
  warmUp.stateChanged(name)
  await clock.advance(1)
  t.same(encoder.written, [])
})

t.test('what cannot be shown is left out', async t => {
  const broken = entryOf('x', Buffer.from('k8s\0broken'))
  const { warmUp, encoder, clock } = warmUpOf([configMap('c', {}, 1), broken], 2)
  warmUp.reset(name)
  await clock.advance(1)
  t.equal(encoder.written.length, 4)
})

t.test(
  'a mistake of ours in the sample of one resource is said, and the next one is written',
  async t => {
    const { warmUp, encoder, clock, faults } = warmUpOf([configMap('c', {}, 1)], 1)
    const fault = (encoder.fault = new Error('no such field'))
    warmUp.reset(name)
    await clock.advance(1)
    t.same(faults, [fault])
    encoder.fault = undefined
    warmUp.reset(keyFromText('/registry/secrets/'))
    await clock.advance(1)
    t.equal(encoder.written.length, 2)
    t.same(faults, [fault])
  },
)
