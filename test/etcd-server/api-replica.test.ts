/** etcd's API of a mirrored Kubernetes API: what concerns one resource is what an etcd would
 *  answer, and all else is refused with the reason. */

import t, { type Test } from 'tap'
import { createRandom } from '../../lib/base/random.ts'
import { keyFromText } from '../../lib/base/keys.ts'
import { Followers } from '../../lib/cache/keepers/followers.ts'
import { Metrics } from '../../lib/cache/ops/metrics.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { startApiReplica } from '../../lib/etcd-server/api-replica.ts'
import type { EtcdListen } from '../../lib/etcd-server/listen-settings.ts'
import type { ApiMirrors } from '../../lib/source/api-mirrors.ts'
import { type Answer, type Message, RawEtcd } from '../support/etcd/raw-etcd.ts'
import { WatchLog } from '../support/etcd/watch-log.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { silentLogger } from '../support/silent-logger.ts'
import { FakeApi } from '../support/source/fake-api.ts'
import { configMaps, followedBy } from '../support/source/followed.ts'
import { base64 } from './engine/operations.ts'

const secrets = keyFromText('/registry/secrets/')
const all = { key: base64('/registry/configmaps/'), rangeEnd: base64('/registry/configmaps0') }
const everything = { key: base64('/registry/'), rangeEnd: base64('/registry0') }

interface World {
  readonly api: FakeApi
  readonly mirrors: ApiMirrors
  readonly etcd: RawEtcd
  /** Lets time pass for the API and its mirror until this has come. */
  readonly driven: <T>(awaited: Promise<T>) => Promise<T>
  readonly call: (service: string, method: string, request: Message) => Promise<Answer>
  readonly watch: () => WatchLog
  readonly pass: (ms: number) => Promise<void>
}

interface WorldOptions {
  readonly isWantedAtStart?: boolean
  readonly rules?: EtcdListen['rules']
  /** The server has the clock of its mirror. */
  readonly hasFakeClock?: boolean
}

async function world(t: Test, options: WorldOptions = {}): Promise<World> {
  const { isWantedAtStart = true, rules } = options
  const clock = new FakeClock()
  const api = new FakeApi({ clock, random: createRandom(1) })
  for (const name of ['a', 'b', 'c']) api.write(name, `first ${name}`)
  const followers = new Followers()
  const mirrors = followedBy(clock, {
    upstream: api,
    sink: followers,
    isWantedAtStart: () => isWantedAtStart,
  })
  const replica = await startApiReplica({
    listen: { address: '127.0.0.1:0', tlsFiles: undefined, prefixes: [], rules },
    mirrors,
    followers,
    keyspaces: () => [
      { name: configMaps, resource: configMaps },
      { name: secrets, resource: secrets },
    ],
    clock: options.hasFakeClock === true ? clock : systemClock,
    metrics: new Metrics(),
    logger: silentLogger,
  })
  const etcd = new RawEtcd(replica.address)
  mirrors.start()
  await clock.advance(5000)
  const driven = async <T>(awaited: Promise<T>): Promise<T> => {
    let isOver = false
    const watched = awaited.finally(() => (isOver = true))
    while (!isOver) {
      await clock.advance(10)
      await new Promise(resolve => setTimeout(resolve, 1))
    }
    return watched
  }
  t.teardown(async () => {
    etcd.close()
    await replica.stop(0)
    await mirrors.stop()
  })
  return {
    api,
    mirrors,
    etcd,
    driven,
    call: (...call) => driven(etcd.call(...call)),
    pass: ms => clock.advance(ms),
    watch() {
      const log = new WatchLog(etcd)
      t.teardown(() => log.close())
      return log
    },
  }
}

function kvsIn(answer: Answer): Record<string, unknown>[] {
  if ('details' in answer) throw new Error(answer.details)
  return (answer.response['kvs'] ?? []) as Record<string, unknown>[]
}

function textOf(bytes: unknown): string {
  return Buffer.from(String(bytes), 'base64').toString()
}

function stored(name: string, value: string): string {
  const metadata = `{"name":"${name}","namespace":"default","uid":"${name}"}`
  return `{"kind":"ConfigMap","apiVersion":"v1","metadata":${metadata},"data":{"value":"${value}"}}\n`
}

t.test('a range of a resource has its keys, values and revisions', async t => {
  const w = await world(t)
  for (const serializable of [false, true]) {
    const answer = await w.call('KV', 'Range', { ...all, serializable })
    const [first, ...rest] = kvsIn(answer)
    t.strictSame(Object.keys(first!).toSorted(), ['key', 'modRevision', 'value'])
    t.equal(textOf(first!['key']), '/registry/configmaps/default/a')
    t.equal(textOf(first!['value']), stored('a', 'first a'), 'as etcd would have it')
    t.equal(first!['modRevision'], '2')
    t.equal(rest.length, 2)
    const { header, count } = (answer as { response: Message }).response
    t.match(header, { clusterId: '1', revision: '4' })
    t.equal(count, '3')
  }
  const page = await w.call('KV', 'Range', { ...all, limit: 2, keysOnly: true })
  t.match(page, { response: { more: true, count: '3' } })
  t.strictSame(
    kvsIn(page).map(({ value }) => value),
    [undefined, undefined],
  )
  t.match(await w.call('KV', 'Range', { ...all, countOnly: true }), { response: { count: '3' } })
  const one = await w.call('KV', 'Range', { key: base64('/registry/configmaps/default/b') })
  t.equal(textOf(kvsIn(one)[0]?.['value']), stored('b', 'first b'))
  const ofName = { key: base64('/registry/configmaps'), rangeEnd: base64('/registry/configmapt') }
  t.equal(kvsIn(await w.call('KV', 'Range', ofName)).length, 3, 'there is nothing else in it')
})

t.test('a linearizable range is never older than a write before it', async t => {
  const w = await world(t)
  for (let i = 0; i < 5; i++) {
    const revision = w.api.write('a', `write ${i}`)
    const [first] = kvsIn(await w.call('KV', 'Range', all))
    t.equal(textOf(first?.['value']), stored('a', `write ${i}`))
    t.equal(first?.['modRevision'], String(revision))
  }
  w.api.writeOther()
  const answer = await w.call('KV', 'Range', all)
  t.match(answer, { response: { header: { revision: String(w.api.revision) } } }, 'also if quiet')
})

t.test('a range at a revision comes from the history', async t => {
  const w = await world(t)
  const before = w.api.revision
  w.api.write('a', 'second')
  for (const serializable of [false, true]) {
    const then = await w.call('KV', 'Range', { ...all, revision: before, serializable })
    t.equal(textOf(kvsIn(then)[0]?.['value']), stored('a', 'first a'))
    t.match(then, { response: { header: { revision: String(w.api.revision) } } })
    t.match(await w.call('KV', 'Range', { ...all, revision: 99, serializable }), {
      code: 11,
      details: 'etcdserver: mvcc: required revision is a future revision',
    })
    t.match(await w.call('KV', 'Range', { ...all, revision: 2, serializable }), {
      code: 11,
      details: 'etcdserver: mvcc: required revision has been compacted',
    })
  }
})

t.test(
  'what needs one order over all resources, or writes, is refused with the reason',
  async t => {
    const w = await world(t)
    const key = base64('/registry/configmaps/default/a')
    const refused: readonly (readonly [string, string, Message, RegExp])[] = [
      [
        'KV',
        'Range',
        everything,
        /of several resources.*an order of revisions for each resource only/,
      ],
      ['KV', 'Range', { key: base64('/other/a') }, /of no resource/],
      ['KV', 'Range', { ...all, sortTarget: 2, sortOrder: 1 }, /when an object was created/],
      ['KV', 'Range', { ...all, minCreateRevision: 3 }, /when an object was created/],
      ['KV', 'Put', { key, value: key }, /write through the Kubernetes API/],
      ['KV', 'DeleteRange', all, /write through the Kubernetes API/],
      ['KV', 'Txn', {}, /a transaction needs one over all keys/],
      ['KV', 'Compact', { revision: 3 }, /each has a history of its own/],
      ['Lease', 'LeaseGrant', { TTL: 10 }, /there are no leases/],
      ['Cluster', 'MemberList', {}, /there is no cluster/],
      ['Maintenance', 'Status', {}, /there is no member of an etcd here/],
      ['Auth', 'AuthEnable', {}, /there are no users/],
    ]
    for (const [service, method, request, why] of refused) {
      t.match(
        await w.call(service, method, request),
        { code: 12, details: why },
        `${method} ${why}`,
      )
    }
    const { requests } = w.api
    t.notOk(
      requests.some(path => path.includes('secrets')),
      'nobody has asked for those',
    )
  },
)

t.test('a watch of a resource has each event, in order', async t => {
  const w = await world(t)
  const log = w.watch()
  const created = await w.driven(log.create({ ...all, prevKv: true }))
  t.match(created, { header: { revision: '4' }, created: true })
  w.api.write('a', 'second')
  w.api.write('d', 'made')
  w.api.delete('b')
  w.api.write('d', 'changed')
  await w.driven(log.until(() => log.events.length === 4))
  const revisions = log.events.map(({ revision }) => revision)
  t.strictSame(revisions, [5, 6, 7, 8])
  const events = log.responses.flatMap(({ events }) => (events ?? []) as Message[])
  const [changed, made, deleted, changedAgain] = events as unknown as {
    readonly kv: Record<string, unknown>
    readonly prevKv?: Record<string, unknown>
  }[]
  t.equal(changed?.kv['createRevision'], undefined, 'nobody knows when it was created')
  t.equal(textOf(changed?.prevKv?.['value']), stored('a', 'first a'))
  t.equal(changed?.prevKv?.['modRevision'], '2')
  t.match(made?.kv, { createRevision: '6', modRevision: '6', version: '1' }, 'but by this event')
  t.equal(textOf(made?.kv['value']), stored('d', 'made'))
  t.match(deleted, { type: 1, kv: { modRevision: '7' }, prevKv: { modRevision: '3' } })
  t.equal(changedAgain?.kv['createRevision'], undefined)
  log.send({ progressRequest: {} })
  await w.driven(log.until(() => log.progress === 8))
  const later = w.watch()
  await w.driven(later.create({ ...all, startRevision: 6 }))
  await w.driven(later.until(() => later.events.length === 3))
  t.strictSame(
    later.events.map(({ revision }) => revision),
    [6, 7, 8],
  )
})

t.test('progress is what is proven for the resource', async t => {
  const w = await world(t)
  const log = w.watch()
  await w.driven(log.create(all))
  w.api.writeOther()
  log.send({ progressRequest: {} })
  await w.driven(log.until(() => log.progress > 0))
  t.equal(log.progress, 4, 'of what else was written nothing is known')
  await w.call('KV', 'Range', all)
  log.send({ progressRequest: {} })
  await w.driven(log.until(() => log.progress === 5))
  t.pass('until a linearizable range has proven it')
})

t.test('watches that cannot be served are canceled with the reason', async t => {
  const w = await world(t)
  w.api.write('a', 'second')
  const log = w.watch()
  const several = await w.driven(log.create(everything))
  t.match(several, { canceled: true, cancelReason: /of several resources/, watchId: '-1' })
  const none = await w.driven(log.create({ key: base64('/other/a') }))
  t.match(none, { canceled: true, cancelReason: /of no resource/ })
  await w.driven(log.create({ ...all, startRevision: 2 }))
  await w.driven(log.until(() => log.responses.some(one => one['compactRevision'] !== undefined)))
  t.match(log.responses.at(-1), { canceled: true, compactRevision: '5' })
  const negative = await w.driven(log.create({ ...all, startRevision: -1 }))
  t.match(negative, { canceled: true, cancelReason: /compacted/ })
  const served = await w.driven(log.create(all))
  t.notOk(served['canceled'], 'the stream goes on')
})

t.test('a resource is mirrored when somebody asks for it', async t => {
  const w = await world(t, { isWantedAtStart: false })
  t.strictSame(w.api.requests, [])
  const log = w.watch()
  const created = await w.driven(log.create(all))
  t.match(created, { header: { revision: '4' } })
  w.api.write('a', 'second')
  await w.driven(log.until(() => log.events.length === 1))
  t.equal(kvsIn(await w.call('KV', 'Range', all)).length, 3)
})

t.test('a resource is not let go while it is watched', async t => {
  const w = await world(t, { isWantedAtStart: false, hasFakeClock: true })
  const log = w.watch()
  await w.driven(log.create(all))
  await w.pass(40 * 60_000)
  t.ok(w.mirrors.has(configMaps))
  w.api.write('a', 'much later')
  await w.driven(log.until(() => log.events.length === 1))
  log.close()
  for (let i = 0; i < 10 && w.mirrors.has(configMaps); i++) {
    await w.pass(10 * 60_000)
    await new Promise(resolve => setImmediate(resolve))
  }
  t.notOk(w.mirrors.has(configMaps), 'but after that')
})

t.test('one that the API refuses is not answered, and its watches end', async t => {
  const w = await world(t)
  const log = w.watch()
  await w.driven(log.create(all))
  w.api.refusal = 403
  w.api.restart()
  t.match(await w.driven(log.untilFailed()), { code: 14, details: /watch again/ })
  for (const serializable of [false, true]) {
    t.match(await w.call('KV', 'Range', { ...all, serializable }), {
      code: 14,
      details: /does not let \/registry\/configmaps\/ be mirrored/,
    })
  }
  const refused = await w.driven(w.watch().create(all))
  t.match(refused, { canceled: true, cancelReason: /does not let/ })
})

t.test('another history ends its watches', async t => {
  const w = await world(t)
  const log = w.watch()
  await w.driven(log.create(all))
  w.api.write('a', 'lost')
  await w.driven(log.until(() => log.events.length === 1))
  w.api.restore(3)
  t.match(await w.driven(log.untilFailed()), { code: 14, details: /another history/ })
  await w.pass(10_000)
  t.equal(kvsIn(await w.call('KV', 'Range', all)).length, 2)
})

t.test('a name without rights reads nothing', async t => {
  const rules = new Map([['reader', { read: ['/registry/configmaps/'], write: [] }]])
  const w = await world(t, { rules })
  const denied = { code: 7, details: 'etcdserver: permission denied' }
  t.match(await w.call('KV', 'Range', all), denied)
  t.match(await w.driven(w.watch().untilFailed()), denied)
})
