/** Forwarded ports, over SPDY on the connection itself: where they lead, how they end, and how a
 *  slow side stops the other. */

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import t, { type Test } from 'tap'
import { type ForwardTarget, runPortForward } from '../../../lib/simulator/streams/port-forward.ts'
import type { HttpRequest } from '../../../lib/cache/http/server/http-request.ts'
import { moment } from '../../support/http/moment.ts'
import { dataFrame, HeaderBlocks, openFrame } from '../../support/http/spdy-client.ts'
import { streamServices } from '../../support/http/stream-wire.ts'

/** The client's connection. Frames that the server sends are told as texts. */
class Wire extends Duplex {
  readonly told: string[] = []
  /** A client that reads nothing. */
  isStuck = false
  #unread = Buffer.alloc(0)
  #isUpgraded = false
  #next: () => void = () => {}

  override _read(): void {}

  override _write(piece: Buffer, _: string, done: () => void): void {
    if (this.#isUpgraded) this.#take(piece)
    this.#isUpgraded = true
    if (!this.isStuck) done()
  }

  async until(test: (told: readonly string[]) => boolean): Promise<void> {
    while (!test(this.told)) await new Promise<void>(resolve => (this.#next = resolve))
  }

  #take(piece: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, piece])
    while (this.#unread.length >= 8) {
      const length = 8 + this.#unread.readUIntBE(5, 3)
      if (this.#unread.length < length) return
      const frame = this.#unread.subarray(0, length)
      this.#unread = this.#unread.subarray(length)
      // Replies to streams that were opened say nothing.
      if (frame.readUInt32BE() >= 2 ** 31) continue
      const text = frame.subarray(8).toString()
      this.told.push(`${frame.readUInt32BE()}${frame[4] === 1 ? ' end' : ''} ${text}`.trim())
      this.#next()
    }
  }
}

interface Opened {
  readonly wire: Wire
  readonly blocks: HeaderBlocks
  readonly over: Promise<void>
}

function open(targets: Readonly<Record<string, ForwardTarget>>): Opened {
  const wire = new Wire()
  const takeover = { socket: wire, take: () => Buffer.alloc(0) }
  const over = runPortForward({ headers: {}, takeover } as unknown as HttpRequest, 'plain', {
    targetOf: port => targets[port] ?? `nothing is behind ${port}`,
    ...streamServices(),
  })
  return { wire, blocks: new HeaderBlocks(), over }
}

/** Opens a connection to a port: streams 1 and 3. */
async function connectTo({ wire, blocks }: Opened, port: string): Promise<void> {
  const common = { port, requestid: '0' }
  wire.push(openFrame(1, await blocks.block({ streamtype: 'error', ...common }), 1))
  wire.push(openFrame(3, await blocks.block({ streamtype: 'data', ...common })))
}

async function listen(t: Test, serve: (socket: Socket) => void): Promise<ForwardTarget> {
  const server = createServer({ allowHalfOpen: true }, serve)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return { address: '127.0.0.1', port: (server.address() as AddressInfo).port }
}

t.test('bytes go both ways, and each side ends on its own', async t => {
  const target = await listen(t, socket => {
    socket.write('hello ')
    let said = ''
    socket.on('data', bytes => (said += String(bytes)))
    socket.on('end', () => socket.end(said))
  })
  const opened = open({ '80': target })
  await connectTo(opened, '80')
  const { wire } = opened
  wire.push(dataFrame(3, 'wor'))
  wire.push(dataFrame(3, 'ld'))
  await wire.until(told => told.includes('3 hello'))
  wire.push(dataFrame(3, '', 1))
  await wire.until(told => told.includes('1 end'))
  t.strictSame(wire.told, ['3 hello', '3 world', '3 end', '1 end'])
  wire.destroy()
  await opened.over
})

t.test('a port that leads nowhere is told on the stream for errors', async t => {
  const gone = await listen(t, () => {})
  const opened = open({ '81': { ...gone, port: 1 } })
  await connectTo(opened, '80')
  await opened.wire.until(told => told.includes('3 end'))
  t.strictSame(opened.wire.told, ['1 nothing is behind 80', '1 end', '3 end'])
  const other = open({ '81': { ...gone, port: 1 } })
  await connectTo(other, '81')
  await other.wire.until(told => told.includes('1 end'))
  t.match(other.wire.told[0], /^1 failed to forward to 127\.0\.0\.1:1: connect ECONNREFUSED/)
  for (const { wire, over } of [opened, other]) {
    wire.destroy()
    await over
  }
})

t.test('a stream without its stream for errors ends the connection', async t => {
  const { wire, blocks, over } = open({})
  wire.push(openFrame(3, await blocks.block({ streamtype: 'data', port: '80', requestid: '0' })))
  wire.resume()
  await once(wire, 'finish')
  wire.destroy()
  await over
  t.strictSame(wire.told, [])
})

t.test('the end of the client ends its connections', async t => {
  let closed: () => void = () => {}
  const isClosed = new Promise<void>(resolve => (closed = resolve))
  const target = await listen(t, socket => {
    socket.write('x')
    socket.on('error', () => {})
    socket.on('close', closed)
    socket.resume()
    socket.on('end', () => socket.end())
  })
  const opened = open({ '80': target })
  await connectTo(opened, '80')
  await opened.wire.until(told => told.length > 0)
  opened.wire.destroy()
  await Promise.all([opened.over, isClosed])
})

t.test('a program that reads nothing stops the client', async t => {
  let connected: (socket: Socket) => void = () => {}
  const connection = new Promise<Socket>(resolve => (connected = resolve))
  const target = await listen(t, socket => connected(socket.pause()))
  const opened = open({ '80': target })
  const { wire } = opened
  t.teardown(() => wire.destroy())
  await connectTo(opened, '80')
  const socket = await connection
  t.teardown(() => socket.destroy())
  const pieceBytes = 500_000
  let pushed = 0
  while (!wire.isPaused()) {
    wire.push(dataFrame(3, 'x'.repeat(pieceBytes)))
    pushed += pieceBytes
    await moment()
  }
  let read = 0
  socket.on('data', bytes => (read += bytes.length)).resume()
  await once(wire, 'resume')
  while (read < pushed) await moment()
  t.equal(read, pushed, 'and loses nothing')
  wire.destroy()
  await opened.over
})

t.test('a client that sends before the headers of its streams are read loses nothing', async t => {
  let read = 0
  const target = await listen(t, socket => {
    socket.on('data', bytes => (read += bytes.length))
    socket.on('error', () => {})
  })
  const opened = open({ '80': target })
  const { wire } = opened
  t.teardown(() => wire.destroy())
  await connectTo(opened, '80')
  const pieceBytes = 500_000
  let pushed = 0
  for (let i = 0; i < 20; i++) {
    while (wire.isPaused()) await moment()
    wire.push(dataFrame(3, 'x'.repeat(pieceBytes)))
    pushed += pieceBytes
    // The bytes are taken in another turn.
    await new Promise(resolve => process.nextTick(resolve))
  }
  while (read < pushed && !wire.destroyed) await moment()
  t.equal(read, pushed)
  wire.destroy()
  await opened.over
})

t.test('a client that reads nothing stops the program', async t => {
  let written = 0
  const target = await listen(t, socket => {
    socket.on('error', () => {})
    const more = (): void => {
      while (!socket.destroyed && socket.write(Buffer.alloc(100_000))) written += 100_000
    }
    socket.on('drain', more)
    more()
  })
  const opened = open({ '80': target })
  const { wire } = opened
  await connectTo(opened, '80')
  await wire.until(told => told.length > 0)
  wire.isStuck = true
  // Until nothing more comes.
  for (let before = -1; before !== written;) {
    before = written
    for (let i = 0; i < 200; i++) await new Promise(resolve => setImmediate(resolve))
  }
  t.ok(wire.writableLength < 2 * 1024 * 1024, `${wire.writableLength} bytes wait`)
  wire.destroy()
  await opened.over
})
