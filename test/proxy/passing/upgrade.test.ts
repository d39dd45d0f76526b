/** Connections that change their protocol: SPDY and WebSocket, as a tunnel of bytes; and what does
 *  not become one. */

import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import * as net from 'node:net'
import { Duplex } from 'node:stream'
import t, { type Test } from 'tap'
import { join } from '../../../lib/proxy/passing/tunnel.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { ask } from '../../support/http/served.ts'
import { codeIn, head, raw } from '../../support/http/raw-http.ts'
import { answeredHere, configMap, startProxied } from '../../support/upstream/proxied.ts'

const exec = '/api/v1/namespaces/a/pods/p/exec?command=cat'
const spdy = ['Connection: Upgrade', 'Upgrade: SPDY/3.1']

/** A connection on which bytes are awaited. */
class Talk {
  readonly socket: net.Socket
  #got: Buffer = Buffer.alloc(0)
  #onData = (): void => {}
  isEnded = false

  constructor(t: Test, port: number) {
    this.socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    t.teardown(() => this.socket.destroy())
    this.socket.on('data', piece => {
      this.#got = Buffer.concat([this.#got, piece])
      this.#onData()
    })
    this.socket.on('error', () => {})
    for (const event of ['end', 'close']) {
      this.socket.on(event, () => {
        this.isEnded = true
        this.#onData()
      })
    }
  }

  /** Takes the bytes that have come once they are as `isEnough` wants them. */
  async take(isEnough: (got: Buffer) => number): Promise<Buffer> {
    for (;;) {
      const bytes = isEnough(this.#got)
      if (bytes > 0 || this.isEnded) {
        const taken = this.#got.subarray(0, bytes)
        this.#got = this.#got.subarray(bytes)
        return taken
      }
      await new Promise<void>(resolve => (this.#onData = resolve))
    }
  }

  head(): Promise<Buffer> {
    return this.take(got => got.indexOf('\r\n\r\n') + 4 - (got.includes('\r\n\r\n') ? 0 : 3))
  }

  bytes(count: number): Promise<Buffer> {
    return this.take(got => (got.length >= count ? count : 0))
  }
}

t.test('bytes go both ways after a 101, from the first one on', async t => {
  const { port } = await startProxied(t)
  const talk = new Talk(t, port)
  talk.socket.write(`${head(`POST ${exec}`, ...spdy, 'X-Stream-Protocol-Version: v4')}early`)
  const answer = (await talk.head()).toString()
  t.match(answer, /^HTTP\/1\.1 101 Switching Protocols\r\n/)
  t.match(answer, /\r\nUpgrade: SPDY\/3\.1\r\n/)
  t.match(answer, /\r\nX-Stream-Protocol-Version: v4\.channel\.k8s\.io\r\n/)
  t.match(answer, /\r\nX-Watchglass: pass; reason=[a-z-]+\r\n/)
  t.equal((await talk.bytes(5)).toString(), 'early', 'what came behind the request is not lost')
  const body = randomBytes(3 * 1024 * 1024)
  talk.socket.write(body)
  t.ok((await talk.bytes(body.length)).equals(body), 'byte for byte')
  talk.socket.end()
  await talk.take(() => 0)
  t.ok(talk.isEnded, 'an end on one side is an end on the other')
})

t.test('a client that reads in fits and starts leaves nothing behind in its tunnel', async t => {
  const side = (): Duplex =>
    new Duplex({
      highWaterMark: 1,
      read() {},
      write: (_piece, _encoding, written) => void setImmediate(written),
    })
  const [client, upstream, clock] = [side(), side(), new FakeClock()]
  let hasEnded = false
  join([client, upstream], clock, () => (hasEnded = true))
  const listeners = client.listenerCount('close')
  for (let i = 0; i < 20; i++) {
    upstream.push('x')
    await once(client, 'drain')
  }
  t.equal(client.listenerCount('close'), listeners)
  t.equal(clock.pendingTimers, 0)
  upstream.push('x')
  while (clock.pendingTimers === 0) await new Promise(setImmediate)
  client.destroy()
  await once(client, 'close')
  t.equal(clock.pendingTimers, 0, 'nor does one that leaves meanwhile')
  t.ok(hasEnded)
})

t.test('a tunnel has a connection of its own, which is never used again', async t => {
  const { port, upstream } = await startProxied(t)
  await ask(port, { path: '/echo' })
  const before = upstream.connections
  const talk = new Talk(t, port)
  talk.socket.write(head(`POST ${exec}`, ...spdy))
  await talk.head()
  const { connection } = upstream.last(exec)!
  t.notOk(before.has(connection), 'it is a fresh one')
  for (let i = 0; i < 5; i++) await ask(port, { path: '/echo' })
  talk.socket.write('still a tunnel')
  t.equal((await talk.bytes(14)).toString(), 'still a tunnel')
  talk.socket.destroy()
  while (upstream.connections.has(connection)) await new Promise(setImmediate)
  await ask(port, { path: '/echo' })
  t.equal(upstream.seen.filter(seen => seen.connection === connection).length, 1)
})

t.test('anything but a 101 ends both connections, with its answer', async t => {
  const { port, upstream } = await startProxied(t)
  for (const code of [200, 403, 404, 500]) {
    const answer = await raw(
      port,
      `${head(`POST ${exec}&refuse=${code}`, ...spdy)}GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n`,
    )
    t.equal(codeIn(answer), code)
    t.match(answer, /"kind":"Status"/)
    t.match(answer, /connection: close/i)
    t.notOk(upstream.seen.some(({ url }) => url === '/hidden'))
    const { connection } = upstream.last(`${exec}&refuse=${code}`)!
    while (upstream.connections.has(connection)) await new Promise(setImmediate)
  }
})

t.test('a redirect is no answer to a connection', async t => {
  const { port } = await startProxied(t)
  const answer = await raw(port, head(`POST ${exec}&refuse=302`, ...spdy))
  t.equal(codeIn(answer), 502)
  t.notMatch(answer, /169\.254/)
})

t.test('an upstream that cannot be reached, or breaks off, is a Status', async t => {
  const { port, upstream } = await startProxied(t)
  upstream.fault = ({ url }) => (url.includes('exec') ? { type: 'reset' } : undefined)
  t.equal(codeIn(await raw(port, head(`POST ${exec}`, ...spdy))), 502)
  await upstream.down()
  t.equal(codeIn(await raw(port, head(`POST ${exec}`, ...spdy))), 503)
})

t.test('other protocols are not asked for: the request is as any other', async t => {
  const { port, upstream } = await startProxied(t)
  const lines = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk']
  const answer = await raw(port, head('GET /echo', ...lines))
  t.equal(codeIn(answer), 200)
  const names = Object.keys(upstream.seen.find(({ url }) => url === '/echo')!.headers)
  t.notOk(names.some(name => name === 'upgrade' || name === 'http2-settings'))
  const hidden = 'GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n'
  const body = `Content-Length: ${hidden.length}`
  t.equal(codeIn(await raw(port, head('POST /echo', ...lines, body) + hidden)), 400)
  t.notOk(upstream.seen.some(({ url }) => url === '/hidden'))
})

t.test('identities do not slip through a tunnel either', async t => {
  const { port, upstream } = await startProxied(t)
  const talk = new Talk(t, port)
  const lines = [...spdy, 'X-Remote-User: system:admin', 'X_Remote_Group: system:masters']
  talk.socket.write(head(`POST ${exec}`, ...lines))
  await talk.head()
  const names = Object.keys(upstream.seen.find(({ url }) => url === exec)!.headers)
  t.notOk(names.some(name => name.replaceAll('_', '-').startsWith('x-remote-')))
})

const webSocket = [
  'Connection: upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
  'Sec-WebSocket-Version: 13',
]
const token = 'base64url.bearer.authorization.k8s.io.c2VjcmV0'

t.test('a watch over a WebSocket is answered from the mirror', async t => {
  const path = '/api/v1/namespaces/a/configmaps'
  const proxied = await startProxied(t, { objects: [[path, configMap('x', '1')]] })
  const { port, upstream } = proxied
  await answeredHere(proxied, '', 'v1', 'configmaps')
  const seen = upstream.seen.length
  for (const more of [[], [`Sec-WebSocket-Protocol: ${token}, binary.k8s.io`]]) {
    const talk = new Talk(t, port)
    talk.socket.write(head(`GET ${path}?watch=1`, ...webSocket, 'Origin: http://x', ...more))
    const answer = (await talk.head()).toString()
    t.match(answer, /^HTTP\/1\.1 101 /)
    t.match(answer, /\r\nX-Watchglass: mirror; revision=\d+\r\n/)
  }
  t.notOk(upstream.seen.slice(seen).some(({ headers }) => 'upgrade' in headers))
})

for (const [what, ...lines] of [
  ['has no origin, which the upstream refuses'],
  ['has two subprotocols', 'Origin: http://x', 'Sec-WebSocket-Protocol: a, b'],
  [
    'has two tokens',
    'Origin: http://x',
    'Authorization: Bearer x',
    `Sec-WebSocket-Protocol: ${token}, a`,
  ],
] as const) {
  t.test(`a watch over a WebSocket passes if its handshake ${what}`, async t => {
    const { port } = await startProxied(t)
    const talk = new Talk(t, port)
    talk.socket.write(head('GET /api/v1/pods?watch=1', ...webSocket, ...lines))
    const answer = (await talk.head()).toString()
    t.match(answer, /^HTTP\/1\.1 101 /)
    t.match(answer, /reason=upgrade/)
  })
}
