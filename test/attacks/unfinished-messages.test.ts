/** Bounds, in bytes and in time, of messages that a client of etcd's API begins and does not end:
 *  requests, calls that are answered, responses that nobody takes, connections. */

import { once } from 'node:events'
import * as http2 from 'node:http2'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { allKeys } from '../../lib/base/keys.ts'
import { CallRouter } from '../../lib/etcd-server/call-router.ts'
import { serveCalls } from '../../lib/etcd-server/serve-calls.ts'
import type { GrpcCall } from '../../lib/etcd-server/listen/grpc-call.ts'
import { GrpcServer } from '../../lib/etcd-server/listen/grpc-server.ts'
import { Holdings } from '../../lib/etcd-server/listen/holdings.ts'
import { EtcdSessions } from '../../lib/etcd-server/pass/etcd-sessions.ts'
import { startEtcdServer } from '../../lib/etcd-server/server.ts'
import { systemClock, systemRandom } from '../../lib/cache/ops/system.ts'
import { attack, startEtcdServers } from '../support/attacks/etcd-servers.ts'
import { framed } from '../support/etcd/bare-grpc.ts'
import { startTestReplica } from '../support/etcd/test-replica.ts'
import { createTestEngine } from '../support/etcd/test-engine.ts'
import { FakeClock } from '../support/fake-clock.ts'

const mebibyte = 1024 ** 2

/** A message of which the last byte is missing. */
function unfinished(bytes: number): Buffer {
  const message = framed(Buffer.alloc(bytes))
  message.writeUInt32BE(bytes + 1, 1)
  return message
}

function connect(t: Test, address: string): http2.ClientHttp2Session {
  const session = http2.connect(`http://${address}`)
  session.on('error', () => undefined)
  t.teardown(() => session.destroy())
  return session
}

interface Begun {
  readonly stream: http2.ClientHttp2Stream
  readonly status: () => unknown
  readonly message: () => unknown
  readonly closed: Promise<unknown>
}

/** A call that its client does not end; what becomes of it. */
function begin(session: http2.ClientHttp2Session, path: string, body?: Buffer): Begun {
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  stream.on('error', () => undefined)
  let status: unknown
  let message: unknown
  const note = (headers: http2.IncomingHttpHeaders): void => {
    status = headers['grpc-status'] ?? status
    message = headers['grpc-message'] ?? message
  }
  stream.on('response', note)
  stream.on('trailers', note)
  if (body !== undefined) stream.write(body)
  return {
    stream,
    status: () => status,
    message: () => message,
    // Node's client never comes to an end if its session is destroyed while it tells of that.
    closed: new Promise(resolve => stream.once('close', () => setImmediate(resolve))),
  }
}

async function listen(
  t: Test,
  clock: FakeClock,
  handle: (call: GrpcCall) => void,
): Promise<GrpcServer> {
  const server = await GrpcServer.listen({ listen: '127.0.0.1:0', clock, handle })
  t.teardown(() => server.close())
  return server
}

/** Until there are so many calls. */
async function hasCalls(server: GrpcServer, count: number): Promise<void> {
  while (server.calls !== count) await new Promise(resolve => setTimeout(resolve, 5))
}

const replicas = await startEtcdServers(t)
for (const where of ['engine', 'replica'] as const) {
  t.test(`messages without an end, at the ${where}`, async t => {
    const before = process.memoryUsage().arrayBuffers
    for (const path of ['KV/Range', 'KV/Put', 'Watch/Watch', 'Lease/LeaseKeepAlive']) {
      const attacker = attack(t, {
        address: replicas[where],
        isSecure: where === 'replica',
        connections: 1,
        streams: 400,
        body: { type: 'unfinished', path: `/etcdserverpb.${path}`, bytes: 900_000 },
        reads: true,
      })
      // Those that are refused end, though the client does not end them.
      const { ended } = await attacker.until(({ ended: one }) => (one['8'] ?? 0) > 200)
      const held = process.memoryUsage().arrayBuffers - before
      t.comment(`${path}: ${Math.round(held / mebibyte)} MiB, ${JSON.stringify(ended)}`)
      t.ok(held < 128 * mebibyte, path)
      await attacker.end()
    }
  })
}

t.test('a message has to come to its end', async t => {
  const clock = new FakeClock()
  const server = await listen(t, clock, call =>
    call.read({ message: () => undefined, ended: () => call.finish() }),
  )
  const { status, stream, closed } = begin(connect(t, server.address), '/x', unfinished(10))
  stream.resume()
  await hasCalls(server, 1)
  await new Promise(resolve => setTimeout(resolve, 50))
  await clock.advance(29_000)
  t.equal(server.calls, 1)
  await clock.advance(2000)
  await closed
  t.equal(status(), '14')
  await hasCalls(server, 0)
})

t.test('so does one that passes to etcd', async t => {
  // An etcd that answers nothing, and tells of the calls that have come.
  const etcd = http2.createServer()
  const bothCame = new Promise<void>(resolve => {
    let calls = 0
    etcd.on('stream', stream => {
      stream.on('error', () => undefined)
      if (++calls === 2) resolve()
    })
  })
  etcd.listen(0, '127.0.0.1')
  await once(etcd, 'listening')
  t.teardown(() => etcd.close())
  const { port } = etcd.address() as AddressInfo
  const sessions = new EtcdSessions({ endpoints: [`http://127.0.0.1:${port}`], clock: systemClock })
  t.teardown(() => sessions.close())
  const clock = new FakeClock()
  const options = {
    sessions,
    clock,
    random: systemRandom,
    metrics: { call: () => undefined, addWatchers: () => undefined },
    onFault: (error: unknown): void => void t.fail(String(error)),
  }
  const replica = await serveCalls({ ...options, listen: '127.0.0.1:0' }, new CallRouter(options))
  t.teardown(() => replica.close(0))
  const session = connect(t, replica.address)
  const late = begin(session, '/etcdserverpb.KV/Put', unfinished(10))
  const open = begin(session, '/etcdserverpb.Lease/LeaseKeepAlive')
  late.stream.resume()
  open.stream.resume()
  await bothCame
  await clock.advance(31_000)
  await late.closed
  t.equal(late.status(), '14')
  t.notOk(open.stream.closed, 'a stream may wait for what it is told to do')
})

for (const where of ['engine', 'replica'] as const) {
  t.test(`a call that ends before its message does ends at once, at the ${where}`, async t => {
    const { engine } = createTestEngine(t)
    const etcd = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
    t.teardown(() => etcd.close())
    const replica = where === 'replica' && (await startTestReplica(t, [`http://${etcd.address}`]))
    if (replica !== false) await replica.ready()
    const session = connect(t, replica === false ? etcd.address : replica.address)
    // As etcd says it.
    const expected = [
      ['KV/Range', unfinished(5), '2', 'unexpected EOF'],
      ['KV/Put', Buffer.from([0, 0]), '2', 'unexpected EOF'],
      ['KV/Txn', undefined, '2', 'EOF'],
      ['Watch/Watch', unfinished(5), '13', 'unexpected EOF'],
      ['Lease/LeaseKeepAlive', unfinished(5), '13', 'unexpected EOF'],
    ] as const
    for (const [path, body, code, details] of expected) {
      const { stream, closed, status, message } = begin(session, `/etcdserverpb.${path}`, body)
      stream.resume()
      stream.end()
      await closed
      t.strictSame([path, status(), message()], [path, code, details])
    }
  })
}

t.test('of a call of one message only the first is done', async t => {
  const { engine, client } = createTestEngine(t)
  const etcd = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  t.teardown(() => etcd.close())
  const put = (value: string): Buffer => framed(Buffer.from(`\n\u0001a\u0012\u0001${value}`))
  const two = Buffer.concat([put('1'), put('2')])
  const { stream, closed, status } = begin(connect(t, etcd.address), '/etcdserverpb.KV/Put', two)
  stream.resume()
  stream.end()
  await closed
  t.equal(status(), '0')
  const { entries } = await client.range({ range: allKeys })
  t.strictSame(
    entries.map(({ version }) => version),
    [1],
  )
})

t.test('an answered call ends, also if its client leaves it open', async t => {
  const clock = new FakeClock()
  const server = await listen(t, clock, call => {
    call.read({ message: () => undefined, ended: () => undefined })
    call.send(Buffer.from('x'))
    call.finish()
  })
  const { status, stream, closed } = begin(connect(t, server.address), '/x')
  stream.resume()
  await once(stream, 'trailers')
  t.equal(status(), '0')
  t.equal(server.calls, 1, 'there is time to leave')
  await clock.advance(8000)
  await closed
  t.equal(stream.rstCode, 0)
  await hasCalls(server, 0)
})

t.test('a response has to be taken some time, however little is taken at once', async t => {
  const clock = new FakeClock()
  const server = await listen(t, clock, call =>
    call.read({
      message() {
        const piece = Buffer.alloc(16 * 1024)
        const writeOn = (): void => {
          while (!call.isOver && call.write(piece));
        }
        call.onDrain(writeOn)
        writeOn()
      },
      ended: () => undefined,
      isSingle: true,
    }),
  )
  const { stream, closed } = begin(connect(t, server.address), '/x', framed(Buffer.alloc(0)))
  stream.end()
  await once(stream, 'response')
  const taken = async (bytes: number): Promise<void> => {
    for (let left = bytes; left > 0;) {
      const chunk = stream.read() as Buffer | null
      left -= chunk?.length ?? 0
      if (chunk === null) await new Promise(resolve => setTimeout(resolve, 1))
    }
  }
  for (let i = 0; i < 19; i++) {
    await taken(200_000)
    await new Promise(resolve => setTimeout(resolve, 10))
    await clock.advance(30_000)
  }
  t.notOk(stream.closed)
  await taken(200_000)
  await clock.advance(32_000)
  stream.resume()
  await closed
  t.equal(stream.rstCode, http2.constants.NGHTTP2_ENHANCE_YOUR_CALM)
})

t.test('a client that vanishes within a message ends nothing else', async t => {
  const server = await GrpcServer.listen({
    listen: '127.0.0.1:0',
    clock: systemClock,
    handle: call => call.read({ message: () => undefined, ended: () => call.finish() }),
  })
  t.teardown(() => server.close())
  const session = connect(t, server.address)
  for (let i = 0; i < 100; i++) begin(session, '/x', unfinished(60_000)).stream.resume()
  await hasCalls(server, 100)
  session.destroy()
  await hasCalls(server, 0)
  const other = begin(connect(t, server.address), '/x')
  other.stream.resume()
  other.stream.end()
  await other.closed
  t.equal(other.status(), '0')
})

t.test('connections are bounded for a name', async t => {
  const holdings = new Holdings()
  const open = (name: string): boolean => holdings.share('connections', name).take(1)
  for (let i = 0; i < 2000; i++) if (!open('mallory')) t.fail(`connection ${i}`)
  t.notOk(open('mallory'))
  t.ok(open('bob'))
})
