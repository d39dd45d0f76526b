import t from 'tap'
import { type Key, keyFromText } from '../../lib/base/keys.ts'
import { revision } from '../../lib/base/revision.ts'
import { ServiceNumbers } from '../../lib/simulator/service-numbers.ts'
import { KeyValue, noLease } from '../../lib/store/event.ts'
import type { WriteStore } from '../../lib/writes/store.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'

const services = keyFromText('/registry/services/specs/')

const keyOf = (name: string): Key => keyFromText(`/registry/services/specs/ns/${name}`)

const valueOf = (address: string, ...ports: number[]): Buffer =>
  Buffer.from(
    JSON.stringify({
      spec: {
        clusterIP: address,
        clusterIPs: [address],
        ports: ports.map(nodePort => ({ nodePort })),
      },
    }),
  )

function entryOf(name: string, at: number, value: Buffer): KeyValue {
  const meta = {
    createRevision: revision(at),
    modRevision: revision(at),
    version: 1,
    lease: noLease,
  }
  return new KeyValue(keyOf(name), { bytes: value, start: 0, end: value.length }, meta)
}

const event = (name: string, at: number, value: Buffer | undefined) => ({
  key: keyOf(name),
  before: undefined,
  after: value && entryOf(name, at, value),
})

const batch = (at: number, ...events: ReturnType<typeof event>[]) => ({
  revision: revision(at),
  events,
  appliedAtMs: 0,
})

/** A store that takes everything. */
function takingAll(): WriteStore {
  let at = 10
  return {
    get: async () => undefined,
    list: async () => ({ entries: [], revision: at, more: false }),
    commit: async () => ({ type: 'done', revision: ++at }),
  }
}

t.test('numbers of stored Services are in use until these let go of them', async t => {
  const contents = [
    entryOf('a', 2, valueOf('10.96.0.2', 30_001, 30_002)),
    entryOf('b', 3, valueOf('None')),
  ]
  const numbers = new ServiceNumbers('/registry', () => contents, systemClock)
  numbers.stateChanged(services)
  t.ok(numbers.hasAddress('10.96.0.2'))
  t.notOk(numbers.hasAddress('None'))
  t.ok(numbers.hasPort(30_002))
  numbers.applied(services, batch(4, event('a', 4, valueOf('10.96.0.2', 30_003))))
  t.notOk(numbers.hasPort(30_001))
  t.ok(numbers.hasPort(30_003))
  numbers.applied(services, batch(5, event('a', 5, undefined)))
  t.notOk(numbers.hasAddress('10.96.0.2'))
  t.notOk(numbers.hasPort(30_003))
  numbers.reset(services)
  t.ok(numbers.hasPort(30_001))
})

t.test('a write of this process counts at once, and the mirror does not undo it', async t => {
  const numbers = new ServiceNumbers('/registry', () => [], systemClock)
  numbers.stateChanged(services)
  const store = numbers.notedIn(takingAll())
  const { signal } = new AbortController()
  const write = (name: string, value: Buffer | undefined): Promise<unknown> =>
    store.commit({ key: keyOf(name), expected: 0, value, ttlSeconds: 0 }, signal)
  await write('a', valueOf('10.96.0.2', 30_001))
  t.ok(numbers.hasPort(30_001))
  await write('a', valueOf('10.96.0.2', 30_002))
  numbers.applied(services, batch(11, event('a', 11, valueOf('10.96.0.2', 30_001))))
  t.notOk(numbers.hasPort(30_001))
  await write('a', undefined)
  numbers.applied(services, batch(12, event('a', 12, valueOf('10.96.0.2', 30_002))))
  t.notOk(numbers.hasPort(30_002))
  numbers.applied(services, batch(13, event('a', 13, undefined)))
  // Another one has taken it since.
  await write('b', valueOf('10.96.0.2', 30_002))
  numbers.applied(services, batch(14, event('b', 14, valueOf('10.96.0.2', 30_002))))
  t.ok(numbers.hasPort(30_002))
  t.ok(numbers.hasAddress('10.96.0.2'))
})
