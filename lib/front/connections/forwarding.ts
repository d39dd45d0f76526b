/** Forwards one request, to one server after another until one of them has received it. */

import type { IncomingHttpHeaders } from 'node:http'
import { CacheError } from '../../base/errors.ts'
import { type RequestHead, requestHead } from './request-head.ts'
import type { Passage, UpstreamConnection } from './connection.ts'
import type { ConnectionPool } from './connection-pool.ts'
import { upstreamFailure } from '../upstream/failure.ts'
import type { UpstreamServer } from '../upstream/server.ts'
import type {
  ForwardBody,
  ForwardControl,
  ForwardRequest,
  ForwardSink,
} from '../upstream/upstream.ts'

export interface ForwardingHooks {
  readonly sink: ForwardSink
  readonly choose: (tried: ReadonlySet<UpstreamServer>) => UpstreamServer
  /** Called if no server is left to try. */
  readonly isLast: (tried: ReadonlySet<UpstreamServer>) => boolean
  readonly onUnreachable: (server: UpstreamServer, error: unknown) => void
  readonly onEnd: () => void
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

export class Forwarding implements ForwardControl, Passage {
  readonly #request: ForwardRequest
  readonly #hooks: ForwardingHooks
  #head: RequestHead | undefined = undefined
  #tried: Set<UpstreamServer> | undefined = undefined
  #server: UpstreamServer | undefined = undefined
  #connections: ConnectionPool | undefined = undefined
  #connection: UpstreamConnection | undefined = undefined
  #isOver = false

  constructor(request: ForwardRequest, hooks: ForwardingHooks) {
    this.#request = request
    this.#hooks = hooks
  }

  get method(): string {
    return this.#request.method
  }

  get user(): string | undefined {
    return this.#request.user
  }

  get body(): ForwardBody | undefined {
    return this.#request.body
  }

  get head(): RequestHead {
    if (this.#head === undefined) throw new TypeError('a request has no head before it begins')
    return this.#head
  }

  /** Never throws: failures go to the sink, and everything that was taken is released. */
  begin(): void {
    const { method, path, headers, body, isLongRunning, as } = this.#request
    try {
      const server = this.#hooks.choose(this.#tried ?? noServers)
      this.#server = server
      server.load++
      const { host } = server.url
      this.#head = requestHead({ method, path, headers, host, hasBody: body !== undefined })
      this.#connections = server.connections(as, isLongRunning ? 'long' : 'short')
      this.#connections.dispatch(this)
    } catch (error) {
      if (this.#isOver) return
      this.#end()
      this.#hooks.sink.failed(upstreamFailure(error, true))
    }
  }

  resume(): void {
    this.#connection?.resume(this)
  }

  abort(): void {
    if (this.#isOver) return
    this.#end()
    if (this.#connection === undefined) this.#connections?.cancel(this)
    else this.#connection.abort(this)
  }

  sent(connection: UpstreamConnection): void {
    this.#connection = connection
  }

  started(code: number, headers: IncomingHttpHeaders): void {
    this.#hooks.sink.started(code, headers)
  }

  data(piece: Uint8Array): boolean {
    return this.#hooks.sink.data(piece)
  }

  ended(trailers: IncomingHttpHeaders): void {
    if (this.#isOver) return
    this.#end()
    this.#hooks.sink.ended(trailers)
  }

  failed(error: unknown): void {
    if (this.#isOver) return
    const server = this.#server
    const wasSent = this.#connection !== undefined
    if (!wasSent && server !== undefined && !(error instanceof CacheError)) {
      this.#hooks.onUnreachable(server, error)
      this.#tried ??= new Set()
      this.#tried.add(server)
      if (idempotentMethods.has(this.#request.method) && !this.#hooks.isLast(this.#tried)) {
        server.load--
        this.#server = undefined
        this.begin()
        return
      }
    }
    this.#end()
    this.#hooks.sink.failed(upstreamFailure(error, wasSent))
  }

  #end(): void {
    this.#isOver = true
    if (this.#server !== undefined) this.#server.load--
    this.#hooks.onEnd()
  }
}
