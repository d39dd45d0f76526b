/** A listener for gRPC: HTTP/2, plain or TLS. Both doors of etcd's API stand behind it: that of
 *  the embedded engine and that of a mirror. It bounds what a connection may hold, ends
 *  connections that ping too often, as etcd does, and stops without cutting off answers. */

import * as http2 from 'node:http2'
import type { Socket } from 'node:net'
import type { SecureContextOptions, TLSSocket } from 'node:tls'
import { CacheError, type Clock, IdleTimer, Rounds } from '@watchglass/base'
import { commonNameOf, type OpenFiles, ResetCharges } from '@watchglass/cache'
import { IdleFrames } from './idle-frames.ts'
import { type CallHome, GrpcCall, tooMuch, windowBytes } from './grpc-call.ts'
import { Held, Holdings } from './holdings.ts'
import { PingStrikes } from './ping-strikes.ts'
import { ReadingTurns } from './reading-turns.ts'

export interface GrpcServerOptions {
  /** Such as `127.0.0.1:2379`; port 0 lets the system choose one. */
  readonly listen: string
  /** The certificate and key; with a `ca`, clients must have a certificate of it. Plain if it is
   *  left out. */
  readonly tls?: SecureContextOptions | undefined
  /** Answers a call. */
  readonly handle: (call: GrpcCall) => void
  readonly clock: Clock
  /** Closes clients that come when few files are left. */
  readonly openFiles?: OpenFiles | undefined
}

/** etcd sets no bound. A client of etcd has a stream for each set of metadata, so that this is
 *  far above what any needs. */
const streamsMax = 1000

/** Each connection costs memory, whoever opens it. */
const connectionsMax = 10_000

/** TCP probes a client that has sent nothing for so long: it may have vanished without a word. */
const probeAfterMs = 30_000

/** A connection that has no stream for so long is closed. Clients connect again when they need
 *  to. */
const idleMaxMs = 10 * 60_000

/** The bytes that all calls of a connection may send before we have read them: a request of the
 *  largest size. */
const connectionWindowBytes = 2 * 1024 * 1024

/** The interval at which calls that take too long are looked for. */
const lookEveryMs = 1000

const options: http2.ServerOptions = {
  // Node counts what is queued against this, in megabytes: a response may be large and its client
  // slow.
  maxSessionMemory: 1024,
  settings: {
    maxConcurrentStreams: streamsMax,
    maxHeaderListSize: 64 * 1024,
    initialWindowSize: windowBytes,
    enablePush: false,
  },
}

/** The last is in no type of Node 20. */
type StreamEvent = [
  stream: http2.ServerHttp2Stream,
  headers: http2.IncomingHttpHeaders,
  flags: number,
  rawHeaders: string[],
]

export class GrpcServer {
  readonly #server: http2.Http2Server | http2.Http2SecureServer
  readonly #sessions = new Set<http2.ServerHttp2Session>()
  readonly #sockets = new Set<Socket>()
  readonly #options: GrpcServerOptions
  readonly #host: string
  readonly #calls = new Set<GrpcCall>()
  readonly #holdings = new Holdings()
  readonly #turns: ReadingTurns
  readonly #rounds: Rounds
  readonly #idleFrames: IdleFrames

  private constructor(given: GrpcServerOptions, host: string) {
    this.#options = given
    this.#host = host
    const { tls, clock } = given
    this.#turns = new ReadingTurns(clock)
    this.#rounds = new Rounds(clock, lookEveryMs, () => this.#look())
    this.#idleFrames = new IdleFrames(clock)
    this.#server =
      tls === undefined
        ? http2.createServer(options)
        : http2.createSecureServer({
            ...options,
            ...tls,
            requestCert: tls.ca !== undefined,
            rejectUnauthorized: tls.ca !== undefined,
          })
    this.#server.maxConnections = connectionsMax
    this.#server.on('session', session => this.#accept(session))
    this.#server.on('connection', (socket: Socket) => {
      if (given.openFiles?.admit(socket) === false) return
      socket.setKeepAlive(true, probeAfterMs)
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    // A connection that fails is its client's matter.
    this.#server.on('sessionError', () => undefined)
    this.#server.on('tlsClientError', () => undefined)
  }

  /** Listens. Fails with `invalid_request` when it cannot. */
  static async listen(given: GrpcServerOptions): Promise<GrpcServer> {
    const { host, port } = addressFrom(given.listen)
    const server = new GrpcServer(given, host)
    await new Promise<void>((resolve, reject) => {
      server.#server.once('error', error => reject(cannotListen(given.listen, error)))
      server.#server.listen({ host: host.replace(/^\[|\]$/g, ''), port }, resolve)
    })
    return server
  }

  /** Address that it listens on, with the port that it got. */
  get address(): string {
    const address = this.#server.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    return `${this.#host}:${port}`
  }

  /** Calls under way. */
  get calls(): number {
    return this.#calls.size
  }

  /** Uses another certificate from the next connection on. */
  renewTls(tls: SecureContextOptions): void {
    if ('setSecureContext' in this.#server) this.#server.setSecureContext(tls)
  }

  /** Takes no more calls: clients are told to go elsewhere, and finish what is under way. */
  drain(): void {
    this.#server.close()
    for (const session of this.#sessions) if (!session.closed) session.close()
  }

  /** Ends everything. */
  close(): Promise<void> {
    this.drain()
    this.#rounds.stop()
    this.#idleFrames.stop()
    for (const session of this.#sessions) session.destroy()
    return new Promise(resolve => {
      setImmediate(() => {
        // A session may leave its socket to a peer that is gone.
        for (const socket of this.#sockets) socket.destroy()
        resolve()
      })
    })
  }

  #accept(session: http2.ServerHttp2Session): void {
    const strikes = new PingStrikes()
    this.#sessions.add(session)
    const count = this.#idleFrames.add(session)
    const { clock } = this.#options
    // Node's own timeout of a session stays after the session has ended, and keeps all of it for
    // its whole time.
    const idle = new IdleTimer(clock, idleMaxMs, () => session.close())
    session.once('close', () => {
      this.#sessions.delete(session)
      idle.stop()
    })
    session.on('error', () => undefined)
    session.setLocalWindowSize(connectionWindowBytes)
    session.on('ping', () => {
      idle.used()
      if (!strikes.pinged(clock.monotonicMs())) return
      session.goaway(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM, 0, tooManyPings)
      endCalmly(session)
    })
    const home = this.#homeOf(session, () => strikes.sent())
    const connections = this.#holdings.share('connections', home.certificateName)
    if (!connections.take(1)) {
      endCalmly(session)
      return
    }
    session.once('close', () => connections.give(1))
    const calls = this.#holdings.share('calls', home.certificateName)
    const resets = new ResetCharges(clock)
    session.on('stream', (...[stream, headers, , rawHeaders]: StreamEvent) => {
      count?.(stream, rawHeaders)
      stream.once('close', idle.begin())
      if (!isGrpc(headers)) {
        refuse(stream)
        return
      }
      const call = new GrpcCall(stream, headers, home)
      const head = new Held(home.requestBytes)
      this.#watchOver(call)
      if (!calls.take(1)) {
        call.finish(tooMuch)
        return
      }
      call.onClose(() => {
        calls.give(1)
        head.set(0)
        // Its client has given it up, or sent what made nghttp2 reset it, which tells nobody.
        if (call.statusCode === undefined && !resets.charge(false)) endCalmly(session)
      })
      if (head.set(sizeOf(headers))) this.#options.handle(call)
      else call.finish(tooMuch)
    })
  }

  #homeOf(session: http2.ServerHttp2Session, sent: () => void): CallHome {
    const { clock } = this.#options
    const certificateName = certificateNameOf(session.socket as TLSSocket)
    const holdings = this.#holdings
    return {
      certificateName,
      requestBytes: holdings.share('requestBytes', certificateName),
      responseBytes: holdings.share('responseBytes', certificateName),
      watchers: () => holdings.share('watchers', certificateName),
      turns: this.#turns,
      sent,
      nowMs: () => clock.monotonicMs(),
    }
  }

  #watchOver(call: GrpcCall): void {
    this.#calls.add(call)
    this.#rounds.wake()
    call.onClose(() => this.#calls.delete(call))
  }

  #look(): boolean {
    const nowMs = this.#options.clock.monotonicMs()
    for (const call of this.#calls) call.look(nowMs)
    return this.#calls.size > 0
  }
}

/** The common name of a client's certificate, which has been verified. Those without one have
 *  one in common, an empty one: they share the bounds of a name. */
function certificateNameOf(socket: TLSSocket): string | undefined {
  if (!socket.authorized) return undefined
  const certificate = socket.getPeerCertificate()
  return certificate.raw === undefined ? undefined : commonNameOf(certificate)
}

/** The size of a call's headers. */
function sizeOf(headers: http2.IncomingHttpHeaders): number {
  let size = 0
  for (const [name, value] of Object.entries(headers)) size += name.length + String(value).length
  return size
}

function isGrpc(headers: http2.IncomingHttpHeaders): boolean {
  const type = headers['content-type'] ?? ''
  return headers[':method'] === 'POST' && type.startsWith('application/grpc')
}

/** Ends a connection whose client does too much. */
function endCalmly(session: http2.ServerHttp2Session): void {
  session.destroy(undefined, http2.constants.NGHTTP2_ENHANCE_YOUR_CALM)
}

function refuse(stream: http2.ServerHttp2Stream): void {
  stream.on('error', () => undefined)
  stream.respond({ ':status': 415 }, { endStream: true })
}

const tooManyPings = Buffer.from('too_many_pings')

function addressFrom(listen: string): { host: string; port: number } {
  const [, host = '', digits] = /^(\[[0-9a-fA-F:.]+\]|[^:/[\]]+):(\d{1,5})$/.exec(listen) ?? []
  const port = Number(digits)
  if (host !== '' && port <= 65_535) return { host, port }
  throw new CacheError(
    'invalid_request',
    `cannot listen on ${listen}: it is not HOST:PORT, such as 127.0.0.1:2379`,
  )
}

function cannotListen(listen: string, error: Error): CacheError {
  const message = `cannot listen on ${listen}: ${error.message}`
  return new CacheError('invalid_request', message, { cause: error })
}
