/** A name with limited rights neither ends nor uses the lease of another, at etcd's API before an
 *  etcd. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { credentials } from '@grpc/grpc-js'
import t, { type Test } from 'tap'
import { startEtcdServer } from '../../lib/etcd-server/server.ts'
import { Leases } from '../../lib/etcd-server/access/leases.ts'
import type { Rights } from '../../lib/etcd-server/access/rights.ts'
import { EtcdSessions } from '../../lib/etcd-server/pass/etcd-sessions.ts'
import { leaseLeasesResponseCodec } from '../../lib/etcd-server/engine/admin-messages.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { isLeaseOf, newLeaseOf } from '../../lib/etcd-server/access/lease-owners.ts'
import {
  attribute,
  certificateOf,
  clientKey,
  nameOf,
  pemOf,
} from '../support/attacks/certificates.ts'
import { type Answer, type Message, RawEtcd } from '../support/etcd/raw-etcd.ts'
import { startTestReplica } from '../support/etcd/test-replica.ts'
import { createTestEngine } from '../support/etcd/test-engine.ts'

const certs = 'test/support/certs'
const authority = readFileSync(`${certs}/ca.pem`)
const { engine } = createTestEngine(t)
const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
t.teardown(() => server.close())

const rules = new Map([
  ['mallory', { read: [], write: ['/a/'] }],
  ['bob', { read: [], write: ['/b/'] }],
])
const tlsFiles = {
  certFile: `${certs}/server.pem`,
  keyFile: `${certs}/server.key`,
  clientCaFile: `${certs}/ca.pem`,
}

/** A client of that name, of a replica of its own: replicas know the same of each other's
 *  leases. */
async function clientOf(name: string): Promise<RawEtcd> {
  const replica = await startTestReplica(t, [`http://${server.address}`], {
    listen: { tlsFiles, rules },
  })
  await replica.ready()
  const certificate = Buffer.from(pemOf(certificateOf(nameOf(attribute('CN', name)))))
  const as = credentials.createSsl(authority, clientKey, certificate)
  const client = new RawEtcd(replica.address.replace('127.0.0.1', 'localhost'), as)
  t.teardown(() => client.close())
  return client
}

const mallory = await clientOf('mallory')
const bob = await clientOf('bob')
const bobElsewhere = await clientOf('bob')
const direct = new RawEtcd(server.address)
t.teardown(() => direct.close())

const put = (key: string, lease = '0'): Message => ({
  key: Buffer.from(key).toString('base64'),
  value: 'MQ==',
  lease,
})

/** The status with which a call ends. */
const codeOf = (answer: Answer): number => ('code' in answer ? answer.code : 0)

async function grant(by: RawEtcd): Promise<string> {
  const answer = await by.call('Lease', 'LeaseGrant', { TTL: '1000' })
  return (answer as { response: { ID: string } }).response.ID
}

async function isThere(lease: string): Promise<boolean> {
  const answer = await direct.call('Lease', 'LeaseTimeToLive', { ID: lease })
  return (answer as { response: { TTL: string } }).response.TTL !== '-1'
}

/** A transaction with this put, so deep in others. */
function within(depth: number, request: Message): Message {
  let operation: Message = { requestPut: request }
  for (let i = 0; i < depth; i++) {
    operation = { requestTxn: i % 2 === 0 ? { success: [operation] } : { failure: [operation] } }
  }
  return { success: [operation] }
}

t.test('an end by way of a key of one’s own', async t => {
  for (const owner of [direct, bob]) {
    const lease = await grant(owner)
    const ways: [string, string, Message][] = [
      ['Lease', 'LeaseRevoke', { ID: lease }],
      ['KV', 'Put', put('/a/mine', lease)],
      ['KV', 'Txn', within(0, put('/a/mine', lease))],
      ['KV', 'Txn', within(3, put('/a/mine', lease))],
      ['KV', 'Txn', { failure: [{ requestPut: put('/a/mine', lease) }] }],
      ['Lease', 'LeaseTimeToLive', { ID: lease }],
      ['Lease', 'LeaseTimeToLive', { ID: lease, keys: true }],
      ['Lease', 'LeaseRevoke', { ID: lease }],
    ]
    for (const [service, method, request] of ways) {
      t.equal(codeOf(await mallory.call(service, method, request)), 7, `${method}`)
    }
    t.ok(await isThere(lease))
  }
})

t.test('a lease whose keys are all writable is used, but not ended', async t => {
  const lease = await grant(direct)
  await direct.call('KV', 'Put', put('/a/theirs', lease))
  t.equal(codeOf(await mallory.call('KV', 'Put', put('/a/mine', lease))), 0)
  t.equal(codeOf(await mallory.call('KV', 'Txn', within(2, put('/a/mine', lease)))), 0)
  // Its owner may be about to give it another key.
  t.equal(codeOf(await mallory.call('Lease', 'LeaseRevoke', { ID: lease })), 7)
  await direct.call('KV', 'Put', put('/b/other', lease))
  t.equal(codeOf(await mallory.call('KV', 'Put', put('/a/more', lease))), 7)
  t.ok(await isThere(lease))
})

t.test('an owner does not take keys along that it may not write', async t => {
  const lease = await grant(bob)
  await direct.call('KV', 'Put', put('/a/of-another', lease))
  t.equal(codeOf(await bob.call('Lease', 'LeaseRevoke', { ID: lease })), 7)
  t.ok(await isThere(lease))
})

t.test('numbers are not for clients to choose', async t => {
  const next = String(newLeaseOf('bob'))
  for (const ID of ['7', next]) {
    t.equal(codeOf(await mallory.call('Lease', 'LeaseGrant', { ID, TTL: '1000' })), 7)
  }
})

t.test('transactions ask etcd about few leases', async t => {
  const leases: string[] = []
  for (let i = 0; i < 17; i++) leases.push(await grant(direct))
  for (const lease of leases) await direct.call('KV', 'Put', put(`/a/${lease}`, lease))
  const puts = (count: number): Message => ({
    success: leases.slice(0, count).map(lease => ({ requestPut: put(`/a/x${lease}`, lease) })),
  })
  t.equal(codeOf(await mallory.call('KV', 'Txn', puts(16))), 0)
  t.equal(codeOf(await mallory.call('KV', 'Txn', puts(17))), 7)
})

t.test('a name is told of its own leases', async t => {
  const own = [await grant(bob), await grant(bobElsewhere)]
  for (const client of [bob, bobElsewhere]) {
    const answer = await client.call('Lease', 'LeaseLeases', {})
    const { leases } = (answer as { response: { leases: { ID: string }[] } }).response
    const ids = leases.map(({ ID }) => ID)
    t.ok(own.every(id => ids.includes(id)))
    t.ok(ids.every(id => isLeaseOf('bob', BigInt(id))))
  }
  t.strictSame(await leasesOf(mallory), [])
})

async function leasesOf(client: RawEtcd): Promise<unknown> {
  const answer = await client.call('Lease', 'LeaseLeases', {})
  return (answer as { response: { leases?: unknown[] } }).response.leases ?? []
}

t.test('nobody keeps the lease of another alive', async t => {
  const theirs = await grant(bob)
  const own = await grant(mallory)
  t.strictSame(await keptAlive(t, mallory, [theirs, own, theirs, '12345', own]), [
    [theirs, '0'],
    [own, '1000'],
    [theirs, '0'],
    ['12345', '0'],
    [own, '1000'],
  ])
  t.strictSame(await keptAlive(t, bobElsewhere, [theirs]), [[theirs, '1000']])
})

/** The leases and times of the answers to requests to keep these alive. */
async function keptAlive(t: Test, by: RawEtcd, leases: readonly string[]): Promise<string[][]> {
  const stream = by.stream('Lease', 'LeaseKeepAlive')
  t.teardown(() => stream.cancel())
  stream.on('error', () => undefined)
  const answers: string[][] = []
  for (const ID of leases) {
    stream.write({ ID })
    const [{ ID: id, TTL }] = (await once(stream, 'data')) as [{ ID: string; TTL?: string }]
    answers.push([id, TTL ?? '0'])
  }
  stream.end()
  await once(stream, 'end')
  return answers
}

t.test('all at once they are answered in whole messages', async t => {
  const theirs = await grant(bob)
  const own = await grant(mallory)
  const stream = mallory.stream('Lease', 'LeaseKeepAlive')
  t.teardown(() => stream.cancel())
  const counts = new Map<string, number>()
  stream.on('data', ({ ID }: { ID: string }) => counts.set(ID, (counts.get(ID) ?? 0) + 1))
  for (let i = 0; i < 2000; i++) stream.write({ ID: i % 3 === 0 ? theirs : own })
  stream.end()
  await once(stream, 'end')
  t.strictSame([counts.get(theirs), counts.get(own)], [667, 1333])
})

t.test('the end of a lease is its owner’s, through every replica', async t => {
  for (const other of [bob, bobElsewhere]) {
    const lease = await grant(bob)
    t.equal(codeOf(await other.call('KV', 'Put', put('/b/x', lease))), 0)
    t.equal(codeOf(await other.call('Lease', 'LeaseTimeToLive', { ID: lease })), 0)
    t.equal(codeOf(await other.call('Lease', 'LeaseRevoke', { ID: lease })), 0)
    t.notOk(await isThere(lease))
  }
})

t.test('to tell one’s own leases from many of others gives way', async t => {
  const many = createTestEngine(t)
  const etcd = await startEtcdServer({ engine: many.engine, listen: '127.0.0.1:0' })
  t.teardown(() => etcd.close())
  for (let i = 1n; i <= 20_000n; i++) await many.client.grantLease(1_000, i)
  const own = newLeaseOf('bob')
  await many.client.grantLease(1_000, own)
  const sessions = new EtcdSessions({ endpoints: [`http://${etcd.address}`], clock: systemClock })
  t.teardown(() => sessions.close())
  // Each look at the clock takes a millisecond.
  let nowMs = 0
  let gaveWay = 0
  const leases = new Leases(sessions, {
    monotonicMs: () => nowMs++,
    yield: async () => void gaveWay++,
  })
  const answer = await leases.own({ name: 'bob' } as Rights, Buffer.alloc(0))
  t.strictSame(
    leaseLeasesResponseCodec.decode(answer).leases.map(({ id }) => id),
    [own],
  )
  t.ok(gaveWay > 50, `${gaveWay} times`)
})
