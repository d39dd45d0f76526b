/** A replica with a mirror in front of a real etcd: what the random calls do not reach. */

import { once } from 'node:events'
import * as http2 from 'node:http2'
import t from 'tap'
import { rangeCodec } from '../../lib/etcd/proto/kv-messages.ts'
import { keyFromText } from '../../lib/base/keys.ts'
import { bareCall, framed } from '../support/etcd/bare-grpc.ts'
import type { Message } from '../support/etcd/raw-etcd.ts'
import { findEtcd } from '../support/etcd/real-etcd.ts'
import { startEtcd } from '../support/etcd/etcd-cluster.ts'
import { openSides, type Sides } from '../support/etcd/test-replica.ts'
import { WatchLog } from '../support/etcd/watch-log.ts'
import { base64 } from './engine/operations.ts'

const etcd = await findEtcd('3.5')
const { skip } = etcd
/** All tests share it. */
const cluster = skip === false ? await startEtcd(t, etcd) : undefined

const everything = { key: base64('\0'), rangeEnd: base64('\0') }

async function range({ direct, through }: Sides, request: Message): Promise<[unknown, unknown]> {
  return [await direct.call('KV', 'Range', request), await through.call('KV', 'Range', request)]
}

t.test('ranges of any size are what etcd answers, header and all', { skip }, async t => {
  const sides = await openSides(t, cluster!)
  const { direct, replica } = sides
  await direct.call('Lease', 'LeaseGrant', { ID: '9223372036854775807', TTL: '1000' })
  const sizes = [0, 1, 100, 3000, 16_383, 16_384, 16_385, 200_000]
  for (let i = 0; i < 400; i++) {
    const value = Buffer.alloc(sizes[i % sizes.length]!, i).toString('base64')
    const lease = i % 3 === 0 ? '9223372036854775807' : '0'
    await direct.call('KV', 'Put', { key: base64(`${i}`.padEnd(i % 200, 'x')), value, lease })
  }
  const requests = [{}, { limit: '7' }, { keysOnly: true }, { limit: '1000' }, { revision: '150' }]
  for (const request of requests) {
    const [wanted, found] = await range(sides, { ...everything, ...request })
    t.strictSame(found, wanted, JSON.stringify(request))
  }
  t.equal(replica.count('Range', 'mirror'), requests.length)
  const session = http2.connect(`http://${replica.address}`)
  t.teardown(() => session.destroy())
  const body = rangeCodec.encode({ ...noRange, key: keyFromText('0') })
  const { trailers } = await bareCall(session, '/etcdserverpb.KV/Range', framed(body))
  t.match(trailers, { 'grpc-status': '0', 'watchglass-source': 'mirror' })
})

const noRange = {
  key: keyFromText(''),
  rangeEnd: keyFromText(''),
  limit: 0,
  revision: 0,
  sortOrder: 0,
  sortTarget: 0,
  serializable: false,
  keysOnly: false,
  countOnly: false,
  minModRevision: 0,
  maxModRevision: 0,
  minCreateRevision: 0,
  maxCreateRevision: 0,
}

t.test('what is not mirrored as a whole passes', { skip }, async t => {
  const sides = await openSides(t, cluster!, { prefixes: ['/a/'] })
  const { direct, replica } = sides
  for (const name of ['/a', '/a/1', '/a/2', '/b/1']) {
    await direct.call('KV', 'Put', { key: base64(name), value: base64('1') })
  }
  const span = (key: string, rangeEnd: string): Message => {
    return { key: base64(key), rangeEnd: base64(rangeEnd) }
  }
  const inside = [span('/a/', '/a0'), span('/a/1', ''), span('/a/1', '/a/2'), span('/a/9', '/a/9')]
  const outside = [span('/a', '/a0'), span('/a/', '/b'), span('/b/1', ''), everything]
  for (const [requests, source] of [
    [inside, 'mirror'],
    [outside, 'etcd'],
  ] as const) {
    const before = replica.count('Range', source)
    for (const request of requests) {
      const [wanted, found] = await range(sides, request)
      t.strictSame(found, wanted, JSON.stringify(request))
    }
    t.equal(replica.count('Range', source), before + requests.length, source)
  }
})

t.test('fields that are not known pass', { skip }, async t => {
  const { replica } = await openSides(t, cluster!)
  const session = http2.connect(`http://${replica.address}`)
  t.teardown(() => session.destroy())
  const known = rangeCodec.encode({ ...noRange, key: keyFromText('a') })
  const unknown = Buffer.concat([known, Buffer.from([(14 << 3) | 0, 1])])
  const { trailers } = await bareCall(session, '/etcdserverpb.KV/Range', framed(unknown))
  t.match(trailers, { 'grpc-status': '0', 'watchglass-source': 'etcd' })
})

t.test('a request with a token is never answered here', { skip }, async t => {
  const { replica, through } = await openSides(t, cluster!)
  const session = http2.connect(`http://${replica.address}`)
  t.teardown(() => session.destroy())
  const body = framed(rangeCodec.encode({ ...noRange, key: keyFromText('a') }))
  for (const [headers, source] of [
    [{}, 'mirror'],
    [{ token: 'some' }, 'etcd'],
    [{ authorization: 'some' }, 'etcd'],
  ] as const) {
    const { trailers } = await bareCall(session, '/etcdserverpb.KV/Range', body, headers)
    t.equal(trailers['watchglass-source'], source, JSON.stringify(headers))
  }
  const log = new WatchLog(through, { token: 'some' })
  await log.create({ key: base64('a') })
  log.close()
  while (replica.count('Watch', 'etcd') === 0) await new Promise(resolve => setTimeout(resolve, 5))
})

t.test('nothing is answered here where etcd has users', { skip }, async t => {
  const { direct, through, replica } = await openSides(t, cluster!)
  await direct.call('KV', 'Put', { key: base64('a'), value: base64('1') })
  t.match(await through.call('KV', 'Range', { key: base64('a') }), { response: {} })
  t.equal(replica.count('Range', 'mirror'), 1)
  const [log, session] = [new WatchLog(through), http2.connect(`http://${replica.address}`)]
  t.teardown(() => {
    log.close()
    session.destroy()
  })
  await log.create({ key: base64('a') })
  const begun = session.request({
    ':method': 'POST',
    ':path': '/etcdserverpb.KV/Range',
    'content-type': 'application/grpc',
  })
  await through.call('Maintenance', 'Status', {})
  for (const [method, request] of [
    ['UserAdd', { name: 'root', password: 'secret' }],
    ['RoleAdd', { name: 'root' }],
    ['UserGrantRole', { user: 'root', role: 'root' }],
    ['AuthEnable', {}],
  ] as const) {
    t.match(await through.call('Auth', method, request), { response: {} }, method)
  }
  for (const serializable of [true, false]) {
    const refused = await through.call('KV', 'Range', { key: base64('a'), serializable })
    t.match(refused, { code: 3, details: 'etcdserver: user name is empty' })
  }
  const answer = once(begun, 'response') as Promise<[http2.IncomingHttpHeaders]>
  begun.end(framed(rangeCodec.encode({ ...noRange, key: keyFromText('a') })))
  const refusal = { 'grpc-status': '3', 'watchglass-source': 'etcd' }
  t.match(await answer, [refusal], 'a call that began before is checked too')
  log.send({ createRequest: { key: base64('b') } })
  t.match(await log.untilFailed(), { code: 14, details: /etcd has users now/ })
  t.equal(replica.count('Range', 'mirror'), 1)
})
