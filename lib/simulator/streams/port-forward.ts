/** `kubectl port-forward` to simulated pods: each connection to a port is one to an address that
 *  the operator has declared for it. The client speaks SPDY, on the connection itself or in the
 *  messages of a WebSocket (kubectl since 1.31). */

import { connect, type Socket } from 'node:net'
import type { Clock } from '@watchglass/base'
import type { HttpRequest } from '@watchglass/cache'
import {
  type Carrier,
  listedIn,
  plainOf,
  spdyOf,
  tunnelOf,
  upgradeOf,
  webSocketOf,
} from './carrier.ts'
import type { ClientEvents } from './client-side.ts'
import type { StreamServices } from './stream-frames.ts'
import { SpdySession } from './spdy.ts'
import type { Headers } from './spdy-headers.ts'

const tunnelProtocol = 'SPDY/3.1+portforward.k8s.io'
const plainProtocol = 'portforward.k8s.io'

/** A client that sends nothing, not even a ping, is let go after this. */
const idleMaxMs = 4 * 3_600_000
/** Streams that a client may have open on one connection: two for each that it forwards. */
const streamsMax = 2_000
/** Bytes for slow programs; beyond, the client is not read. */
const waitingMaxBytes = 1024 * 1024
/** A smaller piece would keep all of what came with it in memory. */
const copiedMaxBytes = 4 * 1024
/** A piece that waits takes so much beside its bytes. */
const pieceBytes = 256
/** Clients count their requests. */
const requestMaxLength = 100

export interface ForwardTarget {
  readonly address: string
  readonly port: number
}

/** The address for a port, or why there is none. */
export type TargetOf = (port: string) => ForwardTarget | string

export type ForwardProtocol = 'tunnel' | 'plain'

/** The way in which the client wants to speak; undefined if it is none that is spoken here. */
export function forwardProtocol(request: HttpRequest): ForwardProtocol | undefined {
  if (request.takeover === undefined) return undefined
  const upgrade = upgradeOf(request)
  if (upgrade === 'websocket') {
    const offered = listedIn(request, 'sec-websocket-protocol')
    return offered.includes(tunnelProtocol) ? 'tunnel' : undefined
  }
  const isSpoken = listedIn(request, 'x-stream-protocol-version').includes(plainProtocol)
  return upgrade === 'spdy/3.1' && isSpoken ? 'plain' : undefined
}

export interface ForwardOptions extends StreamServices {
  readonly targetOf: TargetOf
  readonly clock: Pick<Clock, 'setTimer' | 'yield'>
}

/** Agrees to the upgrade, and resolves when the connection is over. */
export function runPortForward(
  request: HttpRequest,
  protocol: ForwardProtocol,
  options: ForwardOptions,
): Promise<void> {
  return new Promise(resolve => {
    const forwarder = new Forwarder(options, events =>
      protocol === 'tunnel'
        ? tunnelOf(webSocketOf(request, tunnelProtocol), options, events)
        : plainOf(spdyOf(request, plainProtocol), options, events),
    )
    forwarder.onOver = resolve
  })
}

class Forwarder {
  readonly #options: ForwardOptions
  readonly #carrier: Carrier
  readonly #session: SpdySession
  /** Streams for errors that wait for that of their bytes, by the request's number. */
  readonly #waiting = new Map<string, number>()
  readonly #byStream = new Map<number, Socket>()
  /** Bytes that wait for programs. */
  #waitingBytes = 0
  #arePaused = false
  #cancelIdle: () => void = () => {}
  #isOver = false
  onOver: () => void = () => {}

  constructor(options: ForwardOptions, carry: (events: ClientEvents) => Carrier) {
    this.#options = options
    this.#carrier = carry({
      bytes: bytes => {
        this.#touch()
        this.#session.take(bytes)
      },
      drained: () => this.#resumeTargets(),
      over: () => this.#end(),
    })
    this.#session = new SpdySession(this.#carrier, options, {
      open: (stream, headers) => this.#open(stream, headers),
      data: (stream, bytes) => this.#write(stream, bytes),
      end: stream => this.#byStream.get(stream)?.end(),
      reset: stream => this.#byStream.get(stream)?.destroy(),
    })
    this.#touch()
  }

  #touch(): void {
    this.#cancelIdle()
    if (this.#isOver) return
    this.#cancelIdle = this.#options.clock.setTimer(idleMaxMs, () => this.#carrier.client.destroy())
  }

  #open(stream: number, headers: Headers): void {
    const request = headers.get('requestid') ?? ''
    if (request.length > requestMaxLength) return this.#carrier.close()
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
    this.#byStream.set(dataStream, socket)
    socket.on('data', (bytes: Buffer) => {
      this.#session.data(dataStream, bytes)
      if (this.#carrier.client.isFull) this.#pauseTargets()
    })
    socket.on('end', () => this.#session.end(dataStream))
    socket.on('error', error => {
      const what = `${address}:${String(port)}: ${error.message}`
      this.#session.data(errorStream, Buffer.from(`failed to forward to ${what}`))
    })
    socket.on('close', () => {
      this.#byStream.delete(dataStream)
      if (!socket.readableEnded) this.#session.end(dataStream)
      this.#session.end(errorStream)
    })
  }

  /** All of the client's streams are on one connection, so all wait for the slowest. */
  #write(stream: number, bytes: Buffer): void {
    const socket = this.#byStream.get(stream)
    if (socket === undefined || !socket.writable) return
    const size = bytes.length + pieceBytes
    const { client } = this.#carrier
    if (!this.#options.held.change(size)) return client.destroy()
    this.#waitingBytes += size
    if (this.#waitingBytes > waitingMaxBytes) client.hold(this)
    socket.write(bytes.length > copiedMaxBytes ? bytes : copyOf(bytes), () => {
      this.#options.held.change(-size)
      this.#waitingBytes -= size
      if (this.#waitingBytes <= waitingMaxBytes / 2) client.release(this)
    })
  }

  /** The client reads slowly: each of the programs would add something. */
  #pauseTargets(): void {
    if (this.#arePaused) return
    this.#arePaused = true
    for (const socket of this.#byStream.values()) socket.pause()
  }

  #resumeTargets(): void {
    this.#arePaused = false
    for (const socket of this.#byStream.values()) socket.resume()
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#cancelIdle()
    this.#session.close()
    for (const socket of this.#byStream.values()) socket.destroy()
    this.onOver()
  }
}

/** Buffers of Node's own share a slab, which a small one would keep. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}
