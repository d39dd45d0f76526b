/** Streams to pods whose clients ask and do not read, over a WebSocket and over SPDY: what waits
 *  for them is bounded, and nothing stays when they have left. */

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { openChannels } from '../../lib/simulator/streams/channels.ts'
import { type ForwardTarget, runPortForward } from '../../lib/simulator/streams/port-forward.ts'
import type { HttpRequest } from '../../lib/cache/http/server/http-request.ts'
import { moment } from '../support/http/moment.ts'
import { controlFrame, HeaderBlocks, openFrame } from '../support/http/spdy-client.ts'
import {
  type CountedServices,
  maskedFrame,
  streamServices,
  StreamWire,
} from '../support/http/stream-wire.ts'

const mebibyte = 1024 ** 2
const ping = 9

interface Attacked {
  readonly wire: StreamWire
  readonly services: CountedServices
  readonly isOver: () => boolean
}

function requestOf(wire: StreamWire): HttpRequest {
  const headers = { 'sec-websocket-key': 'x' }
  return {
    headers,
    takeover: { socket: wire, take: () => Buffer.alloc(0) },
  } as unknown as HttpRequest
}

function exec(protocol: 'spdy' | 'v5.channel.k8s.io', services = streamServices()): Attacked {
  const wire = new StreamWire()
  let isOver = false
  const ignore = (): void => {}
  openChannels(
    requestOf(wire),
    { protocol, asked: new Set(), ...services },
    {
      ready: ignore,
      input: ignore,
      inputEnd: ignore,
      touched: ignore,
      over: () => (isOver = true),
    },
  )
  return { wire, services, isOver: () => isOver }
}

interface Forwarded extends Attacked {
  readonly over: Promise<void>
}

function forward(
  protocol: 'plain' | 'tunnel',
  targetOf: (port: string) => ForwardTarget | string,
): Forwarded {
  const wire = new StreamWire()
  const services = streamServices()
  let isOver = false
  const over = runPortForward(requestOf(wire), protocol, { targetOf, ...services })
  void over.then(() => (isOver = true))
  return { wire, services, over, isOver: () => isOver }
}

/** Sends the frame again and again, so many bytes or until the client is not read any more. Returns
 *  the bytes that were read. */
async function flood({ wire, isOver }: Attacked, asked: Buffer, maxBytes: number): Promise<number> {
  let sent = 0
  const block = Buffer.concat(Array.from({ length: Math.ceil(64_000 / asked.length) }, () => asked))
  for (let paused = 0; sent < maxBytes && paused < 20 && !isOver();) {
    await moment()
    if (wire.isPaused() || wire.readableLength > 0) {
      paused++
      continue
    }
    paused = 0
    wire.push(block)
    sent += block.length
  }
  return sent
}

const small = maskedFrame(ping, Buffer.alloc(0))
const large = maskedFrame(ping, Buffer.alloc(125))
const spdyPing = controlFrame(6, Buffer.of(0, 0, 0, 1))
const tunnelled = maskedFrame(2, Buffer.concat(Array.from({ length: 1_000 }, () => spdyPing)))

const floods: Readonly<Record<string, readonly [() => Attacked, Buffer]>> = {
  'empty pings of a WebSocket': [() => exec('v5.channel.k8s.io'), small],
  'long pings of a WebSocket': [() => exec('v5.channel.k8s.io'), large],
  'pings of SPDY': [() => exec('spdy'), spdyPing],
  'pings of a forwarded port': [() => forward('plain', () => 'nothing'), spdyPing],
  'pings within a WebSocket': [() => forward('tunnel', () => 'nothing'), tunnelled],
  'pings of what is within a WebSocket': [() => forward('tunnel', () => 'nothing'), large],
}

t.test('control frames of a client that reads nothing', async t => {
  for (const [name, [open, asked]] of Object.entries(floods)) {
    const attacked = open()
    const { wire, services } = attacked
    wire.isStuck = true
    const sent = await flood(attacked, asked, 64 * mebibyte)
    t.ok(sent < 16 * mebibyte, `${name}: ${sent} bytes were read`)
    t.ok(wire.writableLength < 2 * mebibyte, `${name}: ${wire.writableLength} bytes wait`)
    t.ok(services.amount() < 8 * mebibyte, `${name}: ${services.amount()} bytes are held`)
    t.ok(services.amount() >= wire.writableLength / 2, `${name}: they are counted`)
    if (!wire.destroyed) {
      wire.goOn()
      for (let i = 0; i < 1_000 && wire.isPaused(); i++) await moment()
      t.notOk(wire.isPaused(), `${name}: whoever reads on is read`)
    }
    wire.destroy()
    await moment()
    services.held.end()
    t.equal(services.amount(), 0)
  }
})

t.test('a client that opens streams and reads nothing', async t => {
  const attacked = forward('plain', port => `nothing is behind ${port}`)
  const { wire } = attacked
  const blocks = new HeaderBlocks()
  wire.isStuck = true
  const port = '8'.repeat(2_000)
  let opened = 0
  for (let i = 0; i < 3_000 && !wire.isPaused() && !attacked.isOver(); i++) {
    const common = { port, requestid: String(i) }
    wire.push(numbered(4 * i + 1, await blocks.block({ streamtype: 'error', ...common })))
    wire.push(numbered(4 * i + 3, await blocks.block({ streamtype: 'data', ...common })))
    await moment()
    opened++
  }
  t.ok(opened < 2_000, `${opened} streams were opened`)
  t.ok(wire.writableLength < 5 * mebibyte, `${wire.writableLength} bytes wait`)
  wire.destroy()
  await attacked.over
})

function numbered(stream: number, block: Buffer): Buffer {
  const frame = openFrame(0, block)
  frame.writeUInt32BE(stream, 8)
  return frame
}

async function listen(t: Test, serve: (socket: Socket) => void): Promise<ForwardTarget> {
  const server = createServer({ allowHalfOpen: true }, serve)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { address: '127.0.0.1', port: (server.address() as AddressInfo).port }
}

t.test('no connection to a program outlives its client, also if numbers come again', async t => {
  const open = new Set<Socket>()
  const target = await listen(t, socket => {
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
    socket.on('end', () => socket.end())
    socket.resume()
  })
  for (const again of [true, false]) {
    const { wire, over, isOver } = forward('plain', () => target)
    const blocks = new HeaderBlocks()
    for (let i = 0; i < 80 && !isOver(); i++) {
      const common = { port: '80', requestid: String(i) }
      const first = again ? 1 : 4 * i + 1
      wire.push(numbered(first, await blocks.block({ streamtype: 'error', ...common })))
      wire.push(numbered(first + 2, await blocks.block({ streamtype: 'data', ...common })))
      await moment()
    }
    if (!again) while (open.size < 80) await moment()
    t.equal(isOver(), again, 'whoever uses a number again is cut off')
    wire.destroy()
    await over
    for (let i = 0; i < 2_000 && open.size > 0; i++) await moment()
    t.equal(open.size, 0, 'no connection stays')
  }
})

t.test('what waits for many slow programs has one bound', async t => {
  const sockets: Socket[] = []
  const target = await listen(t, socket => {
    socket.on('error', () => {})
    sockets.push(socket.pause())
  })
  const attacked = forward('plain', () => target)
  const { wire, services } = attacked
  const blocks = new HeaderBlocks()
  const streams = 6
  for (let i = 0; i < streams; i++) {
    const common = { port: '80', requestid: String(i) }
    wire.push(numbered(4 * i + 1, await blocks.block({ streamtype: 'error', ...common })))
    wire.push(numbered(4 * i + 3, await blocks.block({ streamtype: 'data', ...common })))
  }
  while (sockets.length < streams) await moment()
  const piece = Buffer.concat([Buffer.alloc(8), Buffer.alloc(60_000)])
  piece.writeUIntBE(60_000, 5, 3)
  let paused = 0
  for (let i = 0; i < 20_000 && paused < 20; i++) {
    await new Promise(resolve => setImmediate(resolve))
    if (wire.isPaused()) {
      await moment()
      paused++
      continue
    }
    paused = 0
    piece.writeUInt32BE(4 * (i % streams) + 3)
    wire.push(Buffer.from(piece))
  }
  t.equal(paused, 20, 'the client is not read any more')
  t.ok(services.amount() < 2 * mebibyte, `${services.amount()} bytes are held`)
  for (const socket of sockets) socket.destroy()
  wire.destroy()
  await attacked.over
})

t.test('all streams together hold no more than they may', async t => {
  const { wire, isOver } = exec('v5.channel.k8s.io', streamServices(100_000))
  wire.isStuck = true
  for (let i = 0; i < 50 && !isOver(); i++) {
    wire.push(Buffer.concat(Array.from({ length: 100 }, () => large)))
    await moment()
  }
  t.ok(isOver(), 'whoever would hold more is cut off')
})

t.test('a message that comes byte by byte is not copied for each', async t => {
  const { wire, services, isOver } = exec('v5.channel.k8s.io')
  const message = maskedFrame(2, Buffer.alloc(20_000))
  for (const byte of message.subarray(0, -1)) wire.push(Buffer.of(byte))
  await moment()
  t.ok(services.amount() >= 20_000 && services.amount() < 100_000, `${services.amount()} are held`)
  wire.push(message.subarray(-1))
  await moment()
  t.equal(services.amount(), 0)
  t.notOk(isOver())
  wire.destroy()
})
