import { getEventListeners, once } from 'node:events'
import { readFileSync } from 'node:fs'
import * as http2 from 'node:http2'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { CacheError, type ErrorCode } from '../../../lib/base/errors.ts'
import { createRandom, randomInt } from '../../../lib/base/random.ts'
import { GrpcClient, type GrpcClientOptions } from '../../../lib/etcd/grpc/client.ts'
import { Channel } from '../../../lib/etcd/grpc/channel.ts'
import { frameType } from '../../../lib/etcd/http2/frames.ts'
import { put, refuses, under } from '../../contract/builders.ts'
import { frame, headerBlock } from '../../support/attacks/raw-http2.ts'
import { framed } from '../../support/etcd/bare-grpc.ts'
import { startEtcd } from '../../support/etcd/etcd-cluster.ts'
import { findEtcd } from '../../support/etcd/real-etcd.ts'
import { patient } from '../../support/patience.ts'
import { startTcpProxy } from '../../support/http/tcp-proxy.ts'

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

/** An etcd that counts questions on connections after the first, which is that of reads, and
 *  answers as it is told. */
async function startFakeEtcd(
  t: Scope,
  answer: (stream: http2.ServerHttp2Stream, isQuick: boolean) => void,
  server: http2.Http2Server | http2.Http2SecureServer = http2.createServer(),
): Promise<{
  readonly port: number
  readonly askedQuickly: () => number
  readonly connections: () => number
}> {
  let quick = 0
  const sessions = new Set<http2.Http2Session>()
  server.on('session', session => sessions.add(session))
  server.on('stream', stream => {
    stream.on('error', () => undefined)
    const [first] = sessions
    const isQuick = stream.session !== first
    if (isQuick) quick++
    answer(stream, isQuick)
  })
  const port = await listen(t, server)
  t.teardown(() => sessions.forEach(session => session.destroy()))
  return { port, askedQuickly: () => quick, connections: () => sessions.size }
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
  t.equal(proxy.connectionCount, 2, 'of reads and of questions')
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

t.test('what is not an ordinary answer is a failure, or asked again', async t => {
  const again = undefined
  const odd: Readonly<
    Record<string, readonly [ErrorCode | undefined, (stream: http2.ServerHttp2Stream) => void]>
  > = {
    'a failure': [
      'overloaded',
      stream => stream.respond({ ':status': 200, 'grpc-status': '8' }, { endStream: true }),
    ],
    'another status': [again, stream => answerWith(stream, counted(1), '2')],
    'no status': [
      again,
      stream => {
        stream.respond({ ':status': 200 })
        stream.end(counted(1))
      },
    ],
    'not 200': [again, stream => stream.respond({ ':status': 503 }, { endStream: true })],
    'who goes there': ['unauthorized', stream => stream.respond({ ':status': 401 })],
    reset: [again, stream => stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR)],
    refused: [again, stream => stream.close(http2.constants.NGHTTP2_REFUSED_STREAM)],
    'no message': [again, stream => answerWith(stream, Buffer.alloc(0))],
    'half a message': [again, stream => answerWith(stream, counted(1).subarray(0, 8))],
    'two messages': [again, stream => answerWith(stream, Buffer.concat([counted(1), counted(1)]))],
    compressed: [again, stream => answerWith(stream, framed(Buffer.of(0x20, 0x01), 1))],
    'no message that can be read': [again, stream => answerWith(stream, framed(Buffer.alloc(9)))],
    'an end of the connection': [again, stream => stream.session?.destroy()],
    'a connection that is told to end, and answers what is under way': [
      again,
      stream => {
        stream.session?.goaway(0)
        answerWith(stream, counted(7))
      },
    ],
  }
  for (const [name, [code, answer]] of Object.entries(odd)) {
    let isOdd = false
    const { port, askedQuickly } = await startFakeEtcd(t, stream => {
      if (isOdd) answer(stream)
      else answerWith(stream, counted(7))
      isOdd = false
    })
    const client = clientOf(t, { endpoints: [`http://127.0.0.1:${port}`] })
    await untilQuick(client, askedQuickly)
    isOdd = true
    if (code === undefined) t.equal((await client.range(question)).count, 7, name)
    else await refuses(t, code, client.range(question))
    t.equal(isOdd, false)
    t.equal((await client.range(question)).count, 7, name)
  }
})

t.test('a change that a member has refused to begin is sent again, and no other is', async t => {
  for (const [code, isSent] of [
    [http2.constants.NGHTTP2_REFUSED_STREAM, true],
    [http2.constants.NGHTTP2_INTERNAL_ERROR, false],
  ] as const) {
    let asked = 0
    const { port } = await startFakeEtcd(t, stream => {
      if (++asked === 1) stream.close(code)
      else answerWith(stream, framed(Buffer.of(0x0a, 0x02, 0x18, 0x05)))
    })
    const client = clientOf(t, { endpoints: [`http://127.0.0.1:${port}`] })
    if (isSent) await client.compact(3 as never)
    else await refuses(t, 'source_failed', client.compact(3 as never))
    t.equal(asked, isSent ? 2 : 1)
  }
})

t.test('a member that takes one call at a time has a connection for each', async t => {
  const waiting: http2.ServerHttp2Stream[] = []
  const { port, connections } = await startFakeEtcd(
    t,
    stream => {
      waiting.push(stream)
      if (waiting.length < 3) return
      for (const one of waiting.splice(0)) answerWith(one, counted(1))
    },
    http2.createServer({ settings: { maxConcurrentStreams: 1 } }),
  )
  const client = clientOf(t, { endpoints: [`http://127.0.0.1:${port}`] })
  const read = { range: under('a'), limit: 3 }
  const first = client.range(read)
  while (waiting.length < 1) await new Promise(resolve => setImmediate(resolve))
  const second = client.range(read)
  while (waiting.length < 2) await new Promise(resolve => setImmediate(resolve))
  await Promise.all([first, second, client.range(read)])
  t.equal(connections(), 3)
})

t.test('a request that is longer than the window is sent as there is room', async t => {
  let received = 0
  const { port } = await startFakeEtcd(t, stream => {
    stream.on('data', (bytes: Buffer) => (received += bytes.length))
    stream.on('end', () => answerWith(stream, framed(Buffer.of(0x0a, 0x02, 0x18, 0x05))))
  })
  const client = clientOf(t, { endpoints: [`http://127.0.0.1:${port}`] })
  await Promise.all([
    put(client, 'a', 'x'.repeat(3_000_000)),
    put(client, 'b', 'y'.repeat(100_000)),
  ])
  t.ok(received > 3_100_000 && received < 3_101_000)
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
    answerWith(stream, framed(Buffer.concat([counted(4).subarray(5), unknownField(2_000_000)])))
  })
  const client = clientOf(t, { endpoints: [`http://127.0.0.1:${port}`] })
  await untilQuick(client, askedQuickly)
  for (let i = 0; i < 9; i++) t.equal((await client.range(question)).count, 4)
  t.ok(askedQuickly() >= 9)
  t.ok(isPinged)
})

/** Field 15, which an answer does not have. */
function unknownField(bytes: number): Buffer {
  const length = Buffer.of((bytes & 0x7f) | 0x80, ((bytes >> 7) & 0x7f) | 0x80, bytes >> 14)
  return Buffer.concat([Buffer.of(0x7a), length, Buffer.alloc(bytes)])
}

t.test(
  'a channel that was given up says that another may be asked, and a closed one not',
  async t => {
    const { port } = await startFakeEtcd(t, stream => answerWith(stream, counted(1)))
    const member = {
      url: 'test',
      address: `127.0.0.1:${port}`,
      tls: undefined,
      onConnected: () => {},
    }
    const channel = new Channel(member)
    const options = { token: undefined, needsLeader: false, timeoutMs: 60_000 }
    const call = (): Promise<Buffer> => channel.call('/a', nothing, options)
    const underWay = call()
    await channel.connect(60_000)
    channel.giveUp()
    t.same(await underWay, counted(1).subarray(5), 'a call under way is answered')
    t.ok(channel.isIdle)
    await refuses(t, 'source_failed', call())
    const { signal } = new AbortController()
    await refuses(t, 'source_failed', channel.call('/a', nothing, { ...options, signal }))
    t.strictSame(getEventListeners(signal, 'abort'), [])
    channel.close()
    await refuses(t, 'closed', call())
  },
)

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
  const member = {
    url: 'test',
    address: `127.0.0.1:${port}`,
    tls: undefined,
    onConnected: () => {},
  }
  const options = { token: undefined, needsLeader: true, timeoutMs: 60_000 }
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
      const channel = new Channel(member)
      const got = await channel.call('/a', nothing, options).catch((error: unknown) => error)
      channel.close()
      if (got instanceof CacheError) return true
      return Buffer.concat(frames.map(({ payload }) => payload)).includes(got as Buffer)
    }),
    { numRuns: 60 },
  )
  t.ok(sockets.size >= 60)
})

const nothing = Buffer.alloc(0)
