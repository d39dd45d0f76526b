/** Frames that carry nothing end their connection, at both listeners of HTTP/2; what clients send
 *  beside their requests does not. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import * as http2 from 'node:http2'
import t, { type Test } from 'tap'
import { GrpcServer } from '../../lib/etcd-server/listen/grpc-server.ts'
import type { HttpRequest } from '../../lib/cache/http/server/http-request.ts'
import { sendWhole } from '../../lib/cache/http/server/respond.ts'
import { Server } from '../../lib/cache/http/server/server.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { askOn, type Address, openSession, protocols } from '../support/attacks/ask.ts'
import { frame, frameTypes, openRaw, request } from '../support/attacks/raw-http2.ts'
import { FakeClock } from '../support/fake-clock.ts'

const mebibyte = 1024 ** 2
const plain = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':authority', 'localhost'],
  [':path', '/'],
] as const

/** Each is allowed as often as one likes, or passed over as RFC 9113 asks. */
const floods: Readonly<Record<string, Buffer>> = {
  priorities: frame(frameTypes.priority, 0, 1, Buffer.from([0, 0, 0, 0, 15])),
  'windows of the connection': frame(frameTypes.window, 0, 0, Buffer.from([0, 0, 0, 1])),
  'windows of a stream that has ended': frame(frameTypes.window, 0, 1, Buffer.from([0, 0, 0, 1])),
  'frames of no type': frame(77, 0, 0, Buffer.alloc(0)),
  'long frames of no type': frame(77, 0, 0, Buffer.alloc(16_000)),
  pings: frame(frameTypes.ping, 0, 0, Buffer.alloc(8)),
}

async function serve(t: Test, protocol: Address['protocol'], isKnown: boolean): Promise<Address> {
  const [cert, key] = ['pem', 'key'].map(end => readFileSync(`test/support/certs/server.${end}`))
  const server = await Server.listen({
    listen: { protocol, host: '127.0.0.1', port: 0 },
    tls: { cert, key },
    clock: systemClock,
    onFault: error => t.fail(String(error)),
    handler: one => void answer(one, isKnown),
  })
  t.teardown(() => server.close())
  return { protocol, port: server.port }
}

/** The answer says how many bytes have come; or it has so many as the target says. A body is
 *  refused unread where the target says so. */
async function answer(one: HttpRequest, isKnown: boolean): Promise<void> {
  if (isKnown) one.accept()
  let bytes = 0
  if (one.target !== '/refused') {
    for await (const piece of one.body as AsyncIterable<Buffer>) bytes += piece.length
  }
  const wanted = Number(one.target.slice(1))
  const body = wanted > 0 ? Buffer.alloc(wanted) : Buffer.from(String(bytes))
  sendWhole(one, { status: one.target === '/refused' ? 413 : 200, headers: {} }, body)
}

/** True when the connection is closed before so many bytes have been sent. */
async function endsWithin(address: Address, one: Buffer, maxBytes: number): Promise<boolean> {
  const socket = await openRaw(address)
  const closed = new Promise(resolve => socket.once('close', resolve))
  const drained = (): Promise<unknown> => new Promise(resolve => socket.once('drain', resolve))
  socket.write(request(1, plain))
  const block = Buffer.concat(Array.from({ length: Math.ceil(64_000 / one.length) }, () => one))
  for (let sent = 0; sent < maxBytes; sent += block.length) {
    if (socket.destroyed) return true
    if (!socket.write(block)) await Promise.race([closed, drained()])
    // What has come meanwhile is seen.
    await new Promise(resolve => setImmediate(resolve))
  }
  const isEnded = socket.destroyed
  socket.destroy()
  return isEnded
}

for (const protocol of protocols) {
  for (const isKnown of [false, true]) {
    const who = isKnown ? 'somebody known' : 'a stranger'
    t.test(`frames that carry nothing, of ${who} over ${protocol}`, async t => {
      const address = await serve(t, protocol, isKnown)
      for (const [name, one] of Object.entries(floods)) {
        t.ok(await endsWithin(address, one, 512 * mebibyte), name)
      }
      const session = openSession(address)
      t.equal((await askOn(session, { path: '/' })).status, 200, 'others are answered')
      session.destroy()
    })
  }
}

t.test('uploads, downloads, many requests and refused bodies are no flood', async t => {
  const { port } = await serve(t, 'http', true)
  // Node's client counts what was refused against the memory of its connection.
  const session = http2.connect(`http://127.0.0.1:${port}`, { maxSessionMemory: 1_000 })
  t.teardown(() => session.destroy())
  t.equal((await askOn(session, { path: '/' })).status, 200)
  const body = 'x'.repeat(24 * mebibyte)
  const uploaded = await askOn(session, { method: 'POST', path: '/', body })
  t.equal(uploaded.body, String(body.length))
  const large = { path: '/', headers: { 'x-large': 'y'.repeat(50_000) } }
  for (let i = 0; i < 100; i++) await askOn(session, large)
  const downloaded = await askOn(session, { path: `/${32 * mebibyte}` })
  t.equal(downloaded.body.length, 32 * mebibyte)
  for (let i = 0; i < 20; i++) {
    const refused = session.request({ ':method': 'POST', ':path': '/refused' })
    refused.on('error', () => {})
    refused.write(Buffer.alloc(8 * mebibyte))
    refused.resume()
    await once(refused, 'close')
  }
  t.equal((await askOn(session, { path: '/' })).status, 200)
  t.notOk(session.destroyed)
})

t.test('what a client sends beside its requests is forgiven in time', async t => {
  const clock = new FakeClock()
  const server = await Server.listen({
    listen: { protocol: 'http', host: '127.0.0.1', port: 0 },
    clock,
    onFault: error => t.fail(String(error)),
    handler: one => sendWhole(one, { status: 200, headers: {} }, Buffer.from('')),
  })
  t.teardown(() => server.close())
  const socket = await openRaw({ protocol: 'http', port: server.port })
  socket.removeAllListeners('data')
  const half = Buffer.alloc(600_000, frame(77, 0, 0, Buffer.alloc(3)))
  const ping = frame(frameTypes.ping, 0, 0, Buffer.alloc(8))
  const answered = async (): Promise<void> => {
    let last: Buffer = Buffer.alloc(0)
    while (last.subarray(-17)[3] !== frameTypes.ping) {
      last = (await once(socket, 'data'))[0] as Buffer
    }
  }
  const noise = async (): Promise<void> => {
    const pong = answered()
    socket.write(Buffer.concat([half, ping]))
    await pong
  }
  for (let i = 0; i < 5; i++) {
    await noise()
    await clock.advance(20)
    t.notOk(socket.destroyed)
    await clock.advance(3_000)
  }
  await noise()
  // Whether the client sees a reset or an end first is the system's choice.
  socket.on('error', () => undefined)
  const closed = new Promise(resolve => socket.once('close', resolve))
  socket.write(half)
  await closed
})

t.test('the same at the listener of etcd’s API', async t => {
  const server = await GrpcServer.listen({
    listen: '127.0.0.1:0',
    clock: systemClock,
    handle: call => call.read({ message: () => undefined, ended: () => call.finish() }),
  })
  t.teardown(() => server.close())
  const address: Address = { protocol: 'http', port: Number(server.address.split(':').at(-1)) }
  for (const [name, one] of Object.entries(floods)) {
    t.ok(await endsWithin(address, one, 512 * mebibyte), name)
  }
  const session = http2.connect(`http://${server.address}`)
  t.teardown(() => session.destroy())
  const call = session.request({
    ':method': 'POST',
    ':path': '/x',
    'content-type': 'application/grpc',
  })
  call.resume()
  const answered = once(call, 'response') as Promise<[http2.IncomingHttpHeaders]>
  for (let sent = 0; sent < 8; sent++) {
    const message = Buffer.alloc(mebibyte + 5)
    message.writeUInt32BE(mebibyte, 1)
    call.write(message)
  }
  call.end()
  t.equal((await answered)[0]['grpc-status'], '0')
})
