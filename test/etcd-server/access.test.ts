/** Certificates that are limited to prefixes, in front of the embedded engine. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { credentials } from '@grpc/grpc-js'
import t from 'tap'
import type { EtcdListen } from '../../lib/etcd-server/listen-settings.ts'
import { startEtcdServer } from '../../lib/etcd-server/server.ts'
import { type Message, RawEtcd } from '../support/etcd/raw-etcd.ts'
import { startTestReplica } from '../support/etcd/test-replica.ts'
import { createTestEngine } from '../support/etcd/test-engine.ts'
import { WatchLog } from '../support/etcd/watch-log.ts'
import { base64 } from './engine/operations.ts'

const file = (name: string): string => `test/support/certs/${name}`
const pem = (name: string): Buffer => readFileSync(file(name))

const { engine } = createTestEngine(t)
const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
const tlsFiles = {
  certFile: file('server.pem'),
  keyFile: file('server.key'),
  clientCaFile: file('ca.pem'),
}

/** A client with the certificate of alice, of a replica with these rules. */
async function clientOf(rules: EtcdListen['rules']): Promise<RawEtcd> {
  const replica = await startTestReplica(t, [`http://${server.address}`], {
    listen: { tlsFiles, rules },
  })
  await replica.ready()
  const as = credentials.createSsl(pem('ca.pem'), pem('client.key'), pem('client.pem'))
  const client = new RawEtcd(replica.address.replace('127.0.0.1', 'localhost'), as)
  t.teardown(() => client.close())
  return client
}

const own = { read: ['/shared/'], write: ['/own/', 'own-key'] }
const client = await clientOf(new Map([['alice', own]]))
t.teardown(() => server.close())

const span = (key: string, rangeEnd = ''): Message => {
  return { key: base64(key), rangeEnd: base64(rangeEnd) }
}
const put = (key: string): Message => ({ key: base64(key), value: base64('1') })

const allowed: [string, string, Message][] = [
  ['KV', 'Range', span('/own/', '/own0')],
  ['KV', 'Range', span('/shared/', '/shared0')],
  ['KV', 'Range', span('/shared/a')],
  ['KV', 'Put', put('/own/a')],
  ['KV', 'Put', { ...put('own-key'), prevKv: true }],
  ['KV', 'DeleteRange', span('/own/a', '/own/b')],
  [
    'KV',
    'Txn',
    {
      compare: [{ key: base64('/shared/a'), target: 0, version: '0' }],
      success: [{ requestPut: put('/own/a') }, { requestRange: span('/shared/a') }],
    },
  ],
  ['KV', 'Compact', { revision: '2' }],
  ['Lease', 'LeaseGrant', { TTL: '100' }],
  ['Lease', 'LeaseTimeToLive', { ID: '7' }],
  ['Cluster', 'MemberList', {}],
  ['Maintenance', 'Status', {}],
]

const refused: [string, string, Message][] = [
  ['KV', 'Range', span('\0', '\0')],
  ['KV', 'Range', span('/own', '/own0')],
  ['KV', 'Range', span('/own/', '/own1')],
  ['KV', 'Range', span('/other/a')],
  ['KV', 'Put', put('/shared/a')],
  ['KV', 'Put', put('/own')],
  ['KV', 'DeleteRange', span('/own/', '\0')],
  ['KV', 'DeleteRange', span('/shared/a')],
  ['KV', 'Txn', { success: [{ requestPut: put('/own/a') }, { requestPut: put('/shared/a') }] }],
  ['KV', 'Txn', { failure: [{ requestRange: span('/other/', '/other0') }] }],
  ['KV', 'Txn', { compare: [{ key: base64('/other/a'), target: 0, version: '0' }] }],
  [
    'KV',
    'Txn',
    { success: [{ requestTxn: { success: [{ requestDeleteRange: span('/', '0') }] } }] },
  ],
  ['KV', 'Txn', { compare: [{ ...span('/own/a', '\0'), target: 0, version: '0' }] }],
  [
    'KV',
    'Txn',
    { failure: [{ requestTxn: { compare: [{ key: base64('/other/a'), target: 3 }] } }] },
  ],
  ['KV', 'Range', span('', '\0')],
  ['KV', 'DeleteRange', span('/own/z', '/own1')],
  ['Lease', 'LeaseGrant', { ID: '7', TTL: '100' }],
  ['Lease', 'LeaseTimeToLive', { ID: '7', keys: true }],
  ['Maintenance', 'Defragment', {}],
  ['Maintenance', 'HashKV', {}],
  ['Maintenance', 'MoveLeader', {}],
  ['Cluster', 'MemberAdd', { peerURLs: ['http://127.0.0.1:1'] }],
  ['Maintenance', 'Alarm', { action: 1 }],
  ['Auth', 'AuthEnable', {}],
]

t.test('a name may do what lies below its prefixes, and nothing else', async t => {
  for (const [service, method, request] of allowed) {
    const answer = await client.call(service, method, request)
    t.match(answer, { response: {} }, `${service} ${method} ${JSON.stringify(request)}`)
  }
  for (const [service, method, request] of refused) {
    t.match(
      await client.call(service, method, request),
      { code: 7, details: 'etcdserver: permission denied' },
      `${service} ${method} ${JSON.stringify(request)}`,
    )
  }
})

t.test('a lease is revoked by whom it was granted to', async t => {
  const { response } = (await client.call('Lease', 'LeaseGrant', { TTL: '100' })) as {
    response: { ID: string }
  }
  const { ID } = response
  t.match(await client.call('KV', 'Put', { ...put('/own/leased'), lease: ID }), { response: {} })
  t.match(await client.call('Lease', 'LeaseRevoke', { ID }), { response: {} })
  const gone = await client.call('KV', 'Range', span('/own/leased'))
  t.notOk((gone as { response: { count?: string } }).response.count)
  const unknown = { code: 5, details: 'etcdserver: requested lease not found' }
  t.match(await client.call('KV', 'Put', { ...put('/own/b'), lease: ID }), unknown)
  t.match(await client.call('KV', 'Put', { ...put('/own/b'), lease: '99' }), unknown)
})

t.test('watches are refused one by one, as etcd refuses them', async t => {
  const log = new WatchLog(client)
  t.teardown(() => log.close())
  t.match(await log.create(span('/own/', '/own0')), { created: true, canceled: undefined })
  t.match(await log.create(span('/', '0')), {
    watchId: '-1',
    canceled: true,
    cancelReason: 'rpc error: code = PermissionDenied desc = etcdserver: permission denied',
  })
  for (const [key, rangeEnd] of [
    ['/own/', '\0'],
    ['/own/', '/own1'],
    ['/own', ''],
    ['', '\0'],
  ] as const) {
    t.match(await log.create(span(key, rangeEnd)), { canceled: true }, `${key} to ${rangeEnd}`)
  }
  await client.call('KV', 'Put', put('/own/w'))
  await log.until(() => log.events.length === 1)
})

t.test('streams that are not watches are refused too', async t => {
  const stream = client.stream('Maintenance', 'Snapshot')
  const failed = once(stream, 'error') as Promise<[{ code: number; details: string }]>
  stream.resume()
  stream.end({})
  t.match(await failed, [{ code: 7, details: 'etcdserver: permission denied' }])
})

t.test('a name without a rule may do nothing', async t => {
  const stranger = await clientOf(new Map([['bob', own]]))
  const answer = await stranger.call('Maintenance', 'Status', {})
  t.match(answer, { code: 7, details: 'etcdserver: permission denied' })
})
