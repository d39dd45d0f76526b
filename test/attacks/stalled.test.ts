/** Whoever makes no progress for a minute is cut off, on either side and in either direction,
 *  and everything is given back. An upstream that does not read a body is in
 *  test/proxy/upstream/connection-pool.test.ts. */

import { once } from 'node:events'
import { Duplex, PassThrough, type Readable } from 'node:stream'
import t from 'tap'
import type { RequestContext } from '../../lib/cache/http/request/request-context.ts'
import { Relay } from '../../lib/proxy/passing/relay.ts'
import { beginBody, readBody } from '../../lib/cache/http/request/read-body.ts'
import { passTunnel } from '../../lib/proxy/passing/tunnel.ts'
import type { ForwardRequest, TunnelSink, Upstream } from '../../lib/proxy/upstream/upstream.ts'
import { StatusError } from '../../lib/kube/status.ts'
import { connect } from '../support/attacks/ask.ts'
import { FakeClock, settle } from '../support/fake-clock.ts'
import { ScriptedRequest } from '../support/http/scripted-request.ts'
import { serveHere } from '../support/program/serve-here.ts'

class Uploading extends ScriptedRequest {
  override readonly body: Readable & PassThrough = new PassThrough()
  override readonly hasBody = true
}

function isLate(error: unknown): boolean {
  return error instanceof StatusError && error.status.code === 408
}

t.test('a body of which nothing comes, or nothing more', async t => {
  const clock = new FakeClock()
  const mute = beginBody(new Uploading(), clock)
  const refused = mute.catch((error: unknown) => error)
  await clock.advance(59_000)
  t.equal(clock.pendingTimers, 1)
  await clock.advance(1_000)
  t.ok(isLate(await refused))

  const request = new Uploading()
  request.body.write('x')
  const begun = await beginBody(request, clock)
  const body = begun[Symbol.asyncIterator]()
  await body.next()
  for (let i = 0; i < 3; i++) {
    const next = body.next()
    await clock.advance(50_000)
    request.body.write('y')
    t.notOk((await next).done, 'a slow one goes on')
  }
  const last = body.next().catch((error: unknown) => error)
  await clock.advance(60_000)
  t.ok(isLate(await last))
  t.equal(clock.pendingTimers, 0)
})

t.test('a body that comes on, and not to its end in time', async t => {
  for (const isWhole of [true, false]) {
    const clock = new FakeClock()
    const request = new Uploading()
    const endsAtMs = clock.monotonicMs() + 75_000
    const read = isWhole
      ? readBody(request, { maxBytes: 1_000, endsAtMs }, clock)
      : drained(beginBody(request, clock, endsAtMs))
    const over = read.catch((error: unknown) => error)
    for (let i = 0; i < 16; i++) {
      request.body.write('x')
      await clock.advance(5_000)
    }
    t.ok(isWhole ? (await over) === 'too late' : isLate(await over))
    t.equal(clock.pendingTimers, 0)
  }
})

async function drained(begun: ReturnType<typeof beginBody>): Promise<string> {
  let text = ''
  for await (const piece of await begun) text += String(piece)
  return text
}

t.test('the body of a write that does not come within the time of its request', async t => {
  const { port } = await serveHere(t, ['--etcd', 'embedded'])
  const path = '/api/v1/namespaces/default/configmaps?timeout=200ms'
  const socket = await connect({ protocol: 'http', port })
  const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`
  socket.write(`${head}Content-Length: 100000\r\n\r\n{`)
  const trickle = setInterval(() => socket.write(' '), 50)
  t.teardown(() => clearInterval(trickle))
  const [answer] = (await once(socket, 'data')) as [Buffer]
  t.match(String(answer), /^HTTP\/1\.1 504 /)
  socket.destroy()
})

t.test('a body that nobody wants any more keeps no timer', async t => {
  const clock = new FakeClock()
  const request = new Uploading()
  request.body.write('x')
  const begun = await beginBody(request, clock)
  const body = begun[Symbol.asyncIterator]()
  await body.next()
  const rest = body.next().catch((error: unknown) => error)
  request.leave()
  t.match(await rest, { code: 'closed' })
  t.equal(clock.pendingTimers, 0)
})

t.test('a client that takes nothing of a passed response', async t => {
  for (const isRead of [true, false]) {
    const clock = new FakeClock()
    const request = new ScriptedRequest()
    let isOver = false
    let isAborted = false
    const relay = new Relay(request, clock, { started: () => {}, over: () => (isOver = true) })
    relay.control = { resume: () => {}, abort: () => (isAborted = true) }
    relay.started(200, {})
    await settle()
    request.isFull = true
    relay.data(Buffer.alloc(1_000_000))
    t.notOk(relay.data(Buffer.alloc(1_000_000)), 'no more is read of the upstream')
    await clock.advance(59_000)
    if (isRead) request.drain()
    await clock.advance(2_000)
    t.equal(isOver, !isRead)
    t.equal(isAborted, !isRead, 'the upstream is told')
    t.equal(request.isAborted, !isRead)
    t.equal(clock.pendingTimers, 0)
  }
})

/** An end of a tunnel: what is written to it is taken only as long as it reads. */
class End extends Duplex {
  isReading = true
  #taken: () => void = () => {}

  override _read(): void {}

  override _write(_piece: Buffer, _encoding: string, done: () => void): void {
    if (this.isReading) done()
    else this.#taken = done
  }

  goOn(): void {
    this.isReading = true
    this.#taken()
  }
}

t.test('either end of a tunnel that does not read', async t => {
  for (const who of ['client', 'upstream'] as const) {
    const clock = new FakeClock()
    const ends = { client: new End(), upstream: new End() }
    const request = Object.assign(new ScriptedRequest(), {
      takeover: { socket: ends.client, take: () => Buffer.alloc(0) },
    })
    const context = { request, reply: { passed: () => ({}), origin: undefined } }
    let sink: TunnelSink | undefined
    const upstream = {
      tunnel(_: unknown, to: TunnelSink) {
        sink = to
        return { resume: () => {}, abort: () => {} }
      },
    }
    const over = passTunnel(
      context as unknown as RequestContext,
      { upstream: upstream as unknown as Upstream, clock, onAnswered: () => {} },
      { method: 'GET', path: '/', headers: [], as: 'caller' } as unknown as ForwardRequest,
    )
    sink?.switched('HTTP/1.1 101 Switching Protocols', ends.upstream)
    await settle()
    const [stuck, other] =
      who === 'client' ? [ends.client, ends.upstream] : [ends.upstream, ends.client]
    stuck.isReading = false
    other.push(Buffer.alloc(100_000))
    await clock.advance(59_000)
    stuck.goOn()
    await clock.advance(2_000)
    t.notOk(stuck.destroyed, `the ${who} reads on in time`)
    stuck.isReading = false
    other.push(Buffer.alloc(100_000))
    const closed = Promise.all([once(stuck, 'close'), once(other, 'close')])
    await clock.advance(60_000)
    await closed
    await over
    t.equal(clock.pendingTimers, 0)
  }
})
