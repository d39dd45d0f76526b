/** `kubectl port-forward` to made-up pods: each connection to a port is one to an address that the
 *  operator has declared for it. The client speaks SPDY, on the connection itself or in the
 *  messages of a WebSocket (kubectl since 1.31). */

import { connect, type Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'
import type { Exchange } from '../../http/server/exchange.ts'
import {
  type Carrier,
  type CarrierEvents,
  listedIn,
  plainOf,
  tunnelOf,
  upgradeOf,
} from './carrier.ts'
import { SpdySession } from './spdy.ts'
import type { Headers } from './spdy-headers.ts'

const tunnelProtocol = 'SPDY/3.1+portforward.k8s.io'
const plainProtocol = 'portforward.k8s.io'

/** A client that sends nothing, not even a ping, is let go after this. */
const idleMaxMs = 4 * 3_600_000
/** Streams that a client may have open on one connection: two for each that it forwards. */
const streamsMax = 2_000
/** Bytes for a slow program; beyond, the client is not read. */
const waitingMaxBytes = 1024 * 1024

export interface ForwardTarget {
  readonly address: string
  readonly port: number
}

/** The address for a port, or why there is none. */
export type TargetOf = (port: string) => ForwardTarget | string

export type ForwardProtocol = 'tunnel' | 'plain'

/** The way in which the client wants to speak; undefined if it is none that is spoken here. */
export function forwardProtocol(exchange: Exchange): ForwardProtocol | undefined {
  if (exchange.takeover === undefined) return undefined
  const upgrade = upgradeOf(exchange)
  if (upgrade === 'websocket') {
    const offered = listedIn(exchange, 'sec-websocket-protocol')
    return offered.includes(tunnelProtocol) ? 'tunnel' : undefined
  }
  const isSpoken = listedIn(exchange, 'x-stream-protocol-version').includes(plainProtocol)
  return upgrade === 'spdy/3.1' && isSpoken ? 'plain' : undefined
}

export interface ForwardOptions {
  readonly targetOf: TargetOf
  readonly clock: Pick<Clock, 'setTimer'>
}

/** Agrees to the upgrade, and resolves when the connection is over. */
export function runPortForward(
  exchange: Exchange,
  protocol: ForwardProtocol,
  { targetOf, clock }: ForwardOptions,
): Promise<void> {
  return new Promise(resolve => {
    const forwarder = new Forwarder({ targetOf, clock }, events =>
      protocol === 'tunnel'
        ? tunnelOf(exchange, tunnelProtocol, events)
        : plainOf(exchange, plainProtocol, events),
    )
    forwarder.onOver = resolve
  })
}

/** A connection that is forwarded: the stream of its bytes, and that of its errors. */
interface Forwarded {
  readonly dataStream: number
  readonly errorStream: number
  readonly socket: Socket
}

class Forwarder {
  readonly #options: ForwardOptions
  readonly #carrier: Carrier
  readonly #session: SpdySession
  /** Streams for errors that wait for that of their bytes, by the request's number. */
  readonly #waiting = new Map<string, number>()
  readonly #byStream = new Map<number, Forwarded>()
  /** Those for whom the client is not read: programs that read slowly, and the session if more has
   *  come than it has read. */
  readonly #slow = new Set<Socket | SpdySession>()
  #cancelIdle: () => void = () => {}
  #isOver = false
  onOver: () => void = () => {}

  constructor(options: ForwardOptions, carry: (events: CarrierEvents) => Carrier) {
    this.#options = options
    this.#session = new SpdySession({
      send: bytes => this.#carrier.send(bytes),
      open: (stream, headers) => this.#open(stream, headers),
      data: (stream, bytes) => this.#write(stream, bytes),
      end: stream => this.#byStream.get(stream)?.socket.end(),
      reset: stream => this.#byStream.get(stream)?.socket.destroy(),
      behind: isBehind => (isBehind ? this.#wait(this.#session) : this.#isRead(this.#session)),
      fail: () => this.#carrier.close(),
    })
    this.#carrier = carry({
      bytes: bytes => {
        this.#touch()
        this.#session.take(bytes)
      },
      drained: () => this.#resumeTargets(),
      over: () => this.#end(),
    })
    this.#touch()
  }

  #touch(): void {
    this.#cancelIdle()
    if (this.#isOver) return
    this.#cancelIdle = this.#options.clock.setTimer(idleMaxMs, () => this.#carrier.close())
  }

  #open(stream: number, headers: Headers): void {
    const request = headers.get('requestid') ?? ''
    if (headers.get('streamtype') === 'error') {
      if (this.#waiting.size + this.#byStream.size >= streamsMax) return this.#carrier.close()
      this.#waiting.set(request, stream)
      return
    }
    const errorStream = this.#waiting.get(request)
    this.#waiting.delete(request)
    if (errorStream === undefined) return this.#carrier.close()
    const target = this.#options.targetOf(headers.get('port') ?? '')
    if (typeof target !== 'string') return this.#connect(target, stream, errorStream)
    this.#session.data(errorStream, Buffer.from(target))
    this.#session.end(errorStream)
    this.#session.end(stream)
  }

  #connect({ address, port }: ForwardTarget, dataStream: number, errorStream: number): void {
    const socket = connect({ host: address, port, allowHalfOpen: true })
    const forwarded = { dataStream, errorStream, socket }
    this.#byStream.set(dataStream, forwarded)
    socket.on('data', (bytes: Buffer) => {
      this.#session.data(dataStream, bytes)
      if (this.#carrier.isFull) socket.pause()
    })
    socket.on('end', () => this.#session.end(dataStream))
    socket.on('drain', () => this.#isRead(socket))
    socket.on('error', error => {
      const what = `${address}:${String(port)}: ${error.message}`
      this.#session.data(errorStream, Buffer.from(`failed to forward to ${what}`))
    })
    socket.on('close', () => {
      this.#isRead(socket)
      this.#byStream.delete(dataStream)
      if (!socket.readableEnded) this.#session.end(dataStream)
      this.#session.end(errorStream)
    })
  }

  #write(stream: number, bytes: Buffer): void {
    const socket = this.#byStream.get(stream)?.socket
    if (socket === undefined || !socket.writable) return
    socket.write(bytes)
    if (socket.writableLength > waitingMaxBytes) this.#wait(socket)
  }

  /** All of the client's streams are on one connection, so all wait for the slowest. */
  #wait(slow: Socket | SpdySession): void {
    this.#slow.add(slow)
    this.#carrier.pause()
  }

  #isRead(slow: Socket | SpdySession): void {
    if (this.#slow.delete(slow) && this.#slow.size === 0) this.#carrier.resume()
  }

  #resumeTargets(): void {
    for (const { socket } of this.#byStream.values()) socket.resume()
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#cancelIdle()
    this.#session.close()
    for (const { socket } of this.#byStream.values()) socket.destroy()
    this.onOver()
  }
}
