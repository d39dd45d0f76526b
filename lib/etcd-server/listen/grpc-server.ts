/** A listener for gRPC: HTTP/2, plain or TLS. Both etcd servers stand behind it: that
 *  of the embedded engine and that of a mirror. It bounds what a connection may hold, ends
 *  connections that ping too often, as etcd does, and stops without cutting off answers. */

import { createServer, type Server as NetServer, type Socket } from 'node:net'
import {
  createServer as createTlsServer,
  type SecureContextOptions,
  type Server as TlsServer,
  type TLSSocket,
} from 'node:tls'
import { CacheError, type Clock, Rounds } from '@watchglass/base'
import {
  commonNameOf,
  Corks,
  Http2Connection,
  type Http2Stream,
  type OpenFiles,
} from '@watchglass/cache'
import { errorCode } from '@watchglass/etcd'
import { type CallHome, GrpcCall, tooMuch, windowBytes } from './grpc-call.ts'
import { CallShare, Holdings, type Share } from './holdings.ts'
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
  /** Told of mistakes of ours; they end the process if it is left out. */
  readonly onFault?: ((error: unknown) => void) | undefined
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

/** No client waits for others: ReadingTurns decides when messages are read. */
const arrivals = { read(): void {}, wasted(): void {} }
const limits = {
  open: () => () => () => {},
}

export class GrpcServer {
  readonly #server: NetServer | TlsServer
  readonly #connections = new Set<Http2Connection>()
  readonly #sockets = new Set<Socket>()
  readonly #corks = new Corks()
  readonly #options: GrpcServerOptions
  readonly #host: string
  readonly #calls = new Set<GrpcCall>()
  readonly #holdings = new Holdings()
  readonly #turns: ReadingTurns
  readonly #rounds: Rounds
  #isDraining = false

  private constructor(given: GrpcServerOptions, host: string) {
    this.#options = given
    this.#host = host
    const { tls, clock } = given
    this.#turns = new ReadingTurns(clock)
    this.#rounds = new Rounds(clock, lookEveryMs, () => this.#look())
    this.#server =
      tls === undefined
        ? createServer({ noDelay: true })
        : createTlsServer({
            ...tls,
            noDelay: true,
            requestCert: tls.ca !== undefined,
            rejectUnauthorized: tls.ca !== undefined,
            ALPNProtocols: ['h2'],
          })
    this.#server.maxConnections = connectionsMax
    this.#server.on('connection', (socket: Socket) => {
      if (given.openFiles?.admit(socket) === false) return
      socket.setKeepAlive(true, probeAfterMs)
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
      if (tls === undefined) this.#accept(socket)
    })
    this.#server.on('secureConnection', (socket: TLSSocket) => {
      if (socket.alpnProtocol === 'h2') this.#accept(socket)
      else socket.destroy()
    })
    // A connection that fails is its client's matter.
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
    this.#isDraining = true
    this.#server.close()
    for (const connection of this.#connections) connection.close()
  }

  /** Ends everything. */
  close(): Promise<void> {
    this.drain()
    this.#rounds.stop()
    for (const connection of this.#connections) connection.destroy()
    return new Promise(resolve => {
      setImmediate(() => {
        // Some are in the middle of a handshake.
        for (const socket of this.#sockets) socket.destroy()
        resolve()
      })
    })
  }

  #accept(socket: Socket): void {
    const { clock, onFault = rethrow } = this.#options
    const certificateName = certificateNameOf(socket)
    const strikes = new PingStrikes(() => connection.output.bodyBytes)
    const calls = this.#holdings.share('calls', certificateName)
    const connection: Http2Connection = new Http2Connection(
      socket,
      {
        clock,
        onFault,
        idleTimeoutMs: idleMaxMs,
        arrivals,
        limits,
        corks: this.#corks,
        // etcd sends no date.
        dateField: () => '',
        windows: { stream: windowBytes, connection: connectionWindowBytes },
        pinged: () => (strikes.pinged(clock.monotonicMs()) ? 'too_many_pings' : undefined),
        begin: stream => {
          if (isGrpc(stream)) this.#begin(stream, home, calls)
          else refuse(stream)
        },
      },
      streamsMax,
    )
    const home = this.#homeOf(connection, certificateName, () => strikes.sent())
    // Whom TLS does not refuse may do all that a client may.
    connection.accept()
    const connections = this.#holdings.share('connections', certificateName)
    if (!connections.take(1)) {
      connection.fail(errorCode.enhanceYourCalm)
      return
    }
    this.#connections.add(connection)
    socket.once('close', () => {
      this.#connections.delete(connection)
      connections.give(1)
    })
    if (this.#isDraining) connection.close()
  }

  #begin(stream: Http2Stream, home: CallHome, calls: Share): void {
    const call = new GrpcCall(stream, home)
    const head = new CallShare(home.requestBytes)
    this.#watchOver(call)
    if (!calls.take(1)) {
      call.finish(tooMuch)
      return
    }
    call.onClose(() => {
      calls.give(1)
      head.set(0)
    })
    if (head.set(sizeOf(stream))) this.#options.handle(call)
    else call.finish(tooMuch)
  }

  #homeOf(
    { output }: Http2Connection,
    certificateName: string | undefined,
    sent: () => void,
  ): CallHome {
    const { clock } = this.#options
    const holdings = this.#holdings
    return {
      certificateName,
      requestBytes: holdings.share('requestBytes', certificateName),
      responseBytes: holdings.share('responseBytes', certificateName),
      watchers: () => holdings.share('watchers', certificateName),
      turns: this.#turns,
      sent,
      output: () => ({
        sentBytes: output.sentBytes,
        untakenBytes: output.socket.writableLength,
      }),
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
function certificateNameOf(socket: Socket | TLSSocket): string | undefined {
  if (!('authorized' in socket) || !socket.authorized) return undefined
  const certificate = socket.getPeerCertificate()
  return certificate.raw === undefined ? undefined : commonNameOf(certificate)
}

/** The size of a call's headers. */
function sizeOf({ target, headers }: Http2Stream): number {
  let size = target.length
  for (const [name, value] of Object.entries(headers)) size += name.length + String(value).length
  return size
}

function isGrpc({ method, headers }: Http2Stream): boolean {
  const type = headers['content-type'] ?? ''
  return method === 'POST' && type.startsWith('application/grpc')
}

function refuse(stream: Http2Stream): void {
  stream.respond(415, {})
  stream.end()
}

function rethrow(error: unknown): void {
  throw error
}

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
