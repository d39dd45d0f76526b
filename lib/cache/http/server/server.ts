/** Listeners: HTTP/1.1 and HTTP/2 on one port, told apart by the first bytes (plain) or by ALPN
 *  (TLS), with limits, and with a stop that lets open requests finish. The handler decides what to
 *  answer. */

import * as http from 'node:http'
import * as https from 'node:https'
import type * as net from 'node:net'
import type { Duplex } from 'node:stream'
import type { SecureContextOptions, TlsOptions } from 'node:tls'
import { Bag, CacheError, type Clock, unreachable } from '@watchglass/base'
import { headersMaxBytes } from '@watchglass/etcd'
import type { HttpRequest, Handler, OnFault } from './http-request.ts'
import type { OpenFiles } from './open-files.ts'
import { onFirstBytes } from './first-bytes.ts'
import { guarded } from './guarded.ts'
import { closesFlood, Http1Request, type Http1Services } from './h1.ts'
import { WaitingTakeover } from './takeover.ts'
import { sendWhole } from './respond.ts'
import { refuseMalformed } from './malformed.ts'
import { Arrivals } from './arrivals.ts'
import { BareConnections } from './bare/connections.ts'
import { Http2Connections } from './http2/connections.ts'
import type { PingTimes } from './http2/pings.ts'
import { MaybeWebSocket, type Upgrades } from './maybe-web-socket.ts'
import { partWith } from './parting.ts'
import { StalledClients } from './stalled.ts'
import { StreamLimits } from './stream-limits.ts'

export interface Listen {
  readonly protocol: 'http' | 'https'
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
  /** Others listen on the port beside this server, each with a socket of its own. */
  readonly isShared?: boolean | undefined
}

export interface ServerOptions {
  readonly listen: Listen
  readonly handler: Handler
  readonly onFault: OnFault
  /** With `https`. A `ca` makes the server ask for client certificates. */
  readonly tls?: SecureContextOptions | undefined
  readonly clock: Clock
  /** Closes clients that come when few files are left. */
  readonly openFiles?: OpenFiles | undefined
  /** The requests for an upgrade that are handed over with their connection; undefined: none. All
   *  others are answered like any other request. */
  readonly takesUpgrades?: Upgrades | undefined
  /** Time that a connection without requests is kept. */
  readonly idleTimeoutMs?: number | undefined
  /** The time limit of a client for a handshake, or for headers. */
  readonly headersTimeoutMs?: number | undefined
  /** Pings to silent clients over HTTP/2; none if it is left out. */
  readonly pings?: PingTimes | undefined
}

/** Headers must be complete after this time: the client may be holding the connection on
 *  purpose. */
const headersTimeoutMs = 30_000
/** Node looks for connections that are late this often within that time. */
const checksWithin = 6
/** Idle connections are kept as long as Go's HTTP server keeps them. */
const idleTimeoutMs = 90_000
/** TCP keep-alive probes begin after this time without traffic. */
const vanishedAfterMs = 30_000

interface Times {
  readonly idleTimeoutMs: number
  readonly headersTimeoutMs: number
}

function http1Options(times: Times, upgrades: Upgrades | undefined): http.ServerOptions {
  return {
    ...(upgrades === 'WebSockets' ? { IncomingMessage: MaybeWebSocket } : {}),
    maxHeaderSize: headersMaxBytes,
    headersTimeout: times.headersTimeoutMs,
    connectionsCheckingInterval: times.headersTimeoutMs / checksWithin,
    // No limit here: how long a body may take depends on its request
    // (lib/cache/http/request/read-body.ts).
    requestTimeout: 0,
    keepAliveTimeout: times.idleTimeoutMs,
    noDelay: true,
    // Notices clients that have vanished without closing: a watch may have nothing to write for an
    // hour.
    keepAlive: true,
    keepAliveInitialDelay: vanishedAfterMs,
  }
}

/** A running server. */
export class Server {
  readonly #http1: http.Server
  readonly #secure: https.Server | undefined
  readonly #sockets = new Bag<net.Socket>()
  readonly #http2: Http2Connections
  readonly #bare: BareConnections
  #handler: Handler
  readonly #services: Http1Services
  readonly #requests = new Bag<HttpRequest>()
  readonly #stalled: StalledClients
  readonly #arrivals: Arrivals
  readonly #openFiles: OpenFiles | undefined
  readonly #times: Times
  #onIdle: (() => void) | undefined
  #isLeaving = false
  #isDraining = false
  #isCloseDue = false

  private constructor(options: ServerOptions) {
    const { listen, handler, tls, clock, takesUpgrades } = options
    this.#handler = handler
    this.#services = { clock, onFault: options.onFault }
    this.#openFiles = options.openFiles
    this.#times = {
      idleTimeoutMs: options.idleTimeoutMs ?? idleTimeoutMs,
      headersTimeoutMs: options.headersTimeoutMs ?? headersTimeoutMs,
    }
    this.#bare = new BareConnections({
      ...this.#times,
      clock,
      onFault: this.#services.onFault,
      isLeaving: () => this.#isLeaving,
      begin: (request, socket) => this.#begin(request, socket),
    })
    this.#stalled = new StalledClients(this.#requests, clock)
    this.#arrivals = new Arrivals(clock)
    this.#http2 = new Http2Connections({
      clock,
      onFault: this.#services.onFault,
      idleTimeoutMs: this.#times.idleTimeoutMs,
      arrivals: this.#arrivals,
      limits: new StreamLimits(clock),
      pings: options.pings,
      begin: (request, connection) => {
        if (isWellFormed(request)) this.#begin(request, connection)
        else refuseStream(request)
      },
    })
    switch (listen.protocol) {
      case 'https':
        this.#secure = this.#createSecure(tls ?? {}, takesUpgrades)
        this.#http1 = this.#withHttp1(this.#secure)
        break
      case 'http':
        this.#http1 = this.#sniffProtocol(
          this.#withHttp1(http.createServer(http1Options(this.#times, takesUpgrades))),
        )
        break
      default:
        unreachable(listen.protocol)
    }
    if (takesUpgrades !== undefined) this.#takeUpgrades(this.#http1)
  }

  /** Node hands such a connection to the listener of this event. An ordinary response closes it. */
  #takeUpgrades(server: http.Server): void {
    server.on('upgrade', (request: http.IncomingMessage, stream: Duplex, head: Buffer) => {
      const socket = stream as net.Socket
      const response = new http.ServerResponse(request)
      response.shouldKeepAlive = false
      response.assignSocket(socket)
      response.on('finish', () => partWith(socket, this.#services.clock))
      socket.on('error', () => {})
      const takeover = new WaitingTakeover(socket, head, this.#services.onFault)
      this.#begin(new Http1Request(request, response, this.#services, takeover), socket)
    })
  }

  /** Listens; refuses an address that is taken or not ours, naming it. */
  static async listen(options: ServerOptions): Promise<Server> {
    const server = new Server(options)
    const { host, port } = options.listen
    const listener = server.#http1
    await new Promise<void>((resolve, reject) => {
      listener.once('error', error =>
        reject(
          new CacheError('invalid_request', `cannot listen on ${host}:${port}: ${error.message}`, {
            cause: error,
          }),
        ),
      )
      listener.listen(listenOptionsOf(options.listen), resolve)
    })
    return server
  }

  get port(): number {
    const address = this.#http1.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  /** Requests under way, watches and tunnels among them. */
  get requestsInFlight(): number {
    return this.#requests.size
  }

  /** Answers what begins from now on. */
  set handler(handler: Handler) {
    this.#handler = handler
  }

  /** Uses another certificate for new connections. */
  replaceTls(options: SecureContextOptions): void {
    this.#secure?.setSecureContext(options)
  }

  /** Each HTTP/1.1 answer closes its connection from now on, so that clients go elsewhere: the end
   *  of a kept connection may cross a request. */
  leave(): void {
    this.#isLeaving = true
  }

  /** Stops accepting, lets requests under way finish, and closes connections as they become idle.
   *  Resolves when all are gone. */
  async drain(): Promise<void> {
    this.leave()
    this.#isDraining = true
    this.#http1.close()
    this.#http2.drain()
    this.#closeIdle()
    if (this.#requests.size > 0) {
      await new Promise<void>(resolve => {
        this.#onIdle = resolve
      })
    }
    this.close()
  }

  /** Cuts off all open requests. */
  close(): void {
    this.#isDraining = true
    this.#stalled.stop()
    this.#http1.close()
    this.#http2.destroy()
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Node's HTTP/1.1 server listens, because only a server that listens times out slow headers and
   *  idle connections. */
  #createSecure(tls: SecureContextOptions, upgrades: Upgrades | undefined): https.Server {
    const verification: TlsOptions =
      tls.ca === undefined ? {} : { requestCert: true, rejectUnauthorized: false }
    const server = https.createServer({
      ...http1Options(this.#times, upgrades),
      ...tls,
      ...verification,
      handshakeTimeout: this.#times.headersTimeoutMs,
      ALPNProtocols: ['h2', 'http/1.1'],
    })
    const begins = server.listeners('connection')
    server.removeAllListeners('connection')
    server.on('connection', (socket: net.Socket) => {
      if (this.#openFiles?.admit(socket) === false) return
      onFirstBytes(socket, this.#times.headersTimeoutMs, () => {
        this.#arrivals.handshake(socket.remoteAddress ?? '', () => {
          if (!socket.destroyed) call(begins, server, socket)
        })
      })
    })
    const listeners = server.listeners('secureConnection')
    server.removeAllListeners('secureConnection')
    server.on('secureConnection', socket => {
      this.#track(socket)
      if (socket.alpnProtocol === 'h2') this.#openHttp2(socket)
      else this.#bare.open(socket, taken => call(listeners, server, taken))
    })
    return server
  }

  /** A connection that begins with the HTTP/2 preface goes to the HTTP/2 server, any other to the
   *  HTTP/1.1 server. */
  #sniffProtocol(http1: http.Server): http.Server {
    const listeners = http1.listeners('connection')
    http1.removeAllListeners('connection')
    return http1.on('connection', (socket: net.Socket) => {
      if (this.#openFiles?.admit(socket) === false) return
      this.#track(socket)
      onFirstBytes(socket, this.#times.headersTimeoutMs, start => {
        if (start.subarray(0, 4).toString('latin1') === 'PRI ') {
          // The HTTP/1.1 server accepts half-open sockets; an HTTP/2 client that ends has gone.
          socket.allowHalfOpen = false
          this.#openHttp2(socket)
        } else this.#bare.open(socket, taken => call(listeners, http1, taken))
      })
    })
  }

  #openHttp2(socket: net.Socket): void {
    this.#arrivals.session(socket.remoteAddress ?? '', () => {
      if (!socket.destroyed) this.#http2.open(socket)
    })
  }

  #withHttp1<T extends http.Server>(server: T): T {
    server.on('request', (request, response) => {
      if (closesFlood(request)) return
      if (this.#isLeaving) response.shouldKeepAlive = false
      this.#begin(new Http1Request(request, response, this.#services), request.socket)
    })
    // Node leaves out what is beyond 2,000 lines, and an identity may be among it. Bytes are
    // bounded.
    server.maxHeadersCount = 0
    server.on('clientError', (error, socket) =>
      refuseMalformed(error, socket, this.#services.clock),
    )
    return server
  }

  #begin(request: HttpRequest, connection: object): void {
    const leave = this.#requests.add(request)
    this.#stalled.wake()
    request.onClose(() => {
      leave()
      if (this.#isDraining) this.#closeIdleSoon()
      if (this.#requests.size === 0) this.#onIdle?.()
    })
    const handle = (): void => {
      if (!request.isClosed) this.#handler(request)
    }
    const start = guarded(request, handle, this.#services.onFault)
    this.#arrivals.request(connection, start)
  }

  /** Once for all requests that end in this turn: all watches end in one. */
  #closeIdleSoon(): void {
    if (this.#requests.size === 0) {
      this.#closeIdle()
      return
    }
    if (this.#isCloseDue) return
    this.#isCloseDue = true
    setImmediate(() => {
      this.#isCloseDue = false
      this.#closeIdle()
    })
  }

  #closeIdle(): void {
    this.#http1.closeIdleConnections()
    this.#bare.closeIdle()
  }

  #track(socket: net.Socket): void {
    socket.on('close', this.#sockets.add(socket))
  }
}

/** Calls what Node listens with. */
function call(listeners: readonly Function[], server: http.Server, socket: net.Socket): void {
  for (const listener of listeners) listener.call(server, socket)
}

/** A token (RFC 9110, 5.6.2), except the two that mean something else than a request for a target:
 *  `PRI` begins another protocol, and `CONNECT` opens a tunnel. Other methods that HTTP/1.1's
 *  parser of Node refuses, such as `FOO` or `get`, are read alike by every server: kube-apiserver
 *  answers them with 405. */
const method = /^(?!(?:PRI|CONNECT)$)[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const target = /^[\x21-\x7e]*$/

/** False for what an upstream could read in another way than we do. */
function isWellFormed(request: HttpRequest): boolean {
  return method.test(request.method) && target.test(request.target)
}

function refuseStream(request: HttpRequest): void {
  const headers = { 'content-type': 'text/plain; charset=utf-8' }
  const body = Buffer.from('the method is not allowed, or the path has bytes that must be escaped')
  sendWhole(request, { status: 400, headers }, body)
}

/** `reusePort` has no type in Node 20, which ignores it (lib/cli/commands/plan/threads.ts). */
function listenOptionsOf({ host, port, isShared = false }: Listen): net.ListenOptions {
  return { host, port, reusePort: isShared } as net.ListenOptions
}
