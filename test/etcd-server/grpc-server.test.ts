/** The listener of both etcd servers, on the wire. */

import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import * as http2 from 'node:http2'
import t, { type Test } from 'tap'
import { type GrpcCall, untakenMaxMs } from '../../lib/etcd-server/listen/grpc-call.ts'
import { GrpcServer, type GrpcServerOptions } from '../../lib/etcd-server/listen/grpc-server.ts'
import { MessageReader } from '../../lib/etcd/http2/message-reader.ts'
import { PingStrikes } from '../../lib/etcd-server/listen/ping-strikes.ts'
import { OpenFiles } from '../../lib/cache/http/server/open-files.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { bareCall, framed } from '../support/etcd/bare-grpc.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { isCollected } from '../support/program/collector.ts'
import { silentLogger } from '../support/silent-logger.ts'

const pem = (name: string): Buffer => readFileSync(`test/support/certs/${name}`)

/** Sends every message back, and ends when the client has. */
function echo(call: GrpcCall): void {
  call.read({
    message: ({ bytes }) => void call.send(bytes),
    ended: () => call.finish(),
  })
}

async function listen(t: Test, options: Partial<GrpcServerOptions> = {}): Promise<GrpcServer> {
  const server = await GrpcServer.listen({
    listen: '127.0.0.1:0',
    handle: echo,
    clock: systemClock,
    ...options,
  })
  t.teardown(() => server.close())
  return server
}

function connect(t: Test, url: string, options = {}): http2.ClientHttp2Session {
  const session = http2.connect(url, options)
  session.on('error', () => undefined)
  t.teardown(() => session.destroy())
  return session
}

t.test('messages come whole, however they were cut', async t => {
  const bytes = Buffer.concat(['', 'a', 'bcd'].map(text => framed(Buffer.from(text))))
  for (let cut = 1; cut <= bytes.length; cut++) {
    const reader = new MessageReader(10)
    const read: string[] = []
    for (let at = 0; at < bytes.length; at += cut) {
      reader.push(bytes.subarray(at, at + cut))
      for (let next = reader.next(); typeof next === 'object'; next = reader.next()) {
        read.push(next.bytes.toString())
      }
    }
    t.strictSame(read, ['', 'a', 'bcd'], `pieces of ${cut}`)
    t.equal(reader.rest().length, 0)
  }
})

t.test('a call is answered with messages, a status and its text', async t => {
  const server = await listen(t, {
    handle(call) {
      if (call.path === '/echo') echo(call)
      else call.finish({ code: 5, details: '100% "größer"' })
    },
  })
  const session = connect(t, `http://${server.address}`)
  const body = Buffer.concat([framed(Buffer.from('one')), framed(Buffer.alloc(5000, 7))])
  const { headers, trailers, body: answer } = await bareCall(session, '/echo', body)
  t.match(headers, { ':status': 200, 'content-type': 'application/grpc', date: undefined })
  t.match(trailers, { 'grpc-status': '0', 'grpc-message': undefined })
  t.ok(answer.equals(body))
  const refused = await bareCall(session, '/other', Buffer.alloc(0))
  t.match(refused.headers, { 'grpc-status': '5', 'grpc-message': '100%25 "gr%C3%B6%C3%9Fer"' })
})

t.test('a message above the limit is refused in the words of gRPC', async t => {
  const server = await listen(t)
  const session = connect(t, `http://${server.address}`)
  const prefix = framed(Buffer.alloc(0))
  prefix.writeUInt32BE(2 * 1024 * 1024 + 1, 1)
  const { headers } = await bareCall(session, '/echo', prefix)
  t.match(headers, {
    'grpc-status': '8',
    'grpc-message': 'grpc: received message larger than max (2097153 vs. 2097152)',
  })
})

t.test('a client is told how many calls it may have under way', async t => {
  const server = await listen(t)
  const session = connect(t, `http://${server.address}`)
  await once(session, 'remoteSettings')
  t.equal(session.remoteSettings.maxConcurrentStreams, 1000)
  t.equal(session.remoteSettings.maxHeaderListSize, 64 * 1024)
})

t.test('a client has its time to take the first message, however long the server runs', async t => {
  const clock = new FakeClock(10 * untakenMaxMs)
  const answer = Buffer.alloc(4 * 1024 * 1024, 7)
  let call: GrpcCall | undefined
  const server = await listen(t, {
    clock,
    handle(begun) {
      call = begun
      begun.read({ message: () => void begun.send(answer), ended: () => begun.finish() })
    },
  })
  const session = connect(t, `http://${server.address}`)
  const stream = session.request({
    ':method': 'POST',
    ':path': '/large',
    'content-type': 'application/grpc',
  })
  stream.pause()
  stream.end(framed(Buffer.from('x')))
  await once(stream, 'response')
  t.ok((call?.waitingBytes ?? 0) > 0, 'the answer waits for the client')
  await clock.advance(untakenMaxMs - 1000)
  let size = 0
  stream.on('data', (chunk: Buffer) => (size += chunk.length)).resume()
  const [trailers] = (await once(stream, 'trailers')) as [http2.IncomingHttpHeaders]
  t.equal(trailers['grpc-status'], '0')
  t.equal(size, framed(answer).length)
})

t.test('what is not gRPC is refused', async t => {
  const server = await listen(t)
  const session = connect(t, `http://${server.address}`)
  const { headers } = await bareCall(session, '/', Buffer.alloc(0), { 'content-type': 'text/html' })
  t.equal(headers[':status'], 415)
})

t.test('a connection that pings too often ends as etcd ends it', async t => {
  const server = await listen(t)
  const session = connect(t, `http://${server.address}`)
  await bareCall(session, '/echo', framed(Buffer.from('x')))
  const goaway = once(session, 'goaway') as Promise<[number, number, Buffer]>
  for (let i = 0; i < 5; i++) session.ping(() => undefined)
  const [code, , data] = await goaway
  t.equal(code, http2.constants.NGHTTP2_ENHANCE_YOUR_CALM)
  t.equal(data.toString(), 'too_many_pings')
})

t.test('a client may ping as often as it gets a part of a large message', async t => {
  const message = Buffer.alloc(8 * 1024 ** 2)
  const server = await GrpcServer.listen({
    listen: '127.0.0.1:0',
    clock: systemClock,
    handle: call =>
      call.read({ message: () => void call.send(message), ended: () => call.finish() }),
  })
  t.teardown(() => server.close())
  const session = connect(t, `http://${server.address}`)
  session.on('goaway', (_code, _last, reason) => t.fail(`the connection ends: ${reason}`))
  const stream = session.request({
    ':method': 'POST',
    ':path': '/large',
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  stream.end(framed(Buffer.from('x')))
  let bytes = 0
  let pings = 0
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    // Far more than the client's window: the server has sent since the ping before.
    if (bytes < (pings + 1) * 512 * 1024) return
    pings++
    session.ping(() => undefined)
  })
  await once(stream, 'close')
  t.equal(bytes, message.length + 5)
  t.ok(pings > 10)
})

t.test('pings count when they come early and nothing was sent', async t => {
  const patient = new PingStrikes()
  for (let i = 0; i < 20; i++) t.notOk(patient.pinged(i * 5000))
  const busy = new PingStrikes()
  for (let i = 0; i < 20; i++) {
    busy.sent()
    t.notOk(busy.pinged(i))
  }
  const hasty = new PingStrikes()
  t.strictSame(
    [0, 1, 2, 3].map(ms => hasty.pinged(ms)),
    [false, false, false, true],
  )
})

t.test(
  'over TLS a client needs a certificate of the authority, and is known by its name',
  async t => {
    const names: (string | undefined)[] = []
    const server = await listen(t, {
      tls: { cert: pem('server.pem'), key: pem('server.key'), ca: pem('ca.pem') },
      handle(call) {
        names.push(call.certificateName)
        echo(call)
      },
    })
    const url = `https://${server.address}`
    const known = { ca: pem('ca.pem'), cert: pem('client.pem'), key: pem('client.key') }
    const session = connect(t, url, known)
    t.match((await bareCall(session, '/echo', framed(Buffer.from('x')))).trailers, {
      'grpc-status': '0',
    })
    t.equal(names.length, 1)
    t.ok(names[0])
    const falseOne = { cert: pem('front-proxy.pem'), key: pem('front-proxy.key') }
    for (const own of [{}, falseOne]) {
      const stranger = connect(t, url, { ca: pem('ca.pem'), ...own })
      await t.rejects(bareCall(stranger, '/echo', framed(Buffer.from('x'))))
    }
    t.equal(names.length, 1)
  },
)

t.test('a server that drains finishes what is under way and takes nothing more', async t => {
  const server = await listen(t)
  const session = connect(t, `http://${server.address}`)
  const stream = session.request({
    ':method': 'POST',
    ':path': '/echo',
    'content-type': 'application/grpc',
  })
  stream.write(framed(Buffer.from('one')))
  await once(stream, 'data')
  const goaway = once(session, 'goaway')
  server.drain()
  await goaway
  t.equal(server.calls, 1)
  stream.end(framed(Buffer.from('two')))
  const [answer] = (await once(stream, 'data')) as [Buffer]
  t.equal(answer.subarray(5).toString(), 'two')
  stream.resume()
  await once(stream, 'close')
  t.equal(server.calls, 0)
})

t.test('of a connection that has ended nothing stays', async t => {
  let last: WeakRef<GrpcCall> | undefined
  const server = await listen(t, {
    handle(call) {
      last = new WeakRef(call)
      echo(call)
    },
  })
  const session = connect(t, `http://${server.address}`)
  await bareCall(session, '/echo', framed(Buffer.from('a')))
  session.close()
  await once(session, 'close')
  t.ok(await isCollected(last!))
})

t.test('connections that come when only the kept files are left are closed', async t => {
  let said = 0
  const logger = { ...silentLogger, error: () => void said++ }
  const clock = new FakeClock()
  const openFiles = new OpenFiles({ max: 0, callers: 'clients', clock, logger })
  const tls = { key: pem('server.key'), cert: pem('server.pem') }
  for (const options of [{ openFiles }, { openFiles, tls }]) {
    const server = await listen(t, options)
    const scheme = options.tls === undefined ? 'http' : 'https'
    const session = connect(t, `${scheme}://${server.address}`, { rejectUnauthorized: false })
    await new Promise<void>(resolve => session.once('close', () => resolve()))
    t.equal(server.calls, 0)
  }
  t.equal(said, 1, 'the log has one line')
})
