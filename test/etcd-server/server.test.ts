/** Cases that the random calls do not reach, on a real etcd and on the engine over gRPC: limits,
 *  streams, time. */

import { Client, type ClientDuplexStream, credentials } from '@grpc/grpc-js'
import t, { type Test } from 'tap'
import { startEtcdServer } from '../../lib/etcd-server/server.ts'
import { comparable, type Message, RawEtcd, withoutIds } from '../support/etcd/raw-etcd.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'
import { createTestEngine } from '../support/etcd/test-engine.ts'
import { base64 } from './engine/operations.ts'
import { startPair } from './engine/differential.ts'

const etcd = await findEtcd('3.5')
const skip = etcd.skip

/** Calls both servers; the answers must be equal, but for ids. */
async function same(
  t: Test,
  pair: { real: RawEtcd; ours: RawEtcd },
  [service, method, request]: [string, string, Message],
): Promise<Message> {
  const [real, ours] = await Promise.all([
    pair.real.call(service, method, request),
    pair.ours.call(service, method, request),
  ])
  t.strictSame(comparable(ours), comparable(real), `${service} ${method}`)
  return 'response' in ours ? ours.response : {}
}

/** The first `count` messages of a stream. */
function take(stream: ClientDuplexStream<Message, Message>, count: number): Promise<Message[]> {
  return new Promise((resolve, reject) => {
    const messages: Message[] = []
    stream.on('error', reject)
    stream.on('data', (message: Message) => {
      if (messages.push(message) < count) return
      stream.removeAllListeners()
      stream.on('error', () => undefined)
      stream.cancel()
      resolve(messages)
    })
  })
}

t.test('requests up to the limit are taken, larger ones refused', { skip }, async t => {
  const pair = await startPair(t, etcd)
  const put = (bytes: number): [string, string, Message] => [
    'KV',
    'Put',
    { key: base64('k'), value: Buffer.alloc(bytes, 120).toString('base64') },
  ]
  const mebibyte = 1024 * 1024
  await same(t, pair, put(1.5 * mebibyte - 100))
  await same(t, pair, put(1.5 * mebibyte + 1))
  const deletes = Array.from({ length: 128 }, (_, i) => {
    return { requestDeleteRange: { key: base64(`${i}`.padEnd(20_000, 'x')) } }
  })
  // gRPC itself refuses this one, each implementation with words of its own.
  for (const server of [pair.real, pair.ours]) {
    t.match(await server.call('KV', 'Txn', { success: deletes }), { code: 8 })
  }
})

t.test('a replay of large events comes in fragments to who asks for them', { skip }, async t => {
  const pair = await startPair(t, etcd)
  const value = Buffer.alloc(400_000, 120).toString('base64')
  for (let i = 0; i < 8; i++) {
    const success = [0, 1, 2].map(j => ({ requestPut: { key: base64(`k${i}${j}`), value } }))
    await same(t, pair, ['KV', 'Txn', { success }])
  }
  const keysOf = async (server: RawEtcd, fragment: boolean): Promise<unknown[]> => {
    const stream = server.stream('Watch', 'Watch')
    const request = { key: base64('k'), rangeEnd: base64('l'), startRevision: '2', fragment }
    stream.write({ createRequest: request })
    const keys: unknown[] = []
    const sizes: number[] = []
    await new Promise<void>((resolve, reject) => {
      stream.on('error', reject)
      stream.on('data', ({ events }: { events?: { kv: { key: string } }[] }) => {
        if (events === undefined) return
        sizes.push(events.length)
        keys.push(...events.map(({ kv }) => kv.key))
        if (keys.length === 24) resolve()
      })
    })
    stream.removeAllListeners()
    stream.on('error', () => undefined)
    stream.cancel()
    if (fragment) t.ok(Math.max(...sizes) <= 5, 'at most 2 MiB a response')
    return keys
  }
  for (const fragment of [true, false]) {
    const [real, ours] = await Promise.all([
      keysOf(pair.real, fragment),
      keysOf(pair.ours, fragment),
    ])
    t.strictSame(ours, real)
  }
})

t.test(
  'a watch from the compacted revision has its event, without what was before',
  { skip },
  async t => {
    const pair = await startPair(t, etcd)
    for (const value of ['1', '2', '3', '4']) {
      await same(t, pair, ['KV', 'Put', { key: base64('a'), value: base64(value) }])
    }
    await same(t, pair, ['KV', 'Compact', { revision: '4' }])
    const eventsOf = async (server: RawEtcd): Promise<unknown> => {
      const stream = server.stream('Watch', 'Watch')
      stream.write({ createRequest: { key: base64('a'), startRevision: '4', prevKv: true } })
      const [, replay] = await take(stream, 2)
      return replay?.['events']
    }
    const [real, ours] = await Promise.all([eventsOf(pair.real), eventsOf(pair.ours)])
    t.strictSame(ours, real)
  },
)

t.test('leases are kept alive on a stream, and end by themselves', { skip }, async t => {
  const pair = await startPair(t, etcd)
  await same(t, pair, ['Lease', 'LeaseGrant', { ID: '7', TTL: '1' }])
  for (const name of ['b', 'a']) {
    await same(t, pair, ['KV', 'Put', { key: base64(name), value: base64('1'), lease: '7' }])
  }
  const keepAlive = (server: RawEtcd): Promise<Message[]> => {
    const stream = server.stream('Lease', 'LeaseKeepAlive')
    for (const ID of ['7', '8', '7']) stream.write({ ID })
    return take(stream, 3)
  }
  const [kept, ourKept] = await Promise.all([keepAlive(pair.real), keepAlive(pair.ours)])
  t.strictSame(ourKept.map(withoutIds), kept.map(withoutIds))
  const expiry = async (server: RawEtcd): Promise<unknown> => {
    const stream = server.stream('Watch', 'Watch')
    stream.write({ createRequest: { key: base64('\0'), rangeEnd: base64('\0'), prevKv: true } })
    const [, expired] = await take(stream, 2)
    return expired?.['events']
  }
  const [real, ours] = await Promise.all([expiry(pair.real), expiry(pair.ours)])
  t.strictSame(ours, real)
  await same(t, pair, ['Lease', 'LeaseTimeToLive', { ID: '7', keys: true }])
  await same(t, pair, ['Lease', 'LeaseLeases', {}])
})

t.test('answers about the cluster have the same fields', { skip }, async t => {
  const pair = await startPair(t, etcd)
  await same(t, pair, ['KV', 'Put', { key: base64('a'), value: base64('1') }])
  for (const [service, method] of [
    ['Maintenance', 'Status'],
    ['Cluster', 'MemberList'],
    ['Maintenance', 'Alarm'],
    ['Auth', 'AuthStatus'],
  ] as const) {
    const [real, ours] = await Promise.all([
      pair.real.call(service, method, {}),
      pair.ours.call(service, method, {}),
    ])
    if (!('response' in real) || !('response' in ours)) throw new Error(`${method} failed`)
    const fields = (message: Message): string[] => Object.keys(message).sort()
    t.strictSame(fields(ours.response), fields(real.response), method)
    const header = (message: Message): string[] => fields(message['header'] as Message)
    t.strictSame(header(ours.response), header(real.response), `${method} header`)
  }
  await same(t, pair, ['Auth', 'Authenticate', { name: 'root', password: 'x' }])
})

t.test('a watch whose client does not read is written to again when it does', async t => {
  const { engine } = createTestEngine(t)
  const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  const etcdClient = new RawEtcd(server.address)
  t.teardown(async () => {
    etcdClient.close()
    await server.close()
  })
  const stream = etcdClient.stream('Watch', 'Watch')
  stream.write({ createRequest: { key: base64('\0'), rangeEnd: base64('\0') } })
  const seen: number[] = []
  let largest = 0
  await new Promise<void>(resolve => stream.once('data', () => resolve()))
  stream.pause()
  const value = Buffer.alloc(100_000, 120).toString('base64')
  for (let i = 0; i < 150; i++) await etcdClient.call('KV', 'Put', { key: base64('k'), value })
  const finished = new Promise<void>(resolve => {
    stream.on('data', ({ events = [] }: { events?: { kv: { modRevision: string } }[] }) => {
      for (const { kv } of events) seen.push(Number(kv.modRevision))
      largest = Math.max(largest, events.length)
      if (seen.length === 150) resolve()
    })
  })
  stream.on('error', () => undefined)
  stream.resume()
  await finished
  t.strictSame(
    seen,
    Array.from({ length: 150 }, (_, i) => i + 2),
  )
  t.ok(largest > 1, 'what it had missed was replayed, not queued')
  stream.cancel()
})

t.test('streams end when the server stops, and bytes that are no message are refused', async t => {
  const { engine } = createTestEngine(t)
  const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  const etcdClient = new RawEtcd(server.address)
  const stream = etcdClient.stream('Watch', 'Watch')
  stream.write({ createRequest: { key: base64('a') } })
  await new Promise<void>(resolve => stream.once('data', () => resolve()))
  const bare = new Client(server.address, credentials.createInsecure())
  const asIs = (bytes: Buffer): Buffer => bytes
  const refused = await new Promise<number>(resolve => {
    const junk = Buffer.from([0xff, 0xff])
    bare.makeUnaryRequest('/etcdserverpb.KV/Range', asIs, asIs, junk, error => {
      resolve(error?.code ?? 0)
    })
  })
  t.equal(refused, 3)
  const ended = new Promise<Error>(resolve => stream.once('error', resolve))
  await server.close()
  t.match((await ended).message, /UNAVAILABLE/)
  bare.close()
  etcdClient.close()
})

t.test('an address that cannot be listened on is a mistake to hear about', async t => {
  const { engine } = createTestEngine(t)
  const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  t.teardown(() => server.close())
  await t.rejects(startEtcdServer({ engine, listen: server.address }), {
    code: 'invalid_request',
    message: /cannot listen on 127\.0\.0\.1:\d+/,
  })
})
