/** Whatever the upstream does, the client is told, and what reached the upstream is never sent
 *  again. */

import * as http from 'node:http'
import * as net from 'node:net'
import t from 'tap'
import { ask, type HttpAnswer } from '../../support/http/served.ts'
import { startProxied } from '../../support/upstream/proxied.ts'
import type { Fault } from '../../support/upstream/faults.ts'

interface StatusBody {
  readonly kind: string
  readonly code: number
  readonly reason: string
  readonly message: string
}

function statusOf({ body }: HttpAnswer): StatusBody {
  return JSON.parse(body.toString()) as StatusBody
}

/** A port at which nobody listens. */
async function closedPort(): Promise<number> {
  const server = net.createServer().listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as net.AddressInfo
  await new Promise(resolve => server.close(resolve))
  return port
}

t.test('an upstream that is down, slow or talks nonsense is a Status', async t => {
  const { upstream, get } = await startProxied(t, { timeouts: { answerMs: 200 } })
  const cases: readonly (readonly [Fault, number, string])[] = [
    [{ type: 'reset' }, 502, 'ServiceUnavailable'],
    [{ type: 'garbage' }, 502, 'ServiceUnavailable'],
    [{ type: 'hang' }, 504, 'Timeout'],
  ]
  for (const [fault, code, reason] of cases) {
    upstream.fault = ({ url }) => (url === '/x' ? fault : undefined)
    upstream.seen.length = 0
    const answer = await get('/x')
    t.equal(answer.status, code, fault.type)
    const status = statusOf(answer)
    t.match(status, { kind: 'Status', code, reason })
    t.notMatch(status.message, /127\.0\.0\.1/, 'clients are not told where the upstream is')
    t.equal(answer.headers['x-watchglass'], 'pass; reason=not-a-resource')
    t.equal(upstream.seen.filter(({ url }) => url === '/x').length, 1, 'sent once')
  }
  await upstream.down()
  const answer = await get('/x')
  t.equal(answer.status, 503)
  t.match(statusOf(answer), { kind: 'Status', code: 503, reason: 'ServiceUnavailable' })
  t.equal(answer.headers['retry-after'], '1')
})

t.test('an answer that breaks off breaks off for the client, too', async t => {
  const { upstream, get } = await startProxied(t, { timeouts: { answerMs: 200 } })
  for (const type of ['reset mid-body', 'stall mid-body'] as const) {
    upstream.fault = ({ url }) => (url === '/x' ? { type, bytes: 5_000 } : undefined)
    await t.rejects(get('/x'), { code: 'ECONNRESET' }, type)
  }
})

t.test('a stream has no time limit', async t => {
  const { upstream, port } = await startProxied(t, { timeouts: { answerMs: 50 } })
  let open = 0
  upstream.fault = ({ url }) => {
    if (url.includes('/log')) open++
    return url.includes('/log') ? { type: 'stall mid-body', bytes: 10 } : undefined
  }
  const path = '/api/v1/namespaces/a/pods/p/log?follow=true'
  const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
    http.get({ port, host: '127.0.0.1', path, agent: false }, resolve).on('error', reject)
  })
  response.on('error', () => {})
  await new Promise(resolve => response.once('data', resolve))
  t.equal(open, 1)
  // Fifty times as long as a request that is no stream would get, as the upstream counts.
  for (let i = 0; i < 50; i++) await ask(port, { path: '/echo' })
  t.equal(response.complete, false)
  t.equal(response.destroyed, false)
  response.destroy()
})

t.test('a client that leaves takes its request with it', async t => {
  const { upstream, port } = await startProxied(t)
  const left = new Promise<void>(resolve => {
    upstream.fault = ({ url }) => (url === '/x' ? { type: 'hang', onClose: resolve } : undefined)
  })
  const request = http.get({ port, host: '127.0.0.1', path: '/x', agent: false })
  request.on('error', () => {})
  while (!upstream.seen.some(({ url }) => url === '/x')) await ask(port, { path: '/echo' })
  request.destroy()
  await left
})

t.test("redirects are the client's to follow, and its alone", async t => {
  const { upstream, get } = await startProxied(t)
  const headers = { location: 'http://127.0.0.1:1/elsewhere' }
  upstream.fault = ({ url }) =>
    url === '/x' ? { type: 'answer', answer: { code: 307, headers, body: 'there' } } : undefined
  const answer = await get('/x')
  t.equal(answer.status, 307)
  t.equal(answer.headers.location, headers.location)
  t.equal(answer.body.toString(), 'there')
})

t.test('of several servers another one is taken when one cannot be reached', async t => {
  const dead = `http://127.0.0.1:${await closedPort()}`
  const { upstream, port } = await startProxied(t, { otherUrls: [dead] })
  for (const method of ['GET', 'PUT', 'DELETE']) {
    for (let i = 0; i < 4; i++) {
      const { status } = await ask(port, { method, path: '/echo' })
      t.equal(status, 200, method)
    }
  }
  upstream.seen.length = 0
  const posts = await Promise.all(
    [1, 2, 3, 4].map(() => ask(port, { method: 'POST', path: '/echo', body: 'x' })),
  )
  t.ok(
    posts.every(({ status }) => status === 200),
    'a server that is known to be down is left out',
  )
})

t.test('what is not idempotent is never tried twice', async t => {
  const dead = [`http://127.0.0.1:${await closedPort()}`]
  const { upstream, port } = await startProxied(t, { otherUrls: dead })
  // As long as nobody has found out which server is dead, half of the requests meet it.
  const statuses = new Set<number>()
  for (let i = 0; i < 4; i++) {
    const { status } = await ask(port, { method: 'POST', path: '/echo', body: 'x' })
    statuses.add(status)
  }
  t.ok([...statuses].every(status => status === 200 || status === 503))
  t.ok(upstream.seen.filter(({ method }) => method === 'POST').length <= 4)
})

t.test('a server that comes back is used again', async t => {
  const { upstream, get } = await startProxied(t)
  const { port } = upstream
  await upstream.down()
  t.equal((await get('/echo')).status, 503)
  await upstream.listen(port)
  t.equal((await get('/echo')).status, 200)
})
