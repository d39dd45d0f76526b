/** Clients of watches over WebSockets that send what they like, do not read, or do not leave: what
 *  is held for them is bounded, as it is for watches over plain HTTP. */

import * as net from 'node:net'
import t from 'tap'
import { slowReaderTimeoutMs } from '../../lib/cache/http/server/respond.ts'
import type { WebSocketStream } from '../../lib/cache/http/server/web-socket/stream.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { moment } from '../support/http/moment.ts'
import { startServed } from '../support/http/served.ts'
import { maskedFrame, StreamWire } from '../support/http/stream-wire.ts'
import { all, large, put, putBytes, untilWatches } from '../support/watch/watch-served.ts'
import { handshake } from '../support/watch/web-socket-client.ts'
import { webSocketHead, webSocketOn } from '../support/watch/web-socket-stream.ts'

const mebibyte = 1024 ** 2
const ping = 9

interface Opened {
  readonly wire: StreamWire
  readonly clock: FakeClock
  readonly stream: WebSocketStream
}

function open(early: Buffer = Buffer.alloc(0)): Opened {
  const wire = new StreamWire()
  const clock = new FakeClock()
  return { wire, clock, stream: webSocketOn(wire, clock, early) }
}

async function flood({ wire }: Opened, frame: Buffer, bytes: number): Promise<void> {
  const count = Math.ceil(64_000 / frame.length)
  const block = Buffer.concat(Array.from({ length: count }, () => frame))
  for (let sent = 0; sent < bytes && !wire.destroyed; sent += block.length) {
    wire.push(block)
    await new Promise(setImmediate)
  }
}

t.test('pings of a client that reads nothing are answered once, when it reads', async t => {
  for (const size of [0, 125, 10_000]) {
    const opened = open()
    const { wire } = opened
    wire.isStuck = true
    await flood(opened, maskedFrame(ping, Buffer.alloc(size)), 4 * mebibyte)
    t.ok(wire.writableLength < 64 * 1024, `${wire.writableLength} bytes wait`)
    wire.goOn()
    await moment()
    t.notOk(wire.destroyed)
    wire.push(maskedFrame(ping, Buffer.from('still there')))
    await moment()
    t.match(wire.text, 'still there', 'whoever reads on is answered')
    wire.destroy()
  }
})

t.test('whatever a client sends is not kept', async t => {
  const opened = open()
  const { wire } = opened
  const before = process.memoryUsage().arrayBuffers
  wire.push(Buffer.of(0x02, 0xff, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 1, 2, 3, 4))
  await flood(opened, Buffer.alloc(64_000), 31 * mebibyte)
  t.ok(process.memoryUsage().arrayBuffers - before < 8 * mebibyte, 'of a large frame')
  wire.destroy()
  const cut = open()
  for (let i = 0; i < 100_000; i++) cut.wire.push(Buffer.of(i % 2 === 0 ? 0x01 : 0x80))
  await moment()
  t.notOk(cut.wire.destroyed, 'nor of heads that come byte by byte')
  cut.wire.destroy()
})

t.test('a client that does not read the end is cut off, and so is one that stays', async t => {
  const deaf = open()
  deaf.wire.isStuck = true
  deaf.stream.write(Buffer.alloc(100_000))
  deaf.stream.end()
  await deaf.clock.advance(slowReaderTimeoutMs - 1)
  t.notOk(deaf.wire.destroyed)
  await deaf.clock.advance(2)
  t.ok(deaf.wire.destroyed)
  t.equal(deaf.clock.pendingTimers, 0)
  const stays = open()
  stays.stream.end()
  await moment()
  await stays.clock.advance(1_000)
  t.ok(stays.wire.destroyed)
  t.equal(stays.clock.pendingTimers, 0)
})

t.test('after its end nothing is written, and nothing is read', async t => {
  const { wire, stream } = open()
  stream.end()
  t.ok(stream.write(Buffer.from('late')))
  wire.push(maskedFrame(ping, Buffer.from('late')))
  await moment()
  t.notMatch(wire.text, 'late')
  stream.end()
  wire.destroy()
})

t.test('a client that closes before its head is written has its end behind it', async t => {
  const { wire } = open(maskedFrame(8, Buffer.of(3, 232)))
  await moment()
  t.equal(wire.text, `${webSocketHead}\x88\x02\x03\xe8`)
  wire.destroy()
})

t.test('a watch whose client does not read falls behind, and costs no memory', async t => {
  const served = await startServed(t)
  await put(served, 'a')
  const socket = net.connect({ host: '127.0.0.1', port: served.service.port })
  socket.on('error', () => {})
  socket.write(handshake(`${all}&resourceVersion=0`))
  await new Promise(resolve => socket.once('data', resolve))
  socket.pause()
  for (let i = 0; i < 100; i++) {
    await putBytes(served, `/registry/configmaps/a/m${i}`, large(100_000))
  }
  t.equal(served.service.openWatches, 1)
  socket.resetAndDestroy()
  await untilWatches(served, 0)
})

t.test('handshakes that are never finished, or left, hold nothing', async t => {
  const served = await startServed(t)
  await put(served, 'a')
  const whole = handshake(all)
  for (let length = 10; length < whole.length; length += 25) {
    const socket = net.connect({ host: '127.0.0.1', port: served.service.port })
    socket.on('error', () => {})
    socket.write(whole.slice(0, length))
    await new Promise(setImmediate)
    socket.destroy()
  }
  for (let i = 0; i < 50; i++) {
    const socket = net.connect({ host: '127.0.0.1', port: served.service.port })
    socket.on('error', () => {})
    socket.write(whole)
    if (i % 2 === 0) await new Promise(resolve => socket.once('data', resolve))
    socket.resetAndDestroy()
  }
  await untilWatches(served, 0)
  t.pass()
})
