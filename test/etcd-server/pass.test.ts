/** Passed calls: headers, messages and trailers as they are, in both directions. */

import { EventEmitter, once } from 'node:events'
import * as http2 from 'node:http2'
import { type AddressInfo, connect, createServer } from 'node:net'
import t, { type Test } from 'tap'
import { CallRouter } from '../../lib/etcd-server/call-router.ts'
import { type CallServer, serveCalls } from '../../lib/etcd-server/serve-calls.ts'
import { callEtcd } from '../../lib/etcd-server/pass/etcd-call.ts'
import { EtcdSessions } from '../../lib/etcd-server/pass/etcd-sessions.ts'
import { systemClock, systemRandom } from '../../lib/cache/ops/system.ts'
import { frame, frameTypes, request, settings } from '../support/attacks/raw-http2.ts'
import { bareCall, framed } from '../support/etcd/bare-grpc.ts'

type OnStream = (stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => void

interface Started {
  readonly session: http2.ClientHttp2Session
  readonly counted: string[][]
  readonly etcd: http2.Http2Server
  readonly replica: CallServer
}

/** Something that speaks HTTP/2, and a replica in front of it. */
async function start(
  t: Test,
  onStream: OnStream,
  before: readonly string[] = [],
): Promise<Started> {
  const etcd = http2.createServer()
  etcd.on('stream', (stream, headers) => {
    stream.on('error', () => undefined)
    onStream(stream, headers)
  })
  const sessions = new Set<http2.ServerHttp2Session>()
  etcd.on('session', session => sessions.add(session))
  etcd.listen(0, '127.0.0.1')
  await once(etcd, 'listening')
  const { port } = etcd.address() as AddressInfo
  const passing = new EtcdSessions({
    endpoints: [...before, `http://127.0.0.1:${port}`],
    clock: systemClock,
  })
  const counted: string[][] = []
  const options = {
    sessions: passing,
    clock: systemClock,
    random: systemRandom,
    metrics: {
      call: (...labels: string[]): void => void counted.push(labels),
      addWatchers: () => {},
    },
    onFault: (error: unknown): void => {
      throw error
    },
  }
  const replica: CallServer = await serveCalls(
    { ...options, listen: '127.0.0.1:0' },
    new CallRouter(options),
  )
  const session = http2.connect(`http://${replica.address}`)
  session.on('error', () => undefined)
  t.teardown(async () => {
    session.destroy()
    await replica.close(0)
    passing.close()
    for (const one of sessions) one.destroy()
    etcd.close()
  })
  return { session, counted, etcd, replica }
}

t.test('metadata, messages and trailers pass as they are', async t => {
  let asked: http2.IncomingHttpHeaders = {}
  const { session, counted } = await start(t, (stream, headers) => {
    asked = headers
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'initial-bin': 'AAEC' },
      { waitForTrailers: true },
    )
    stream.on('wantTrailers', () => {
      stream.sendTrailers({ 'grpc-status': '3', 'grpc-message': 'a%20b', 'last-bin': 'Aw' })
    })
    stream.pipe(stream)
  })
  const body = Buffer.concat([framed(Buffer.from('one'), 1), framed(Buffer.alloc(300_000, 7))])
  const answer = await bareCall(session, '/some.Service/Method', body, {
    token: 'secret',
    hasleader: 'true',
    'grpc-timeout': '5S',
    'own-bin': ['AAEC', 'Aw'],
  })
  t.match(asked, {
    ':path': '/some.Service/Method',
    'content-type': 'application/grpc',
    te: 'trailers',
    token: 'secret',
    hasleader: 'true',
    'grpc-timeout': '5S',
    'own-bin': 'AAEC, Aw',
  })
  t.ok(answer.body.equals(body))
  t.match(answer.headers, { ':status': 200, 'initial-bin': 'AAEC' })
  t.match(answer.trailers, {
    'grpc-status': '3',
    'grpc-message': 'a%20b',
    'last-bin': 'Aw',
    'watchglass-source': 'etcd',
  })
  t.strictSame(counted, [['other', 'etcd', '3']])
})

t.test('an answer without messages passes as it is', async t => {
  const { session } = await start(t, stream => {
    stream.respond(
      { ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' },
      { endStream: true },
    )
  })
  const { headers, body } = await bareCall(session, '/x.Y/Z', framed(Buffer.from('x')))
  t.match(headers, { 'grpc-status': '12', 'watchglass-source': 'etcd' })
  t.equal(body.length, 0)
})

t.test('what goes wrong on the way is said as unavailable', async t => {
  const { session } = await start(t, (stream, headers) => {
    if (headers[':path'] === '/broken') stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR)
    else stream.respond({ ':status': 502 }, { endStream: true })
  })
  for (const path of ['/broken', '/gateway']) {
    const { headers } = await bareCall(session, path, framed(Buffer.from('x')))
    t.match(headers, { 'grpc-status': '14', 'grpc-message': /^etcd has not answered: / }, path)
  }
})

t.test('a client that leaves ends its call at etcd', async t => {
  const arrivals = new EventEmitter()
  const { session, counted } = await start(t, stream => arrivals.emit('stream', stream))
  const arrival = once(arrivals, 'stream') as Promise<[http2.ServerHttp2Stream]>
  const stream = session.request({
    ':method': 'POST',
    ':path': '/etcdserverpb.Watch/Watch',
    'content-type': 'application/grpc',
  })
  stream.on('error', () => undefined)
  stream.write(framed(Buffer.from('x')))
  const [there] = await arrival
  const ended = once(there, 'close')
  stream.close(http2.constants.NGHTTP2_CANCEL)
  await ended
  t.equal(there.rstCode, http2.constants.NGHTTP2_CANCEL)
  t.strictSame(counted, [['Watch', 'etcd', 'left']])
})

t.test('the next endpoint is asked when one cannot be reached', async t => {
  const answer: OnStream = stream => {
    stream.respond({ ':status': 200, 'grpc-status': '0' }, { endStream: true })
  }
  const { session } = await start(t, answer, ['http://127.0.0.1:1'])
  const { headers } = await bareCall(session, '/x', framed(Buffer.from('x')))
  t.equal(headers['grpc-status'], '0')
})

t.test('a client is told that no endpoint can be reached', async t => {
  const { session, etcd } = await start(t, () => undefined)
  etcd.close()
  await once(etcd, 'close')
  const { headers } = await bareCall(session, '/x', framed(Buffer.from('x')))
  t.match(headers, {
    'grpc-status': '14',
    'grpc-message': /^etcd http:\/\/127\.0\.0\.1:\d+ cannot be reached: .*ECONNREFUSED/,
  })
})

t.test('a replica that closes waits for what is under way, and takes nothing more', async t => {
  const arrivals = new EventEmitter()
  const { session, replica } = await start(t, stream => arrivals.emit('stream', stream))
  const arrival = once(arrivals, 'stream') as Promise<[http2.ServerHttp2Stream]>
  const answer = bareCall(session, '/etcdserverpb.KV/Put', framed(Buffer.from('x')))
  const [there] = await arrival
  const { address } = replica
  const closed = replica.close(60_000)
  await once(session, 'goaway')
  there.respond({ ':status': 200, 'grpc-status': '0' }, { endStream: true })
  t.match(await answer, { headers: { 'grpc-status': '0' } })
  await closed
  const [refusal] = await once(http2.connect(`http://${address}`), 'error')
  t.match(refusal, { code: 'ECONNREFUSED' })
})

t.test('headers of a connection stay on it, in whatever form a client has them', async t => {
  const asked: http2.IncomingHttpHeaders[] = []
  const { replica, session } = await start(t, (stream, headers) => {
    stream.respond({ ':status': 200, 'grpc-status': '0' }, { endStream: true })
    asked.push(headers)
  })
  // For the first call there is no connection to etcd yet.
  for (let i = 0; i < 3; i++) {
    const socket = connect(Number(replica.address.split(':').at(-1)), '127.0.0.1')
    t.teardown(() => socket.destroy())
    socket.on('error', () => undefined)
    socket.resume()
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    socket.write(settings())
    const lines: [string, string][] = [
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', '/etcdserverpb.KV/Range'],
      [':authority', 'x'],
      ['content-type', 'application/grpc'],
      ['te', 'Trailers'],
      ['http2-settings', 'AAMAAABk'],
    ]
    socket.write(request(1, lines))
    while (asked.length <= i) await new Promise(resolve => setTimeout(resolve, 5))
  }
  for (const headers of asked) {
    t.equal(headers.te, 'trailers')
    t.equal(headers['http2-settings'], undefined)
  }
  const { headers } = await bareCall(session, '/x.Y/Z', framed(Buffer.from('x')))
  t.equal(headers['grpc-status'], '0', 'the replica answers on')
})

t.test('a connection to etcd that ends as soon as it is there is said as unavailable', async t => {
  const leaving = createServer(socket => {
    socket.on('error', () => undefined)
    socket.resume()
    socket.write(Buffer.concat([settings(), frame(frameTypes.goaway, 0, 0, Buffer.alloc(8))]))
  })
  leaving.listen(0, '127.0.0.1')
  await once(leaving, 'listening')
  t.teardown(() => leaving.close())
  const { port } = leaving.address() as AddressInfo
  const { session } = await start(t, () => undefined, [`http://127.0.0.1:${port}`])
  const { headers } = await bareCall(session, '/x.Y/Z', framed(Buffer.from('x')))
  t.match(headers, { 'grpc-status': '14' })
})

t.test('a status whose text is not escaped as it should be is read all the same', async t => {
  const { etcd } = await start(t, stream => {
    stream.respond(
      { ':status': 200, 'grpc-status': '9', 'grpc-message': '100% full' },
      { endStream: true },
    )
  })
  const { port } = etcd.address() as AddressInfo
  const sessions = new EtcdSessions({ endpoints: [`http://127.0.0.1:${port}`], clock: systemClock })
  t.teardown(() => sessions.close())
  await t.rejects(callEtcd(sessions, '/x.Y/Z', Buffer.alloc(0)), { message: /: 100% full$/ })
})
