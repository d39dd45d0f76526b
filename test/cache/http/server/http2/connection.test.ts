/** Connections over HTTP/2, frame by frame: windows, turns, bodies, ends, and what breaks rules. */

import { once } from 'node:events'
import * as http2 from 'node:http2'
import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import t, { type Test } from 'tap'
import type { Clock } from '../../../../../lib/base/clock.ts'
import { Corks } from '../../../../../lib/cache/http/server/bare/corks.ts'
import type { HttpRequest, Handler } from '../../../../../lib/cache/http/server/http-request.ts'
import { Http2Connection } from '../../../../../lib/cache/http/server/http2/connection.ts'
import type { PingTimes } from '../../../../../lib/cache/http/server/http2/pings.ts'
import { sendWhole } from '../../../../../lib/cache/http/server/respond.ts'
import { Server } from '../../../../../lib/cache/http/server/server.ts'
import { StreamLimits } from '../../../../../lib/cache/http/server/stream-limits.ts'
import { systemClock } from '../../../../../lib/cache/ops/system.ts'
import { connect } from '../../../../support/attacks/ask.ts'
import {
  endHeaders,
  frame,
  frameTypes,
  headerBlock,
  request,
  settings,
} from '../../../../support/attacks/raw-http2.ts'
import { FakeClock } from '../../../../support/fake-clock.ts'

type Line = readonly [string, string]

async function serve(
  t: Test,
  handler: Handler,
  clock: Clock = systemClock,
  pings?: PingTimes,
): Promise<Server> {
  const server = await Server.listen({
    listen: { protocol: 'http', host: '127.0.0.1', port: 0 },
    clock,
    pings,
    onFault: error => t.fail(String(error)),
    handler,
  })
  t.teardown(() => server.close())
  return server
}

interface Came {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

/** A client that writes and reads frames. */
class Client {
  readonly frames: Came[] = []
  isClosed = false
  readonly socket: Socket
  #rest: Buffer = Buffer.alloc(0)
  #onChange: () => void = () => {}

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (piece: Buffer) => this.#take(piece))
    socket.on('error', () => {})
    socket.on('close', () => {
      this.isClosed = true
      this.#onChange()
    })
  }

  static async open(
    t: Test,
    { port }: Server,
    ...pairs: readonly (readonly [number, number])[]
  ): Promise<Client> {
    const client = new Client(await connect({ protocol: 'http', port }, []))
    t.teardown(() => client.socket.destroy())
    client.socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
    client.send(settings(...pairs))
    return client
  }

  send(...frames: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(frames))
  }

  async until(isEnough: () => boolean): Promise<void> {
    while (!isEnough() && !this.isClosed) {
      await new Promise<void>(resolve => (this.#onChange = resolve))
    }
  }

  of(type: number, stream: number): Came[] {
    return this.frames.filter(one => one.type === type && one.stream === stream)
  }

  bodyOf(stream: number): string {
    return Buffer.concat(this.of(frameTypes.data, stream).map(one => one.payload)).toString()
  }

  hasEnd(stream: number): boolean {
    return this.frames.some(one => one.stream === stream && one.type < 2 && (one.flags & 1) === 1)
  }

  /** Everything that was sent has been taken. */
  async settled(): Promise<void> {
    const before = this.of(frameTypes.ping, 0).length
    this.send(frame(frameTypes.ping, 0, 0, Buffer.alloc(8)))
    await this.until(() => this.of(frameTypes.ping, 0).length > before)
  }

  #take(piece: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, piece])
    while (this.#rest.length >= 9) {
      const end = 9 + this.#rest.readUIntBE(0, 3)
      if (end > this.#rest.length) return
      const [type, flags] = [this.#rest[3]!, this.#rest[4]!]
      const stream = this.#rest.readUInt32BE(5)
      this.frames.push({ type, flags, stream, payload: this.#rest.subarray(9, end) })
      this.#rest = this.#rest.subarray(end)
      this.#onChange()
    }
  }
}

function get(path: string, ...more: readonly Line[]): Line[] {
  return [[':method', 'GET'], [':scheme', 'http'], [':authority', 'x'], [':path', path], ...more]
}

function post(path: string, ...more: readonly Line[]): Line[] {
  return [[':method', 'POST'], ...get(path, ...more).slice(1)]
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

const windowOf = (stream: number, bytes: number): Buffer =>
  frame(frameTypes.window, 0, stream, number(bytes))

/** Answers with as many letters as the path says. */
function letters(request: HttpRequest): void {
  const body = Buffer.alloc(Number(request.target.slice(1)), 'abcdefghij')
  sendWhole(request, { status: 200, headers: {} }, body)
}

/** Requests begin when it is their turn. */
async function begun(request: () => HttpRequest | undefined): Promise<void> {
  while (request() === undefined) await new Promise(resolve => setImmediate(resolve))
}

async function bodyOf(request: HttpRequest): Promise<string> {
  let text = ''
  for await (const piece of request.body as AsyncIterable<Buffer>) text += piece.toString()
  return text
}

t.test('no more is sent than the windows of the client take', async t => {
  const client = await Client.open(t, await serve(t, letters), [4, 10])
  client.send(request(1, get('/25')), request(3, get('/5')))
  await client.until(() => client.hasEnd(3))
  t.equal(client.bodyOf(1), 'abcdefghij')
  client.send(windowOf(1, 3))
  await client.until(() => client.bodyOf(1).length >= 13)
  await client.settled()
  t.equal(client.bodyOf(1), 'abcdefghijabc')
  client.send(settings([4, 0]))
  await client.settled()
  client.send(windowOf(1, 9))
  await client.settled()
  t.equal(client.bodyOf(1).length, 13, 'a window may be below zero')
  client.send(settings([4, 100]))
  await client.until(() => client.hasEnd(1))
  t.equal(client.bodyOf(1), 'abcdefghijabcdefghijabcde')
})

t.test('the window of the connection is for all of its streams', async t => {
  const client = await Client.open(t, await serve(t, letters), [4, 1_000_000])
  client.send(request(1, get('/60000')), request(3, get('/60000')))
  const bytes = (): number => client.bodyOf(1).length + client.bodyOf(3).length
  await client.until(() => bytes() >= 65_535)
  await client.settled()
  t.equal(bytes(), 65_535)
  client.send(windowOf(0, 54_464))
  await client.until(() => bytes() >= 119_999)
  await client.settled()
  t.equal(bytes(), 119_999)
  client.send(windowOf(0, 1))
  await client.until(() => client.hasEnd(1) && client.hasEnd(3))
  t.equal(client.bodyOf(3), Buffer.alloc(60_000, 'abcdefghij').toString())
})

t.test('a small answer does not wait for the end of a large one', async t => {
  const client = await Client.open(t, await serve(t, letters), [4, 100_000_000])
  client.send(windowOf(0, 100_000_000), request(1, get('/20000000')), request(3, get('/10')))
  await client.until(() => client.hasEnd(3))
  t.notOk(client.hasEnd(1))
  await client.until(() => client.hasEnd(1))
  t.equal(client.bodyOf(1).length, 20_000_000)
})

t.test('headers of any length go in several frames, both ways', async t => {
  const server = await serve(t, request => {
    const long = request.headers['x-long'] as string
    sendWhole(request, { status: 200, headers: { 'x-long': long } }, Buffer.from('!'))
  })
  const client = await Client.open(t, server)
  const block = headerBlock(get('/', ['x-long', 'y'.repeat(40_000)]))
  client.send(
    frame(frameTypes.headers, 1, 1, block.subarray(0, 16_000)),
    frame(frameTypes.continuation, 0, 1, block.subarray(16_000, 16_001)),
    frame(frameTypes.continuation, 0, 1, block.subarray(16_001, 32_000)),
    frame(frameTypes.continuation, endHeaders, 1, block.subarray(32_000)),
  )
  await client.until(() => client.hasEnd(1))
  const parts = client.frames.filter(({ stream, type }) => stream === 1 && type !== 0)
  t.strictSame(
    parts.map(({ type, flags }) => [type, flags]),
    [
      [frameTypes.headers, 0],
      [frameTypes.continuation, 0],
      [frameTypes.continuation, endHeaders],
    ],
  )
  t.ok(Buffer.concat(parts.map(({ payload }) => payload)).includes('y'.repeat(40_000)))
})

t.test('who changes the size of its table is told that it is not used', async t => {
  const client = await Client.open(t, await serve(t, letters), [1, 0])
  client.send(request(1, get('/1')))
  await client.until(() => client.hasEnd(1))
  t.equal(client.of(frameTypes.headers, 1)[0]?.payload[0], 0x20)
  client.send(request(3, get('/1')))
  await client.until(() => client.hasEnd(3))
  t.equal(client.of(frameTypes.headers, 3)[0]?.payload[0], 0x88)
})

t.test('bodies, trailers and 100 Continue, as a library sends them', async t => {
  const server = await serve(t, request => {
    request.proceed()
    void bodyOf(request).then(text => {
      request.respond(200, { 'x-sent': request.rawTrailers.join(' ') })
      request.write(Buffer.from(text))
      request.end(undefined, { 'x-end': ['a', 'b'] })
    })
  })
  const session = http2.connect(`http://127.0.0.1:${server.port}`)
  t.teardown(() => session.destroy())
  const stream = session.request(
    { ':method': 'POST', ':path': '/', expect: '100-continue' },
    { waitForTrailers: true },
  )
  stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '1' }))
  const trailers = once(stream, 'trailers') as Promise<[http2.IncomingHttpHeaders]>
  await once(stream, 'continue')
  stream.end('body')
  const [headers] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
  t.equal(headers['x-sent'], 'x-sum 1')
  let text = ''
  for await (const piece of stream as AsyncIterable<Buffer>) text += piece.toString()
  t.equal(text, 'body')
  t.equal((await trailers)[0]['x-end'], 'a, b')
  const head = session.request({ ':method': 'HEAD', ':path': '/' })
  const [answer] = (await once(head, 'response')) as [http2.IncomingHttpHeaders]
  t.equal(answer[':status'], 200)
})

t.test('of a body that nobody reads no more comes than its window', async t => {
  let held: HttpRequest | undefined
  const server = await serve(t, one => (held = one))
  const client = await Client.open(t, server)
  const piece = frame(frameTypes.data, 0, 1, Buffer.alloc(16_000, 'x'))
  client.send(request(1, post('/'), true), piece, piece, piece)
  await client.settled()
  await begun(() => held)
  t.strictSame(client.of(frameTypes.window, 1), [])
  const text = bodyOf(held!)
  await client.until(() => client.of(frameTypes.window, 1).length > 0)
  t.ok(client.of(frameTypes.window, 0).length > 0)
  client.send(piece, frame(frameTypes.data, 9, 1, Buffer.from('\u0002yy..')))
  t.equal(await text, `${'x'.repeat(64_000)}yy`)
  sendWhole(held!, { status: 200, headers: {} })
  await client.until(() => client.hasEnd(1))
})

t.test('a client that is still sending when it has its answer is told to stop', async t => {
  const client = await Client.open(t, await serve(t, letters))
  client.send(request(1, post('/3'), true))
  await client.until(() => client.of(frameTypes.reset, 1).length > 0)
  t.equal(client.bodyOf(1), 'abc')
  t.strictSame(client.of(frameTypes.reset, 1)[0]?.payload, number(0))
  client.send(frame(frameTypes.data, 1, 1, Buffer.from('late')), request(3, get('/2')))
  await client.until(() => client.hasEnd(3))
})

t.test('the handler is told when a client goes, by stream and by connection', async t => {
  const events: string[] = []
  const server = await serve(t, request => {
    request.onClose(() => events.push(request.target))
    const cancel = request.onClose(() => events.push('cancelled'))
    cancel()
    request.respond(200, {})
    request.flush()
  })
  const client = await Client.open(t, server)
  client.send(request(1, get('/a')), request(3, get('/b')))
  await client.until(() => client.of(frameTypes.headers, 3).length > 0)
  client.send(frame(frameTypes.reset, 0, 1, number(8)))
  await client.settled()
  t.strictSame(events, ['/a'])
  t.equal(server.requestsInFlight, 1)
  client.socket.destroy()
  while (server.requestsInFlight > 0) await new Promise(setImmediate)
  t.strictSame(events, ['/a', '/b'])
})

t.test('a server that drains answers what has come, and takes no more', async t => {
  let held: HttpRequest | undefined
  const server = await serve(t, one => (held = one))
  const client = await Client.open(t, server)
  client.send(request(1, get('/')))
  await begun(() => held)
  const drained = server.drain()
  await client.until(() => client.of(frameTypes.goaway, 0).length > 0)
  t.strictSame(client.of(frameTypes.goaway, 0)[0]?.payload, Buffer.concat([number(1), number(0)]))
  client.send(request(3, get('/')))
  await client.until(() => client.of(frameTypes.reset, 3).length > 0)
  sendWhole(held!, { status: 200, headers: {} }, Buffer.from('last'))
  await client.until(() => client.isClosed)
  t.equal(client.bodyOf(1), 'last')
  await drained
})

t.test('a connection is closed when it was not used for a while', async t => {
  const clock = new FakeClock()
  let held: HttpRequest | undefined
  const server = await serve(t, one => (held = one), clock)
  const client = await Client.open(t, server)
  client.send(request(1, get('/')))
  await begun(() => held)
  await clock.advance(200_000)
  t.notOk(client.isClosed, 'a request is under way')
  sendWhole(held!, { status: 200, headers: {} })
  await client.until(() => client.hasEnd(1))
  await clock.advance(200_000)
  await client.until(() => client.isClosed)
  t.equal(client.of(frameTypes.goaway, 0).length, 1)
})

const pong = Buffer.alloc(8)
/** Frames, and the code with which the connection ends. */
const failures: Readonly<Record<string, readonly [number, ...Buffer[]]>> = {
  'a body of no stream': [1, frame(frameTypes.data, 0, 0, pong)],
  'a body before its request': [1, frame(frameTypes.data, 0, 5, pong)],
  'a stream of the server': [1, request(2, get('/1'))],
  'a frame that is too long': [6, frame(frameTypes.data, 0, 1, Buffer.alloc(16_385))],
  'settings of half a line': [6, frame(frameTypes.settings, 0, 0, Buffer.alloc(5))],
  'settings of a stream': [1, frame(frameTypes.settings, 0, 1, Buffer.alloc(6))],
  'a window above all': [3, settings([4, 2 ** 31])],
  'frames that are too small': [1, settings([5, 100])],
  'a push that is neither': [1, settings([2, 2])],
  'an acknowledgment that says more': [6, frame(frameTypes.settings, 1, 0, Buffer.alloc(6))],
  'a push': [1, frame(5, endHeaders, 1, pong)],
  'a ping of seven bytes': [6, frame(frameTypes.ping, 0, 0, Buffer.alloc(7))],
  'a ping of a stream': [1, frame(frameTypes.ping, 0, 1, pong)],
  'a window that is not opened': [1, windowOf(0, 0)],
  'a window beyond its bounds': [3, windowOf(0, 2 ** 31 - 1)],
  'a window of a stream that is to come': [1, windowOf(7, 1)],
  'a reset of a stream that is to come': [1, frame(frameTypes.reset, 0, 7, number(8))],
  'a reset of three bytes': [6, frame(frameTypes.reset, 0, 1, Buffer.alloc(3))],
  'the rest of no headers': [1, frame(frameTypes.continuation, endHeaders, 1, pong)],
  'another frame within headers': [
    1,
    frame(frameTypes.headers, 1, 1, headerBlock(get('/1'))),
    frame(frameTypes.ping, 0, 0, pong),
  ],
  'headers of another stream within headers': [
    1,
    frame(frameTypes.headers, 1, 1, headerBlock(get('/1'))),
    frame(frameTypes.continuation, endHeaders, 3, headerBlock([])),
  ],
  'headers that are none': [9, frame(frameTypes.headers, endHeaders, 1, Buffer.of(0x80))],
  'more padding than bytes': [1, frame(frameTypes.headers, endHeaders | 8, 1, Buffer.of(9, 0))],
  'a stream that depends on itself': [
    1,
    frame(
      frameTypes.headers,
      endHeaders | 0x21,
      1,
      Buffer.concat([number(1), Buffer.of(0), headerBlock(get('/1'))]),
    ),
  ],
  'headers without an end': [
    11,
    frame(frameTypes.headers, 1, 1, Buffer.alloc(16_000)),
    ...Array.from({ length: 5 }, () => frame(frameTypes.continuation, 0, 1, Buffer.alloc(16_000))),
  ],
  'requests of a stranger that are taken back': [
    11,
    ...Array.from({ length: 21 }, (_, i) => [
      request(2 * i + 1, get('/never')),
      frame(frameTypes.reset, 0, 2 * i + 1, number(8)),
    ]).flat(),
  ],
}

t.test('what breaks the rules of a connection ends it', async t => {
  const server = await serve(t, request => {
    if (request.target !== '/never') letters(request)
  })
  for (const [name, [code, ...frames]] of Object.entries(failures)) {
    const client = await Client.open(t, server)
    client.send(...frames)
    await client.until(() => client.isClosed)
    const [last] = client.of(frameTypes.goaway, 0)
    t.equal(last?.payload.readUInt32BE(4), code, name)
  }
  const stranger = await connect({ protocol: 'http', port: server.port }, [])
  stranger.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r!')
  stranger.resume()
  await once(stranger, 'close')
})

/** Requests, and the code with which their stream ends; nothing of the handler has run. */
const refusals: Readonly<Record<string, readonly [number, readonly Line[]]>> = {
  'capital letters': [1, get('/', ['Upper', 'x'])],
  'a header of HTTP/1.1': [1, get('/', ['connection', 'close'])],
  'a line break': [1, get('/', ['x', 'a\nb'])],
  'a space at the end': [1, get('/', ['x', 'a '])],
  'two hosts': [1, get('/', ['host', 'a'], ['host', 'b'])],
  'an unknown pseudo-header': [1, [[':protocol', 'x'], ...get('/')]],
  'a pseudo-header at the end': [1, get('/', ['a', 'b'], [':scheme', 'http'])],
  'no path': [1, get('/').slice(0, 3)],
  'an empty path': [1, get('')],
  'a length that is none': [1, post('/', ['content-length', '+1'])],
  'a length and no body': [1, post('/', ['content-length', '1'])],
}

t.test('what breaks the rules of a request ends its stream only', async t => {
  const server = await serve(t, letters)
  const client = await Client.open(t, server)
  let stream = 1
  for (const [name, [code, lines]] of Object.entries(refusals)) {
    client.send(request(stream, lines))
    await client.settled()
    t.strictSame(client.of(frameTypes.reset, stream)[0]?.payload, number(code), name)
    stream += 2
  }
  client.send(request(stream, get('/3')))
  await client.until(() => client.hasEnd(stream))
  t.equal(client.bodyOf(stream), 'abc')
})

t.test('a body of another length than it says, and windows that are too large', async t => {
  const server = await serve(t, () => {})
  const client = await Client.open(t, server)
  const length: Line = ['content-length', '3']
  const data = (stream: number, text: string, flags = 0): Buffer =>
    frame(frameTypes.data, flags, stream, Buffer.from(text))
  client.send(
    ...[1, 3, 5, 7, 9].map(stream => request(stream, post('/', length), true)),
    data(1, 'abcd'),
    data(3, 'ab', 1),
    data(5, 'abc', 1),
    windowOf(7, 0),
    windowOf(9, 2 ** 31 - 1),
  )
  await client.settled()
  const codes = [1, 3, 5, 7, 9].map(one => client.of(frameTypes.reset, one)[0]?.payload[3])
  t.strictSame(codes, [1, 1, undefined, 1, 3])
  const upload = request(11, post('/'), true)
  const whole = Array.from({ length: 4 }, () => data(11, 'x'.repeat(16_384)))
  client.send(upload, ...whole)
  await client.until(() => client.isClosed)
  t.equal(client.of(frameTypes.goaway, 0)[0]?.payload.readUInt32BE(4), 3, 'more than the window')
})

t.test('streams beyond the number that was said are refused', async t => {
  const client = await Client.open(t, await serve(t, () => {}))
  client.send(...Array.from({ length: 102 }, (_, i) => request(2 * i + 1, get('/'))))
  await client.settled()
  const refused = client.frames.filter(({ type }) => type === frameTypes.reset)
  t.strictSame(
    refused.map(({ stream, payload }) => [stream, payload[3]]),
    [
      [201, 7],
      [203, 7],
    ],
  )
})

t.test('streams that are answered take no place of others, but are bounded', async t => {
  // The system never says that something was written.
  const socket = new Duplex({ read() {}, write() {} })
  const requests: HttpRequest[] = []
  const services = {
    clock: systemClock,
    onFault: (error: unknown) => t.fail(String(error)),
    idleTimeoutMs: 60_000,
    arrivals: { read() {}, wasted() {} },
    limits: new StreamLimits(systemClock),
    corks: new Corks(),
    dateField: () => '',
    begin: (request: HttpRequest) => requests.push(request),
  }
  const connection = new Http2Connection(socket as Socket, services as never, 100)
  let stream = 1
  const ask = async (): Promise<number> => {
    const before = requests.length
    for (let i = 0; i < 100; i++, stream += 2) socket.push(request(stream, get('/9')))
    await new Promise(resolve => setImmediate(() => setImmediate(resolve)))
    return requests.length - before
  }
  socket.push('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
  socket.push(settings())
  t.equal(await ask(), 100)
  t.equal(await ask(), 0, 'none of them has an answer')
  requests.forEach(letters)
  t.equal(await ask(), 100, 'all of them have one')
  requests.slice(100).forEach(letters)
  t.equal(await ask(), 0, 'whoever takes no answers gets no more of them')
  connection.destroy()
})

t.test('who takes back a thousand requests is not served any more, known or not', async t => {
  const server = await serve(t, request => request.accept())
  const client = await Client.open(t, server)
  for (let i = 0; i < 1_200 && !client.isClosed; i += 50) {
    const pairs = Array.from({ length: 50 }, (_, at) => {
      const stream = 2 * (i + at) + 1
      return [request(stream, get('/')), frame(frameTypes.reset, 0, stream, number(8))]
    })
    client.send(...pairs.flat())
    await client.settled()
  }
  await client.until(() => client.isClosed)
  t.equal(client.of(frameTypes.goaway, 0)[0]?.payload.readUInt32BE(4), 11)
})

t.test(
  'a client whose request goes on and on is pinged, and cut off if it does not answer',
  async t => {
    const clock = new FakeClock()
    const pings = { intervalSeconds: 30, timeoutSeconds: 10 }
    const begins: Handler = incoming => {
      incoming.respond(200, {})
      incoming.write(Buffer.from('!'))
    }
    const server = await serve(t, begins, clock, pings)
    const client = await Client.open(t, server)
    client.send(request(1, get('/')))
    await client.until(() => client.of(frameTypes.headers, 1).length === 1)
    const answerTo = (count: number): Promise<void> =>
      client.until(() => client.of(frameTypes.ping, 0).length === count)
    for (const count of [1, 2]) {
      await clock.advance(30_000)
      await answerTo(count)
      const { flags, payload } = client.of(frameTypes.ping, 0).at(-1)!
      t.equal(flags, 0)
      client.send(frame(frameTypes.ping, 1, 0, payload))
      // The server has read the answer when it has answered what comes behind it.
      client.send(request(2 * count + 1, get('/')))
      await client.until(() => client.of(frameTypes.headers, 2 * count + 1).length === 1)
    }
    await clock.advance(40_000)
    await client.until(() => false)
    t.ok(client.isClosed)
  },
)

t.test('headers are bounded by bytes, not by lines, and longer ones are answered', async t => {
  const groups = (count: number): Line[] =>
    Array.from({ length: count }, (_, i) => ['x-remote-group', `group-${i}`])
  const server = await serve(t, incoming => {
    const count = incoming.rawHeaders.length / 2
    sendWhole(incoming, { status: 200, headers: {} }, Buffer.from(String(count)))
  })
  const client = await Client.open(t, server)
  const send = (stream: number, lines: readonly Line[]): void => {
    const block = headerBlock(lines)
    for (let from = 0; from < block.length; from += 16_000) {
      const part = block.subarray(from, from + 16_000)
      const flags = (from === 0 ? 1 : 0) | (from + 16_000 >= block.length ? endHeaders : 0)
      const type = from === 0 ? frameTypes.headers : frameTypes.continuation
      client.send(frame(type, flags, stream, part))
    }
  }
  send(1, get('/', ...groups(1_000)))
  await client.until(() => client.hasEnd(1))
  t.equal(client.bodyOf(1), '1000')
  send(3, get('/', ...groups(1_500)))
  await client.until(() => client.hasEnd(3))
  t.equal(client.bodyOf(3), 'request headers are above 65536 bytes')
  send(5, get('/'))
  await client.until(() => client.hasEnd(5))
  t.equal(client.bodyOf(5), '0', 'the connection goes on')
})
