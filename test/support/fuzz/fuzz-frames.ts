/** Connections of frames that no library sends: over HTTP/2 at both listeners, over WebSockets and
 *  SPDY at streams to pods, over those of watches, and in answers of an etcd to our client. Each
 *  connection ends, nothing of it is held afterwards, and others are answered. */

import { createServer, type Server as NetServer, type AddressInfo } from 'node:net'
import { once } from 'node:events'
import type { Test } from 'tap'
import { createRandom, type Random, randomInt, randomItem } from '../../../lib/base/random.ts'
import { openChannels } from '../../../lib/simulator/streams/channels.ts'
import { runPortForward } from '../../../lib/simulator/streams/port-forward.ts'
import { GrpcServer } from '../../../lib/etcd-server/listen/grpc-server.ts'
import type { HttpRequest } from '../../../lib/cache/http/server/http-request.ts'
import { sendWhole } from '../../../lib/cache/http/server/respond.ts'
import { Server } from '../../../lib/cache/http/server/server.ts'
import { ClientFrames } from '../../../lib/cache/http/server/web-socket/client-frames.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { type Address, ask } from '../attacks/ask.ts'
import { outcomeOf } from '../attacks/etcd-answer.ts'
import { frame, frameTypes, headerBlock, openRaw } from '../attacks/raw-http2.ts'
import { moment } from '../http/moment.ts'
import { HeaderBlocks } from '../http/spdy-client.ts'
import { streamServices, StreamWire } from '../http/stream-wire.ts'
import { webSocketOn } from '../watch/web-socket-stream.ts'
import type { FuzzOptions } from './fuzz.ts'
import { createGrammar } from './grammar.ts'
import { http2Answers } from './http2-answers.ts'
import { oddHttp2Frame, oddSpdyFrame, oddWebSocketFrame } from './odd-frames.ts'

export interface FramesReport {
  /** Number of connections. */
  readonly sent: number
  /** Number of requests, calls and forwarded ports that have begun. */
  readonly begun: number
  readonly findings: readonly string[]
}

const framesOfConnection = 40
/** A response of etcd to a call that has one. */
const etcdAnswer: readonly Buffer[] = [
  frame(frameTypes.headers, 4, 1, headerBlock([[':status', '200']])),
  frame(frameTypes.data, 0, 1, Buffer.of(0, 0, 0, 0, 3)),
  frame(frameTypes.data, 0, 1, Buffer.of(1, 2, 3)),
  frame(frameTypes.headers, 5, 1, headerBlock([['grpc-status', '0']])),
]
const heldMaxBytes = 16 * 1024 ** 2
/** An answer to a ping, and what is written at once. */
const watchMaxBytes = 64 * 1024

/** Sends a connection of frames. A text tells what must not be. */
type Attack = (random: Random) => Promise<string | undefined>

export async function fuzzFrames(
  t: Pick<Test, 'teardown'>,
  { requests, seed }: FuzzOptions,
): Promise<FramesReport> {
  const findings: string[] = []
  let begun = 0
  const fault = (error: unknown): void => void findings.push(String(error))
  const served = async (request: HttpRequest): Promise<void> => {
    begun++
    if (request.target === '/known') request.accept()
    for await (const piece of request.body as AsyncIterable<Buffer>) void piece
    sendWhole(request, { status: 200, headers: {} }, Buffer.alloc(1_000))
  }
  const server = await Server.listen({
    listen: { protocol: 'http', host: '127.0.0.1', port: 0 },
    clock: systemClock,
    onFault: fault,
    // A body that breaks off has no answer.
    handler: request => void served(request).catch(() => request.abort()),
  })
  t.teardown(() => server.close())
  const grpcServer = await GrpcServer.listen({
    listen: '127.0.0.1:0',
    clock: systemClock,
    handle: call => {
      begun++
      call.read({ message: ({ bytes }) => void call.send(bytes), ended: () => call.finish() })
    },
  })
  t.teardown(() => grpcServer.close())
  const target = await openTarget(t, () => begun++)
  const api: Address = { protocol: 'http', port: server.port }
  const etcd: Address = { protocol: 'http', port: Number(grpcServer.address.split(':').at(-1)) }
  const attacks: readonly Attack[] = [
    random => attackHttp2(random, api),
    random => attackHttp2(random, etcd),
    random => attackStream(random, target),
    attackEtcdClient,
    attackWatch,
  ]
  let sent = 0
  for (; sent < requests; sent++) {
    const number = seed + sent
    const problem = await attacks[number % attacks.length]!(createRandom(number))
    if (problem !== undefined) findings.push(`seed ${number}: ${problem}`)
  }
  const { status } = await ask(api, '2', { path: '/' })
  if (status !== 200) findings.push(`a plain request is answered with ${status}`)
  return { sent, begun, findings }
}

/** An etcd answers a call of our client: mostly as it should, with odd frames in between. The call
 *  ends, whatever comes. */
async function attackEtcdClient(random: Random): Promise<string | undefined> {
  const frames = etcdAnswer.flatMap(sound => {
    const odd = random.next() < 0.3 ? [oddHttp2Frame(random, 1)] : []
    return random.next() < 0.9 ? [...odd, sound] : odd
  })
  const whole = Buffer.concat(frames)
  const bytes = random.next() < 0.7 ? whole : createGrammar(random).changed(whole)
  const { status } = await outcomeOf(bytes)
  return Number.isInteger(status.code) ? undefined : `a call ends with code ${status.code}`
}

/** A program behind a port that sends back what it gets. */
async function openTarget(t: Pick<Test, 'teardown'>, connected: () => void): Promise<NetServer> {
  const server = createServer(socket => {
    connected()
    socket.on('error', () => {})
    socket.pipe(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return server
}

async function attackHttp2(random: Random, address: Address): Promise<string | undefined> {
  const frames: Buffer[] = []
  let last = -1
  for (let i = 0; i < framesOfConnection; i++) {
    const one = oddHttp2Frame(random, last)
    last = Math.max(last, one.readUInt32BE(5))
    frames.push(one)
  }
  const whole = Buffer.concat(frames)
  const bytes = random.next() < 0.7 ? whole : createGrammar(random).changed(whole)
  // Without a dynamic table of headers each response can be read by itself.
  const socket = await openRaw(address, [1, 0])
  const pieces: Buffer[] = []
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  const closed = once(socket, 'close')
  socket.end(bytes)
  // nghttp2 goes on with calls that are open when its client sends no more.
  await Promise.race([closed, moment().then(moment)])
  socket.destroy()
  await closed
  return http2Answers(Buffer.concat(pieces)).problem
}

async function attackStream(random: Random, target: NetServer): Promise<string | undefined> {
  const wire = new StreamWire()
  const services = streamServices()
  const headers = { 'sec-websocket-key': 'x' }
  const takeover = { socket: wire, take: () => Buffer.alloc(0) }
  const request = { headers, takeover } as unknown as HttpRequest
  const how = randomItem(random, ['plain', 'tunnel', 'spdy', 'v5.channel.k8s.io'] as const)
  const over =
    how === 'plain' || how === 'tunnel'
      ? runPortForward(request, how, { ...services, targetOf: targetOf(target) })
      : new Promise<void>(resolve => {
          const ignore = (): void => {}
          const events = { ready: ignore, input: ignore, inputEnd: ignore, touched: ignore }
          const asked = new Set(['stdin', 'stdout'])
          openChannels(request, { protocol: how, asked, ...services }, { ...events, over: resolve })
        })
  const isWebSocket = how === 'tunnel' || how === 'v5.channel.k8s.io'
  const blocks = new HeaderBlocks()
  wire.isStuck = random.next() < 0.3
  for (let i = 0; i < framesOfConnection && !wire.destroyed; i++) {
    const spdy = await oddSpdyFrame(random, blocks, 2 * i - 1)
    const bytes = isWebSocket ? oddWebSocketFrame(random, spdy) : spdy
    const cut = Math.floor(random.next() * bytes.length)
    wire.push(bytes.subarray(0, cut))
    wire.push(bytes.subarray(cut))
    await new Promise(resolve => setImmediate(resolve))
  }
  const held = services.amount()
  wire.destroy()
  await over
  services.held.end()
  if (services.amount() !== 0) return `${how}: ${services.amount()} bytes are held for ever`
  return held > heldMaxBytes ? `${how}: ${held} bytes are held` : undefined
}

/** The client of a watch over a WebSocket. Its frames are read alike in whatever pieces they come,
 *  and little waits for it. */
async function attackWatch(random: Random): Promise<string | undefined> {
  const frames = Array.from({ length: framesOfConnection }, () =>
    oddWebSocketFrame(random, Buffer.alloc(randomInt(random, 0, 300), 'x')),
  )
  const bytes = Buffer.concat(frames)
  const [whole, inPieces] = [new ClientFrames(), new ClientFrames()]
  const wire = new StreamWire()
  wire.isStuck = random.next() < 0.5
  webSocketOn(wire, systemClock)
  const state = whole.take(bytes)
  const ping = whole.takePing()
  let lastPing: Buffer | undefined = undefined
  let lastState: typeof state = 'open'
  for (let at = 0; at < bytes.length;) {
    const piece = bytes.subarray(at, (at += randomItem(random, [1, 2, 7, 100, 70_000])))
    lastState = inPieces.take(piece)
    lastPing = inPieces.takePing() ?? lastPing
    wire.push(piece)
  }
  await moment()
  const waiting = wire.writableLength
  const hasEnded = wire.writableEnded
  wire.destroy()
  if (waiting > watchMaxBytes) return `a watch: ${waiting} bytes wait for its client`
  if (hasEnded !== (state !== 'open')) return `a watch: ${state}, and yet it goes on, or has ended`
  const isSame =
    lastState === state && (lastPing?.equals(ping ?? Buffer.of(0)) ?? ping === undefined)
  return isSame ? undefined : 'a watch: its frames are read in another way if they come in pieces'
}

function targetOf(target: NetServer) {
  const { port } = target.address() as AddressInfo
  return (asked: string) => (asked === '80' ? { address: '127.0.0.1', port } : 'nothing')
}
