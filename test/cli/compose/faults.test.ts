import { once } from 'node:events'
import * as http from 'node:http'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import type { AuditLog } from '../../../lib/cache/http/audit/audit.ts'
import { maskedFrame } from '../../support/http/stream-wire.ts'
import { WebSocketClient } from '../../support/watch/web-socket-client.ts'
import { longTimers } from '../../support/program/long-timers.ts'
import {
  ask,
  caughtUp,
  type HttpAnswer,
  type Served,
  startServed,
} from '../../support/http/served.ts'

const lines: string[] = []
const audit: AuditLog = { write: line => void lines.push(line) }
let served: Served
const timers = longTimers()
const adminListen = { protocol: 'http', host: '127.0.0.1', port: 0 } as const

async function put(name: string, size = 10): Promise<number> {
  const metadata = { name, namespace: 'a', uid: name, annotations: { x: 'x'.repeat(size) } }
  const value = Buffer.from(JSON.stringify({ kind: 'ConfigMap', apiVersion: 'v1', metadata }))
  const key = keyFromText(`/registry/configmaps/a/${name}`)
  const success = [{ type: 'put' as const, key, value }]
  const { header } = await served.client.txn({ compares: [], success, failure: [] })
  return header.revision
}

async function replace(...rules: string[]): Promise<HttpAnswer> {
  return ask(served.service.adminPort, { method: 'PUT', path: '/faults', body: rules.join('\n') })
}

async function counts(): Promise<number[]> {
  const { body } = await ask(served.service.adminPort, { path: '/faults' })
  const { faults } = JSON.parse(body.toString()) as { faults: { met: number }[] }
  return faults.map(({ met }) => met)
}

const list = '/api/v1/namespaces/a/configmaps'

t.before(async () => {
  served = await startServed(t, {
    adminListen,
    audit: () => audit,
    faults: { rules: ['error,code=503,times=1'], seed: 1 },
    clock: { ...timers.clock, wallMs: () => Date.now() },
  })
  await caughtUp(served, await put('big', 200_000))
})

t.test('requests fail as they are told to, and the audit log and metrics say so', async t => {
  const { port, adminPort } = served.service
  const refused = await ask(port, { path: list })
  t.equal(refused.status, 503)
  t.equal((await ask(port, { path: list })).status, 200, 'once only')
  await replace('error,code=429,retry-after=9,verb=get')
  const busy = await ask(port, { path: `${list}/big` })
  t.match(busy, { status: 429, headers: { 'retry-after': '9' } })
  t.match(JSON.parse(busy.body.toString()), { kind: 'Status', reason: 'TooManyRequests' })
  t.equal((await ask(port, { path: list })).status, 200)
  t.strictSame(await counts(), [1])
  const last = lines.map(line => JSON.parse(line) as { annotations: Record<string, string> })
  const annotated = last.filter(({ annotations }) => annotations['watchglass/faults'] === 'error')
  t.equal(annotated.length, 2)
  const metrics = (await ask(adminPort, { path: '/metrics' })).body.toString()
  t.match(metrics, 'watchglass_injected_faults_total{fault="error"} 2')
})

t.test('a response is cut off in the middle, over HTTP/1.1', async t => {
  await replace('reset,after=50KB')
  const sent = http.get({ host: '127.0.0.1', port: served.service.port, path: list, agent: false })
  const [response] = (await once(sent, 'response')) as [http.IncomingMessage]
  let bytes = 0
  response.on('data', (piece: Buffer) => (bytes += piece.length))
  await t.rejects(once(response, 'end'), { code: 'ECONNRESET' })
  t.equal(bytes, 50 * 1024)
  t.strictSame(await counts(), [1])
})

t.test('a slow body arrives whole', async t => {
  const whole = (await replace(), await ask(served.service.port, { path: list })).body
  await replace('slow,rate=1MB/s')
  const slow = await ask(served.service.port, { path: list })
  t.ok(slow.body.equals(whole))
  t.strictSame(await counts(), [1])
})

t.test('a watch over a WebSocket is cut off in the middle of a message', async t => {
  await replace('reset,after=50KB')
  const client = new WebSocketClient(t, served.service.port, `${list}?watch=1`)
  t.match(await client.head(), /^HTTP\/1.1 101 /)
  t.equal((await client.rest()).length, 50 * 1024)
  t.strictSame(await counts(), [1])
})

t.test('a slow WebSocket sends whole messages, with answers to pings between them', async t => {
  await replace('slow,rate=1MB/s')
  const client = new WebSocketClient(t, served.service.port, `${list}?watch=1`)
  await client.head()
  client.socket.write(maskedFrame(9, Buffer.from('ping')))
  const heard = [await client.next(), await client.next()]
  const pong = heard.find(message => message?.opcode === 10)
  const told = heard.find(message => message !== pong)
  t.equal(pong?.payload.toString(), 'ping')
  t.match(JSON.parse(String(told?.payload)), { type: 'ADDED', object: { kind: 'ConfigMap' } })
  t.strictSame(await counts(), [1])
})

t.test('watches end after some events, cleanly or with 410', async t => {
  for (const [rule, isExpired] of [
    ['watch-end,after=2', false],
    ['watch-expired,after=2', true],
  ] as const) {
    await replace(rule)
    const from = (
      await served.client.range({
        range: { start: keyFromText('/a'), end: keyFromText('/b') },
        countOnly: true,
      })
    ).header.revision
    const path = `${list}?watch=1&resourceVersion=${from}`
    const watched = ask(served.service.port, { path })
    for (let i = 0; i < 4; i++) await put(`${rule.slice(0, 9)}${i}`)
    const frames = (await watched).body.toString().trim().split('\n')
    const types = frames.map(frame => (JSON.parse(frame) as { type: string }).type)
    t.strictSame(types, ['ADDED', 'ADDED', ...(isExpired ? ['ERROR'] : [])])
    if (isExpired) t.match(frames.at(-1), /"code":410/)
    t.strictSame(await counts(), [1])
  }
})

t.test('reads that accept old contents get them, and others do not', async t => {
  await replace('stale,age=1h')
  const revision = await put('newest')
  await caughtUp(served, revision)
  const versionOf = async (query: string): Promise<number> => {
    const { body } = await ask(served.service.port, { path: `${list}?limit=1${query}` })
    return Number(
      (JSON.parse(body.toString()) as { metadata: { resourceVersion: string } }).metadata
        .resourceVersion,
    )
  }
  t.ok((await versionOf('&resourceVersion=0')) < revision, 'any')
  t.equal(await versionOf(`&resourceVersion=${revision}`), revision, 'not older than')
  t.ok((await versionOf('')) >= revision, 'consistent')
})

t.test('a compaction expires old revisions', async t => {
  const before = await put('before')
  await put('after')
  await replace('compact')
  for (let met = 0; met === 0; [met = 0] = await counts());
  const path = `${list}?resourceVersion=${before}&resourceVersionMatch=Exact`
  let { status } = await ask(served.service.port, { path })
  // The mirror hears of it from etcd.
  while (status === 200) ({ status } = await ask(served.service.port, { path }))
  t.equal(status, 410)
})

t.test('a rule that cannot be read changes nothing', async t => {
  await replace('error,code=500')
  const answer = await replace('error,code=500', 'eror')
  t.match(answer, { status: 400, body: /fault "eror": "eror" is no fault: use latency/ })
  t.equal((await counts()).length, 1)
  t.equal((await replace()).status, 200)
  t.strictSame(await counts(), [])
})

t.test('rules that do not come to their end are no fault of ours', async t => {
  const { adminPort } = served.service
  const answer = await replace('error,code=500\n'.repeat(20_000))
  t.match(answer, { status: 400, body: /more than 64 KB of rules/ })
  const put = 'PUT /faults HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n'
  const socket = connect(adminPort, '127.0.0.1')
  socket.write(`${put}erro`)
  await setTimeout(100)
  socket.destroy()
  await setTimeout(100)
  const { body } = await ask(adminPort, { path: '/metrics' })
  t.match(body.toString(), /^watchglass_internal_errors_total 0$/m)
})
