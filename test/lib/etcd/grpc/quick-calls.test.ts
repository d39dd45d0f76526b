import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import * as http2 from 'node:http2'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { createRandom, randomInt } from '../../../../lib/base/random.ts'
import { GrpcClient, type GrpcClientOptions } from '../../../../lib/etcd/grpc/client.ts'
import { QuickCalls } from '../../../../lib/etcd/grpc/quick-calls.ts'
import { frameType } from '../../../../lib/wire/http2/frames.ts'
import { put, refuses, under } from '../../../contract/builders.ts'
import { frame, headerBlock } from '../../../support/attacks/raw-http2.ts'
import { framed } from '../../../support/etcd/bare-grpc.ts'
import { startEtcd } from '../../../support/etcd/etcd-cluster.ts'
import { findEtcd } from '../../../support/etcd/real-etcd.ts'
import { patient } from '../../../support/patience.ts'
import { startTcpProxy } from '../../../support/http/tcp-proxy.ts'

const etcd = await findEtcd('3.5')
const { skip } = etcd

type Scope = { teardown: (task: () => unknown) => void }

function clientOf(t: Scope, options: GrpcClientOptions): GrpcClient {
  const client = new GrpcClient(options)
  t.teardown(() => client.close())
  return client
}

const question = { range: under('a'), countOnly: true }

async function listen(t: Scope, server: Server | http2.Http2Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

/** An etcd that counts who asks, and answers as it is told. */
async function startFakeEtcd(
  t: Scope,
  answer: (stream: http2.ServerHttp2Stream, isQuick: boolean) => void,
  server: http2.Http2Server | http2.Http2SecureServer = http2.createServer(),
): Promise<{ readonly port: number; readonly askedQuickly: () => number }> {
  let quick = 0
  const sessions = new Set<http2.Http2Session>()
  server.on('session', session => sessions.add(session))
  server.on('stream', (stream, headers) => {
    stream.on('error', () => undefined)
    const isQuick = headers['user-agent'] === 'watchglass'
    if (isQuick) quick++
    answer(stream, isQuick)
  })
  const port = await listen(t, server)
  t.teardown(() => sessions.forEach(session => session.destroy()))
  return { port, askedQuickly: () => quick }
}

/** A range that has counted so many: a header with a revision, and the count. */
function counted(count: number): Buffer {
  return framed(Buffer.of(0x0a, 0x02, 0x18, 0x05, 0x20, count))
}

function answerWith(stream: http2.ServerHttp2Stream, body: Buffer, status = '0'): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
  stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': status }))
  stream.end(body)
}

/** Asks until questions go by the quick way. */
async function untilQuick(client: GrpcClient, askedQuickly: () => number): Promise<void> {
  while (askedQuickly() === 0) await client.range(question)
}

t.test('short questions have the answers of whole reads', { skip }, async t => {
  const { endpoints } = await startEtcd(t, etcd)
  const proxy = await startTcpProxy(t, endpoints[0]!)
  const client = clientOf(t, { endpoints: [proxy.endpoint] })
  const random = createRandom(7)
  for (let i = 0; i < 60; i++) {
    await put(client, `a${randomInt(random, 0, 20)}`, 'x'.repeat(randomInt(random, 0, 3000)))
    const range = under(`a${randomInt(random, 0, 3)}`)
    const options = { range, serializable: randomInt(random, 0, 1) === 1 }
    const whole = await client.range(options)
    const short = await client.range({ ...options, countOnly: true })
    t.strictSame(short, { ...whole, entries: [], more: false })
    const old = { ...options, revision: whole.header.revision }
    t.equal((await client.range({ ...old, countOnly: true })).count, whole.count)
  }
  t.equal(proxy.connectionCount, 2, 'channel and quick connection')
  const many = await Promise.all(Array.from({ length: 200 }, () => client.range(question)))
  t.equal(new Set(many.map(({ count }) => count)).size, 1)
  proxy.cut()
  t.equal((await client.range(question)).count, many[0]!.count, 'a lost connection is no failure')
})

t.test('a failure has the words that a channel gives it', { skip }, async t => {
  const { endpoints } = await startEtcd(t, etcd)
  const client = clientOf(t, { endpoints })
  await put(client, 'a', '1')
  for (let i = 0; i < 5; i++) {
    await client.range(question)
    const future = { ...question, revision: 1_000_000 as never }
    const failure = await client.range(future).catch((error: unknown) => error)
    t.match(failure, { reason: 'futureRevision' })
  }
})

t.test('it is used over TLS, with the certificate of a client', async t => {
  const pem = (name: string): Buffer => readFileSync(`test/support/certs/${name}`)
  const ca = pem('ca.pem')
  const server = http2.createSecureServer({
    ca,
    cert: pem('server.pem'),
    key: pem('server.key'),
    requestCert: true,
    rejectUnauthorized: true,
  })
  const { port, askedQuickly } = await startFakeEtcd(
    t,
    stream => answerWith(stream, counted(3)),
    server,
  )
  const tls = { ca, cert: pem('client.pem'), key: pem('client.key') }
  const client = clientOf(t, { endpoints: [`https://127.0.0.1:${port}`], tls })
  await untilQuick(client, askedQuickly)
  t.equal((await client.range(question)).count, 3)
  client.renew(tls)
  const before = askedQuickly()
  while (askedQuickly() === before) t.equal((await client.range(question)).count, 3)
})

t.test('what is not an ordinary answer is asked again on a channel', async t => {
  const odd: Readonly<Record<string, (stream: http2.ServerHttp2Stream) => void>> = {
    'a failure': stream =>
      stream.respond({ ':status': 200, 'grpc-status': '8' }, { endStream: true }),
    'another status': stream => answerWith(stream, counted(1), '2'),
    'no status': stream => {
      stream.respond({ ':status': 200 })
      stream.end(counted(1))
    },
    'not 200': stream => stream.respond({ ':status': 503 }, { endStream: true }),
    reset: stream => stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR),
    'no message': stream => answerWith(stream, Buffer.alloc(0)),
    'half a message': stream => answerWith(stream, counted(1).subarray(0, 8)),
    'two messages': stream => answerWith(stream, Buffer.concat([counted(1), counted(1)])),
    compressed: stream => answerWith(stream, framed(Buffer.of(0x20, 0x01), 1)),
    'too long': stream => answerWith(stream, framed(Buffer.alloc(200 * 1024))),
    'headers of many frames': stream => {
      stream.respond({ ':status': 200, long: 'x'.repeat(40_000) })
      stream.end()
    },
    'an end of the connection': stream => stream.session?.destroy(),
    'a connection that is told to end': stream => {
      stream.session?.goaway(0, (stream.id ?? 1) - 1)
    },
  }
  for (const [name, answer] of Object.entries(odd)) {
    let isOdd = false
    const { port, askedQuickly } = await startFakeEtcd(t, (stream, isQuick) => {
      if (isQuick && isOdd) answer(stream)
      else answerWith(stream, counted(7))
    })
    const client = clientOf(t, { endpoints: [`http://127.0.0.1:${port}`] })
    await untilQuick(client, askedQuickly)
    isOdd = true
    const before = askedQuickly()
    t.equal((await client.range(question)).count, 7, name)
    t.equal(askedQuickly(), before + 1, 'it was asked quickly first')
    isOdd = false
    while (askedQuickly() === before + 1) t.equal((await client.range(question)).count, 7, name)
  }
})

t.test('a connection on which nothing comes in time is made anew', async t => {
  let isSilent = false
  const { port, askedQuickly } = await startFakeEtcd(t, (stream, isQuick) => {
    if (!isQuick || !isSilent) answerWith(stream, counted(1))
  })
  const client = clientOf(t, {
    endpoints: [`http://127.0.0.1:${port}`],
    // The second attempt has as long, on a machine however slow.
    timeouts: { answerMs: patient(300) },
  })
  await untilQuick(client, askedQuickly)
  isSilent = true
  const before = askedQuickly()
  t.equal((await client.range(question)).count, 1, 'the second attempt is on a channel')
  isSilent = false
  while (askedQuickly() === before + 1) await client.range(question)
})

t.test('a caller who gives up is not kept waiting, and nobody else is hindered', async t => {
  const waiting: http2.ServerHttp2Stream[] = []
  let isSilent = false
  const { port, askedQuickly } = await startFakeEtcd(t, (stream, isQuick) => {
    if (isQuick && isSilent) waiting.push(stream)
    else answerWith(stream, counted(1))
  })
  const client = clientOf(t, { endpoints: [`http://127.0.0.1:${port}`] })
  await untilQuick(client, askedQuickly)
  isSilent = true
  const abort = new AbortController()
  const given = client.range(question, abort.signal)
  const kept = client.range(question)
  while (waiting.length < 2) await new Promise(resolve => setImmediate(resolve))
  const [first, second] = waiting as [http2.ServerHttp2Stream, http2.ServerHttp2Stream]
  const reset = once(first, 'close')
  abort.abort()
  await refuses(t, 'closed', given)
  await reset
  t.equal(first.rstCode, http2.constants.NGHTTP2_CANCEL)
  answerWith(second, counted(2))
  t.equal((await kept).count, 2)
  await refuses(t, 'closed', client.range(question, abort.signal))
  const last = client.range(question)
  while (waiting.length < 3) await new Promise(resolve => setImmediate(resolve))
  await Promise.all([refuses(t, 'closed', last), client.close()])
})

t.test('a server is told what was read, and its pings are answered', async t => {
  let isPinged = false
  const { port, askedQuickly } = await startFakeEtcd(t, (stream, isQuick) => {
    const { session } = stream
    if (isQuick && !isPinged) {
      isPinged = true
      session?.ping((error: Error | null) => t.equal(error, null))
    }
    // Padding fills the window of a connection in a few answers.
    answerWith(stream, framed(Buffer.concat([counted(4).subarray(5), unknownField(30_000)])))
  })
  const client = clientOf(t, { endpoints: [`http://127.0.0.1:${port}`] })
  await untilQuick(client, askedQuickly)
  for (let i = 0; i < 20; i++) t.equal((await client.range(question)).count, 4)
  t.equal(askedQuickly() >= 20, true)
  t.ok(isPinged)
})

/** Field 15, which an answer does not have. */
function unknownField(bytes: number): Buffer {
  const length = Buffer.of((bytes & 0x7f) | 0x80, ((bytes >> 7) & 0x7f) | 0x80, bytes >> 14)
  return Buffer.concat([Buffer.of(0x7a), length, Buffer.alloc(bytes)])
}

t.test('no bytes of a server are too odd: each call ends', async t => {
  const sockets = new Set<Socket>()
  let answer: Buffer = nothing
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.write(frame(frameType.settings, 0, 0, nothing))
    socket.on('data', (bytes: Buffer) => {
      if (bytes.includes('watchglass')) socket.end(answer)
    })
  })
  const port = await listen(t, server)
  t.teardown(() => sockets.forEach(socket => socket.destroy()))
  const member = { url: 'test', address: `127.0.0.1:${port}`, tls: undefined }
  const common = { path: '/a', message: nothing, token: undefined, signal: undefined }
  const call = { ...common, needsLeader: true, timeoutMs: 60_000 }
  const oddFrame = fc.record({
    type: fc.nat(10),
    flags: fc.constantFrom(0, 1, 4, 5, 8, 13, 32, 37),
    stream: fc.constantFrom(0, 1, 1, 1, 2, 3),
    payload: fc.oneof(
      fc.uint8Array({ maxLength: 40 }).map(array => Buffer.from(array)),
      fc.constantFrom(counted(1), headerBlock([['grpc-status', '0']]), Buffer.of(0x88)),
    ),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(oddFrame, { maxLength: 6 }), async frames => {
      answer = Buffer.concat(frames.map(odd => frame(odd.type, odd.flags, odd.stream, odd.payload)))
      const calls = new QuickCalls(member)
      let answered: Promise<Buffer | undefined> | undefined
      while ((answered = calls.call(call)) === undefined) {
        await new Promise(resolve => setImmediate(resolve))
      }
      const got = await answered
      calls.close()
      return got === undefined || Buffer.concat(frames.map(({ payload }) => payload)).includes(got)
    }),
    { numRuns: 60 },
  )
  t.ok(sockets.size >= 60)
})

const nothing = Buffer.alloc(0)
