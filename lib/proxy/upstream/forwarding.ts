/** Forwards one request, to one server after another until one of them has received it.
 *
 *  undici writes the request and parses the response. It refuses most of what could be read in two
 *  ways (a length that is given twice, or together with chunks; lines that do not end as they
 *  must); what it takes and we do not is refused here. */

import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex, Readable } from 'node:stream'
import type { Client, Dispatcher } from 'undici'
import type { Clock } from '@watchglass/base'
import { badRequest } from '@watchglass/kube'
import type { ConnectionPool, Passage } from './connection-pool.ts'
import { UpstreamFailure, upstreamFailure } from './failure.ts'
import type { UpstreamServer, Use } from './server.ts'
import type {
  ForwardBody,
  ForwardControl,
  ForwardRequest,
  ForwardSink,
  TunnelSink,
} from './upstream.ts'

/** A request that passes, or one for an upgrade. */
export interface ForwardedRequest extends Omit<ForwardRequest, 'isLongRunning' | 'isIdentified'> {
  /** The protocol that is asked for. */
  readonly upgrade?: string | undefined
}

type Controller = Dispatcher.DispatchController

/** The servers that a request may go to. */
export interface ForwardingServers {
  readonly clock: Clock
  choose(tried: ReadonlySet<UpstreamServer>): UpstreamServer
  /** True if no server is left to try. */
  areTried(tried: ReadonlySet<UpstreamServer>): boolean
  unreachable(server: UpstreamServer, error: unknown): void
  /** Takes note that a request is over. */
  ended(use: Use): void
}

/** The receiver of the response, and how long the request uses a connection. */
export interface ForwardingEnds {
  readonly sink: ForwardSink & Partial<TunnelSink>
  readonly use: Use
  /** The server does not accept the credentials (401). */
  readonly onRefused?: (() => void) | undefined
}

/** RFC 9110, 9.2.2: sending it twice has the effect of sending it once. */
const idempotentMethods: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'OPTIONS',
  'TRACE',
  'PUT',
  'DELETE',
])

const noServers: ReadonlySet<UpstreamServer> = new Set()
/** 1xx responses before the final one. Servers send one or two. */
const informationalMax = 16
/** An upstream that takes nothing of a body for so long is given up, as a client is that takes
 *  nothing of a response. */
const unreadMaxMs = 60_000

export class Forwarding implements ForwardControl, Passage, Dispatcher.DispatchHandler {
  readonly #request: ForwardedRequest
  readonly #servers: ForwardingServers
  readonly #use: Use
  readonly #sink: ForwardSink & Partial<TunnelSink>
  readonly #onRefused: (() => void) | undefined
  #tried: Set<UpstreamServer> | undefined = undefined
  #server: UpstreamServer | undefined = undefined
  #connections: ConnectionPool | undefined = undefined
  /** Client that it is on, from when it has a connection. */
  #client: Client | undefined = undefined
  /** Set as soon as the upstream may have seen the request. */
  #controller: Controller | undefined = undefined
  #switched: Duplex | undefined = undefined
  #informational = 0
  #isOver = false

  constructor(request: ForwardedRequest, ends: ForwardingEnds, servers: ForwardingServers) {
    this.#request = request
    this.#sink = ends.sink
    this.#use = ends.use
    this.#onRefused = ends.onRefused
    this.#servers = servers
  }

  get user(): string | undefined {
    return this.#request.user
  }

  /** Never throws: failures go to the sink, and everything that was taken is released. */
  begin(): void {
    try {
      const server = this.#servers.choose(this.#tried ?? noServers)
      this.#server = server
      server.load++
      this.#connections = server.connections(this.#request.as, this.#use)
      this.#connections.dispatch(this)
    } catch (error) {
      this.failed(error)
    }
  }

  send(client: Client): boolean {
    this.#client = client
    const { method, path, headers, body, upgrade } = this.#request
    const isLast = method === 'HEAD' || upgrade !== undefined
    client.dispatch(
      {
        method,
        path: `${this.#server?.pathPrefix ?? ''}${path}`,
        headers: headers as string[],
        // undici takes any iterable, whatever its type says.
        body: body === undefined ? null : (this.#piecesOf(body) as unknown as Readable),
        ...(upgrade === undefined ? {} : { upgrade }),
        // A connection that has carried a body with DELETE, or a response to HEAD, is closed if
        // undici is not told otherwise. Of these only the second could be followed by a body that
        // nobody expects.
        ...(isLast ? {} : { reset: false }),
      },
      this,
    )
    return !this.#isOver
  }

  resume(): void {
    this.#controller?.resume()
  }

  abort(): void {
    if (this.#isOver) return
    this.#end()
    if (this.#switched !== undefined) this.#switched.destroy()
    else if (this.#controller === undefined) this.#connections?.cancel(this, this.#client)
    else this.#controller.abort(new Error('the response is not wanted any more'))
  }

  failed(error: unknown): void {
    if (this.#isOver) return
    const server = this.#server
    const failure = upstreamFailure(error, this.#controller !== undefined)
    const isUnreachable = failure instanceof UpstreamFailure && failure.fault === 'unreachable'
    if (isUnreachable && server !== undefined) {
      this.#servers.unreachable(server, error)
      this.#tried ??= new Set()
      this.#tried.add(server)
      if (idempotentMethods.has(this.#request.method) && !this.#servers.areTried(this.#tried)) {
        server.load--
        this.#server = undefined
        this.#client = undefined
        this.begin()
        return
      }
    }
    this.#end()
    this.#sink.failed(failure)
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller
  }

  onResponseStart(_: unknown, code: number, headers: IncomingHttpHeaders): void {
    if (this.#isOver) return
    if (code < 200) {
      this.#informational++
      // A protocol was not asked for, or is not the one that was.
      if (code === 101 || this.#informational > informationalMax) this.#refuse()
      return
    }
    const { 'transfer-encoding': coding } = headers
    const isFramed = coding === undefined || String(coding).trim().toLowerCase() === 'chunked'
    // Codes end at 599 (RFC 9110, 15), and over HTTP/2 no others can be passed on.
    if (!isFramed || code > 599) {
      this.#refuse()
      return
    }
    if (code === 401) this.#onRefused?.()
    this.#sink.started(code, trimmed(headers))
    if (code !== 304 || headers['content-length'] === undefined) return
    // The length is that of the body that the client has. undici waits for it, and fails.
    this.#end()
    this.#sink.ended({})
    this.#controller?.abort(new Error('a response without a body has ended'))
  }

  onResponseData(controller: Controller, piece: Buffer): void {
    if (this.#isOver || this.#sink.data(piece)) return
    controller.pause()
  }

  onResponseEnd(_: unknown, trailers: IncomingHttpHeaders): void {
    if (this.#isOver) return
    this.#end()
    this.#sink.ended(trimmed(trailers))
  }

  onResponseError(_: unknown, error: unknown): void {
    this.failed(error)
  }

  /** The connection speaks another protocol now, and is not undici's any more. */
  onRequestUpgrade(controller: Controller, _: number, _headers: unknown, socket: Duplex): void {
    this.#switched = socket
    socket.once('close', () => this.#end())
    // Of a connection without a response to come undici has nobody to tell an error.
    socket.on('error', () => {})
    const raw = (controller.rawHeaders ?? []) as readonly (Buffer | string)[]
    let head = 'HTTP/1.1 101 Switching Protocols'
    for (let i = 0; i + 1 < raw.length; i += 2) {
      head += `\r\n${raw[i]?.toString('latin1')}: ${raw[i + 1]?.toString('latin1')}`
    }
    this.#sink.switched?.(head, socket)
  }

  #refuse(): void {
    const failure = new UpstreamFailure('broken', 'the upstream closed the connection')
    this.#controller?.abort(failure)
  }

  /** The pieces of a body. If it breaks off, undici closes the connection, so that the upstream
   *  cannot take it for complete. */
  async *#piecesOf(body: ForwardBody): AsyncGenerator<Uint8Array> {
    const { clock } = this.#servers
    const late = new UpstreamFailure('late', 'the upstream does not read the body')
    for await (const piece of body.pieces()) {
      const cancel = clock.setTimer(unreadMaxMs, () => this.#controller?.abort(late))
      try {
        yield piece
      } finally {
        cancel()
      }
    }
    if (body.trailers().length > 0) {
      throw badRequest('trailers of a request cannot be passed on')
    }
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#server !== undefined) this.#server.load--
    this.#servers.ended(this.#use)
  }
}

/** Headers without spaces and tabs behind their values, which undici leaves, and which
 *  over HTTP/2 no value may have. */
function trimmed(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  for (const name in headers) {
    const value = headers[name]
    if (typeof value === 'string') {
      if (isBlank(value.charCodeAt(value.length - 1))) headers[name] = value.trimEnd()
    } else if (value !== undefined) headers[name] = value.map(one => one.trimEnd())
  }
  return headers
}

function isBlank(char: number): boolean {
  return char === 0x20 || char === 0x09
}
