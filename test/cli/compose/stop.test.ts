import { once } from 'node:events'
import * as http from 'node:http'
import t, { type Test } from 'tap'
import { keyFromText } from '../../../lib/base/keys.ts'
import { type LongTimers, longTimers } from '../../support/program/long-timers.ts'
import { ask, caughtUp, type Served, startServed } from '../../support/http/served.ts'
import { moment } from '../../support/http/moment.ts'

async function putSecret({ client }: Served, name: string, bytes: number): Promise<number> {
  // Any object may be stored as JSON, not only custom resources.
  const key = keyFromText(`/registry/secrets/a/${name}`)
  const value = Buffer.from(
    JSON.stringify({
      kind: 'Secret',
      apiVersion: 'v1',
      metadata: { name, namespace: 'a', annotations: { x: 'x'.repeat(bytes) } },
    }),
  )
  const success = [{ type: 'put' as const, key, value }]
  return (await client.txn({ compares: [], success, failure: [] })).header.revision
}

async function begin(
  t: Test,
  { service }: Served,
  path: string,
  agent?: http.Agent,
): Promise<http.IncomingMessage> {
  const sent = http.get({ host: '127.0.0.1', port: service.port, path, agent: agent ?? false })
  t.teardown(() => sent.destroy())
  sent.on('error', () => {})
  const [response] = (await once(sent, 'response')) as [http.IncomingMessage]
  return response
}

async function bodyOf(response: http.IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of response as AsyncIterable<Buffer>) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

async function startFilled(t: Test, timers: LongTimers, stopDelayMs: number): Promise<Served> {
  const served = await startServed(t, { clock: timers.clock, stopDelayMs })
  let revision = 0
  for (let i = 0; i < 40; i++) revision = await putSecret(served, `s${i}`, 500_000)
  await caughtUp(served, revision)
  return served
}

t.test('who is to stop says so first, and goes on serving for a while', async t => {
  const timers = longTimers()
  const served = await startServed(t, { clock: timers.clock, stopDelayMs: 20_000 })
  await caughtUp(served, 1)
  const { port } = served.service
  t.equal((await ask(port, { path: '/readyz' })).status, 200)
  const stopped = served.service.stop()
  const answer = await ask(port, { path: '/readyz' })
  t.equal(answer.status, 500)
  t.match(answer.body.toString(), /^\[-\]shutdown failed: process is shutting down$/m)
  t.equal((await ask(port, { path: '/readyz/mirror' })).status, 200)
  t.equal((await ask(port, { path: '/livez' })).status, 200)
  t.equal((await ask(port, { path: '/api/v1/secrets' })).status, 200)
  timers.runOut(20_000, 20_000)
  await stopped
  await t.rejects(ask(port, { path: '/readyz' }), { code: 'ECONNREFUSED' })
})

t.test('lists under way are finished, and watches end in order', async t => {
  const timers = longTimers()
  const served = await startFilled(t, timers, 0)
  const list = await begin(t, served, '/api/v1/secrets')
  const watch = await begin(t, served, '/api/v1/secrets?watch=true&resourceVersion=1')
  const stopped = served.service.stop()
  // It would fail if the stream were cut.
  const events = await bodyOf(watch)
  t.ok(events.split('\n').filter(line => line !== '').length <= 40)
  const body = await bodyOf(list)
  t.equal((JSON.parse(body) as { items: unknown[] }).items.length, 40)
  await stopped
})

t.test('a list that nobody reads is not waited for without end', async t => {
  const timers = longTimers()
  const served = await startFilled(t, timers, 0)
  const list = await begin(t, served, '/api/v1/secrets')
  const stopped = served.service.stop()
  timers.runOut(10_000, 10_000)
  await stopped
  await t.rejects(bodyOf(list))
})

t.test('a client that leaves before its answer is counted as such', async t => {
  const served = await startServed(t)
  await caughtUp(served, 1)
  const { port } = served.service
  const sent = http.get({
    host: '127.0.0.1',
    port,
    path: '/api/v1/secrets?resourceVersion=1000',
    agent: false,
  })
  sent.on('error', () => {})
  await once(sent, 'finish')
  const metrics = async (): Promise<string> =>
    (await ask(port, { path: '/metrics' })).body.toString()
  while (!/^watchglass_mirror_waiting_reads 1$/m.test(await metrics())) await moment()
  sent.destroy()
  const counted = /^watchglass_requests_total\{(?=[^}]*resource="secrets")[^}]*code="499".*\} 1$/m
  while (!counted.test(await metrics())) await moment()
  t.notMatch(await metrics(), /code="0"/)
})
