import { once } from 'node:events'
import * as http2 from 'node:http2'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { mock } from 'node:test'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { type Call, type CallStatus, windowBytes } from '../../../lib/etcd/grpc/call.ts'
import { Connection } from '../../../lib/etcd/grpc/connection.ts'
import { flag, frameType } from '../../../lib/etcd/http2/frames.ts'
import { pseudoField } from '../../../lib/etcd/http2/hpack/encoder.ts'
import { frame, headerBlock } from '../../support/attacks/raw-http2.ts'
import { framed } from '../../support/etcd/bare-grpc.ts'

const nothing = Buffer.alloc(0)
const settings = frame(frameType.settings, 0, 0, nothing)
const head = frame(frameType.headers, flag.endHeaders, 1, Buffer.of(0x88))
const end = frame(
  frameType.headers,
  flag.endHeaders | flag.endStream,
  1,
  headerBlock([['grpc-status', '0']]),
)

async function connected(socket: Socket, onEnd: (reason: string) => void = () => undefined) {
  return new Promise<Connection>(resolve => {
    const connection: Connection = new Connection(socket, {
      nowMs: () => performance.now(),
      onReady: () => resolve(connection),
      onEnd,
      onClosed: () => undefined,
    })
  })
}

interface Opened {
  readonly call: Call
  readonly messages: Buffer[]
  readonly status: Promise<CallStatus>
}

function opened(connection: Connection, onMessage: () => void = () => undefined): Opened {
  const messages: Buffer[] = []
  let ended: (status: CallStatus) => void
  const status = new Promise<CallStatus>(resolve => (ended = resolve))
  const block = [
    pseudoField(':method', 'POST'),
    pseudoField(':scheme', 'http'),
    pseudoField(':path', '/question'),
    pseudoField(':authority', 'a'),
  ].join('')
  const call = connection.open(
    { block, message: nothing, isShort: false, deadlineMs: Infinity },
    {
      message(bytes) {
        messages.push(Buffer.from(bytes))
        onMessage()
      },
      ended: status => ended(status),
    },
  )
  return { call, messages, status }
}

/** A server that is a bare socket. */
async function bareServer(t: Test): Promise<{ own: Socket; theirs: Socket }> {
  const server = createServer(socket => socket.on('error', () => undefined))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const own = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [theirs] = (await once(server, 'connection')) as [Socket]
  t.teardown(() => theirs.destroy())
  theirs.write(settings)
  return { own, theirs }
}

t.test('messages are the same in whatever frames and reads they come', async t => {
  const message = fc.uint8Array({ maxLength: 300 }).map(bytes => Buffer.from(bytes))
  const cuts = fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 60 })
  await fc.assert(
    fc.asyncProperty(
      fc.array(message, { maxLength: 12 }),
      cuts,
      cuts,
      async (sent, frames, reads) => {
        const { own, theirs } = await bareServer(t)
        const connection = await connected(own)
        const { messages, status } = opened(connection)
        const body = pieces(Buffer.concat(sent.map(bytes => framed(bytes))), frames)
        const padded = (bytes: Buffer, i: number): Buffer =>
          i % 5 === 4
            ? frame(
                frameType.data,
                flag.padded,
                1,
                Buffer.concat([Buffer.of(3), bytes, Buffer.alloc(3)]),
              )
            : frame(frameType.data, 0, 1, bytes)
        // Each piece is read by itself, as the event loop comes to it.
        for (const piece of pieces(Buffer.concat([head, ...body.map(padded), end]), reads)) {
          own.emit('data', piece)
        }
        t.match(await status, { code: 0 })
        connection.destroy('the test is over')
        theirs.destroy()
        return (
          Buffer.concat(messages).equals(Buffer.concat(sent)) && messages.length === sent.length
        )
      },
    ),
    { numRuns: 60 },
  )
})

/** The bytes cut into pieces of these lengths, and a last one. */
function pieces(bytes: Buffer, lengths: readonly number[]): Buffer[] {
  const cut: Buffer[] = []
  let at = 0
  for (const length of lengths) {
    if (at < bytes.length) cut.push(bytes.subarray(at, at + length))
    at += length
  }
  return at < bytes.length ? [...cut, bytes.subarray(at)] : cut
}

t.test('a call that is held is stopped by its window, and nothing of it is lost', async t => {
  const server = http2.createServer()
  const message = framed(Buffer.alloc(100_000, 'x'))
  const count = 150
  let other: http2.ServerHttp2Stream | undefined
  server.on('stream', stream => {
    stream.on('error', () => undefined)
    stream.respond({ ':status': 200 }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
    if (other === undefined) {
      other = stream
      stream.end(Buffer.concat(Array.from({ length: count }, () => message)))
    } else stream.end(message)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  const connection = await connected(socket)
  const held = opened(connection)
  held.call.hold(true)
  while (
    (other?.state.localClose ?? 0) === 0 ||
    (other?.session?.state.outboundQueueSize ?? 0) > 0
  ) {
    const free = opened(connection)
    t.match(await free.status, { code: 0 }, 'another call on the connection goes on')
    t.equal(free.messages.length, 1)
    if (socket.bytesRead > windowBytes) break
  }
  t.equal(held.messages.length, 0)
  held.call.hold(false)
  t.match(await held.status, { code: 0 })
  t.equal(held.messages.length, count)
  t.ok(held.messages.every(bytes => bytes.length === 100_000))
})

t.test('a server that sends more than there is room for is left', async t => {
  const { own, theirs } = await bareServer(t)
  const connection = await connected(own)
  const { call, status } = opened(connection)
  call.hold(true)
  const part = frame(frameType.data, 0, 1, Buffer.alloc(16_000))
  // A message of a gigabyte.
  const begun = frame(frameType.data, 0, 1, Buffer.from('0040000000', 'hex'))
  theirs.write(Buffer.concat([head, begun, ...Array.from({ length: 540 }, () => part)]))
  while (connection.callCount > 0) await new Promise(resolve => setImmediate(resolve))
  call.hold(false)
  t.match(await status, { code: 13, details: 'it sent more than there was room for' })
})

t.test('a call that is held ends when what came before has been taken', async t => {
  const { own, theirs } = await bareServer(t)
  const connection = await connected(own)
  let first = true
  const { call, messages, status } = opened(connection, () => {
    if (first) call.hold(true)
    first = false
  })
  const message = frame(frameType.data, 0, 1, framed(Buffer.from('ab')))
  theirs.end(Buffer.concat([head, message, message, message, end]))
  while (connection.callCount > 0) await new Promise(resolve => setImmediate(resolve))
  t.equal(messages.length, 1)
  call.hold(false)
  t.match(await status, { code: 0 })
  t.equal(messages.length, 3)
})

t.test('a call that was cancelled has no end', async t => {
  const { own, theirs } = await bareServer(t)
  const connection = await connected(own)
  const { call, status } = opened(connection)
  let isOver = false
  void status.then(() => (isOver = true))
  call.cancel()
  call.cancel()
  call.write(Buffer.alloc(1))
  t.equal(connection.callCount, 0)
  theirs.write(Buffer.concat([head, end]))
  connection.destroy('the test is over')
  await new Promise(resolve => setImmediate(resolve))
  t.equal(isOver, false)
})

t.test(
  'a connection on which nothing comes is pinged, and left if that is not answered',
  async t => {
    const { own, theirs } = await bareServer(t)
    let bytes = nothing
    theirs.on('data', (more: Buffer) => (bytes = Buffer.concat([bytes, more])))
    mock.timers.enable({ apis: ['setTimeout'] })
    t.teardown(() => mock.timers.reset())
    let reason: string | undefined
    const connection = await connected(own, why => (reason = why))
    mock.timers.tick(60_000)
    t.equal(reason, undefined, 'without a call it is not asked')
    const { status } = opened(connection)
    mock.timers.tick(15_000)
    const ping = frame(frameType.ping, 0, 0, Buffer.from('watchgls'))
    while (!bytes.includes(ping)) await new Promise(resolve => setImmediate(resolve))
    theirs.write(frame(frameType.ping, flag.ack, 0, Buffer.from('watchgls')))
    await once(own, 'data')
    mock.timers.tick(10_000)
    t.equal(reason, undefined, 'an answer keeps it')
    mock.timers.tick(15_000)
    mock.timers.tick(10_000)
    t.match(await status, { code: 14, details: 'it answers nothing any more' })
    t.equal(reason, 'it answers nothing any more')
  },
)
