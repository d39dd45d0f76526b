/** Streams that a client has us reset, by whatever frame (CVE-2025-8671), count as those that it
 *  resets itself (CVE-2023-44487), at both listeners of HTTP/2. Each begins a request that nobody
 *  waits for; in front of an upstream it costs a connection to it. */

import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import t, { type Test } from 'tap'
import { GrpcServer } from '../../lib/etcd-server/listen/grpc-server.ts'
import { Server } from '../../lib/cache/http/server/server.ts'
import type { Address } from '../support/attacks/ask.ts'
import {
  endHeaders,
  frame,
  frameTypes,
  headerBlock,
  openRaw,
  request,
} from '../support/attacks/raw-http2.ts'
import { FakeClock } from '../support/fake-clock.ts'

type Line = readonly [string, string]
/** The frames of one stream. */
type Way = (stream: number, lines: readonly Line[]) => Buffer[]

const endStream = 1
const get: readonly Line[] = [
  [':method', 'GET'],
  [':scheme', 'http'],
  [':authority', 'localhost'],
  [':path', '/'],
]
const windowOf = (stream: number, bytes: number): Buffer => {
  const payload = Buffer.alloc(4)
  payload.writeUInt32BE(bytes)
  return frame(frameTypes.window, 0, stream, payload)
}
const data = (stream: number, bytes: number, flags = 0): Buffer =>
  frame(frameTypes.data, flags, stream, Buffer.alloc(bytes))
const trailers = (stream: number, flags: number, name = 'x'): Buffer =>
  frame(frameTypes.headers, endHeaders | flags, stream, headerBlock([[name, 'y']]))
const said = (bytes: number): Line => ['content-length', String(bytes)]

/** Each begins a request, and ends it before it is answered. */
const ways: Readonly<Record<string, Way>> = {
  'its own resets': (id, lines) => [
    request(id, lines),
    frame(frameTypes.reset, 0, id, Buffer.from([0, 0, 0, 8])),
  ],
  'a window that is too large': (id, lines) => [request(id, lines), windowOf(id, 0x7fff_ffff)],
  'a longer body than it has said': (id, lines) => [
    request(id, [...lines, said(1)], true),
    data(id, 2),
  ],
  'a shorter body than it has said': (id, lines) => [
    request(id, [...lines, said(20)], true),
    data(id, 10, endStream),
  ],
  'a shorter body, and trailers': (id, lines) => [
    request(id, [...lines, said(20)], true),
    data(id, 10),
    trailers(id, endStream),
  ],
}

/** nghttp2 ends the connection for each of them. */
const oursOnly: Readonly<Record<string, Way>> = {
  'a window of nothing': (id, lines) => [request(id, lines), windowOf(id, 0)],
  'trailers that go on': (id, lines) => [request(id, lines, true), trailers(id, 0)],
  'trailers that none may be': (id, lines) => [
    request(id, lines, true),
    trailers(id, endStream, 'Upper'),
  ],
}

/** A short block that says much: it names a field of three thousand bytes thirty times (HPACK). */
function tooLong(id: number, lines: readonly Line[]): Buffer {
  const field = Buffer.concat([Buffer.from('400178' + '7fb916', 'hex'), Buffer.alloc(3_000, 'y')])
  const block = Buffer.concat([headerBlock(lines), field, Buffer.alloc(30, 0xbe)])
  return frame(frameTypes.headers, endHeaders | endStream, id, block)
}

/** None begins a request. */
const malformed: Readonly<Record<string, Way>> = {
  'headers in capital letters': (id, lines) => [request(id, [...lines, ['Upper', 'x']])],
  'a body that was said and is none': (id, lines) => [request(id, [...lines, said(5)])],
  'too long headers': (id, lines) => [tooLong(id, lines)],
}

const streams = 3_000

/** Sends so many streams after one that stays, or until the connection ends: true if it does. */
async function endsFor(socket: Socket, way: Way, lines: readonly Line[]): Promise<boolean> {
  const closed = new Promise(resolve => socket.once('close', resolve))
  socket.write(request(1, lines))
  await Promise.race([closed, hasRead(socket)])
  for (let i = 1; i <= streams && !socket.destroyed; i++) {
    const isTaken = socket.write(Buffer.concat(way(2 * i + 1, lines)))
    if (!isTaken) {
      await Promise.race([closed, new Promise(resolve => socket.once('drain', resolve))])
    }
    // What has come meanwhile is seen, and no more are under way than may be.
    if (i % 20 === 0) await new Promise(resolve => setImmediate(resolve))
  }
  await Promise.race([closed, hasRead(socket)])
  const hasEnded = socket.destroyed
  socket.destroy()
  return hasEnded
}

/** Resolves when the server has read all that was sent: it answers a ping. */
function hasRead(socket: Socket): Promise<void> {
  const opaque = randomBytes(8)
  socket.write(frame(frameTypes.ping, 0, 0, opaque))
  return new Promise(resolve => {
    socket.on('data', (bytes: Buffer) => {
      if (bytes.includes(opaque)) resolve()
    })
  })
}

async function serve(
  t: Test,
  isKnown: boolean,
): Promise<Address & { readonly begun: () => number }> {
  let begun = 0
  const server = await Server.listen({
    listen: { protocol: 'http', host: '127.0.0.1', port: 0 },
    // Nothing is forgiven.
    clock: new FakeClock(),
    onFault: error => t.fail(String(error)),
    handler: one => {
      begun++
      if (isKnown) one.accept()
    },
  })
  t.teardown(() => server.close())
  return { protocol: 'http', port: server.port, begun: () => begun }
}

for (const [isKnown, most] of [
  [true, 1_002],
  [false, 22],
] as const) {
  t.test(
    `requests that are begun for nothing, of ${isKnown ? 'a client' : 'a stranger'}`,
    async t => {
      for (const [name, way] of Object.entries({ ...ways, ...oursOnly, ...malformed })) {
        const { begun, ...address } = await serve(t, isKnown)
        t.ok(await endsFor(await openRaw(address), way, get), `${name}: the connection ends`)
        t.ok(begun() <= most, `${name}: ${begun()} requests of ${streams} have begun`)
        if (!(name in malformed)) t.ok(begun() > 1, `${name}: they do begin`)
      }
    },
  )
}

t.test('calls of etcd’s API that are begun for nothing', async t => {
  for (const [name, way] of Object.entries(ways)) {
    let begun = 0
    const server = await GrpcServer.listen({
      listen: '127.0.0.1:0',
      clock: new FakeClock(),
      handle: () => begun++,
    })
    t.teardown(() => server.close())
    const address: Address = { protocol: 'http', port: Number(server.address.split(':').at(-1)) }
    const call: readonly Line[] = [
      [':method', 'POST'],
      ...get.slice(1),
      ['content-type', 'application/grpc'],
    ]
    t.ok(await endsFor(await openRaw(address), way, call), `${name}: the connection ends`)
    t.ok(begun <= 1_100, `${name}: ${begun} calls of ${streams} have begun`)
    t.ok(begun > 1, `${name}: they do begin`)
  }
})
