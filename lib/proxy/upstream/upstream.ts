/** The upstream: the API server that gets every request which is not answered from the mirror. This
 *  is its interface; lib/proxy/upstream/balanced-upstream.ts implements it. */

import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import type { CacheError } from '@watchglass/base'
import type {
  UpstreamAnswer,
  UpstreamCall,
  UpstreamCaller,
  UpstreamIdentity,
} from '@watchglass/cache'

/** A client's request that passes. */
export interface ForwardRequest {
  readonly method: string
  /** Path and query as they were sent. */
  readonly path: string
  /** Names and values alternating, without the headers of the connection and identity headers. */
  readonly headers: readonly string[]
  readonly body: ForwardBody | undefined
  /** Its response may begin late or never end: watches, logs, proxied connections. */
  readonly isLongRunning: boolean
  readonly as: UpstreamIdentity
  /** The user whose share of connections it takes; undefined if requests are not shared out by
   *  user. */
  readonly user?: string | undefined
  /** True if it has credentials of any kind. */
  readonly isIdentified: boolean
}

/** The body of a request that passes. */
export interface ForwardBody {
  /** Called once, when the upstream accepts the body. */
  pieces(): AsyncIterable<Uint8Array>
  /** The trailers, known after the last piece: names and values alternating. */
  trailers(): readonly string[]
}

/** Receives the response. Calls come in this order: `started`, `data` any number of times, then
 *  `ended` or `failed`. `failed` may come at any time, and is the last call. */
export interface ForwardSink {
  started(code: number, headers: IncomingHttpHeaders): void
  /** False if no more should come until `ForwardControl.resume`. */
  data(piece: Uint8Array): boolean
  ended(trailers: IncomingHttpHeaders): void
  /** With `upstream_failed`, `overloaded` or `closed`; see `UpstreamFailure`. */
  failed(failure: Error): void
}

export interface ForwardControl {
  /** Continues reading the response. */
  resume(): void
  /** Cancels: the sink is not called any more. */
  abort(): void
}

export interface Upstream extends UpstreamCaller {
  /** The headers with our own credentials, for a request `as` ourselves. */
  credentials(): Promise<Readonly<Record<string, string | string[]>>>
  /** Forwards a request and streams its response back. */
  forward(request: ForwardRequest, sink: ForwardSink): ForwardControl
  /** Opens a separate connection for an upgrade. */
  tunnel(request: TunnelRequest, sink: TunnelSink): ForwardControl
  /** The problem of the upstream; undefined while at least one of its servers answers. */
  problem(): string | undefined
}

/** Our own questions, which nobody waits for. */
export interface Questions extends UpstreamCaller {
  /** Asks every server, each over a connection that is not used again. Of those that do not answer
   *  the failure is returned. */
  callEach(
    request: UpstreamCall,
    as: UpstreamIdentity,
  ): Promise<readonly (UpstreamAnswer | CacheError)[]>
  /** A connection of its own to the next server, for calls of our own that must reach the same one.
   *  Opened with its first call. */
  line(): UpstreamLine
}

/** One connection to one server, for one call at a time, as ourselves. */
export interface UpstreamLine {
  /** Fails as `Upstream.call` does, and if the connection has ended: another one might lead to
   *  another server. */
  call(request: UpstreamCall): Promise<UpstreamAnswer>
  /** False when no more calls can be made on it. */
  readonly isOpen: boolean
  close(): void
}

/** A request for an upgrade. */
export interface TunnelRequest extends Pick<ForwardRequest, 'method' | 'path' | 'headers' | 'as'> {
  /** `SPDY/3.1` or `websocket`, as the client has spelled it. */
  readonly protocol: string
}

/** Receives the result: `switched`, or the calls of any other response. */
export interface TunnelSink extends ForwardSink {
  /** The upstream answered 101: the connection speaks the new protocol now. `head` is that of the
   *  response, without the final empty line. */
  switched(head: string, socket: Duplex): void
}
