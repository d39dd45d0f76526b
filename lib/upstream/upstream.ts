/** The API server that everything goes to which is not answered from the mirror: as what it is seen by the rest of this folder.
 *  lib/upstream/balanced-upstream.ts is what stands behind it. */

import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'

/** As whom a request goes to the upstream:
 *  - `caller`: with the headers given and nothing else. No certificate of ours is shown, since the upstream would take a bearer of
 *    any other credentials for us.
 *  - `ourselves`: with our own certificate and token
 *  - `front-proxy`: with the certificate of a front proxy, whose X-Remote-* headers the upstream believes. For callers whose identity
 *    was verified here, never for anybody else. */
export type UpstreamIdentity = 'caller' | 'ourselves' | 'front-proxy'

/** A small request of our own to the upstream: discovery, reviews. The answer is read whole. */
export interface UpstreamCall {
  readonly method: string
  readonly path: string
  /** Names in lower case; several values make several lines. */
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body?: Uint8Array | undefined
  /** A longer answer fails with `upstream_failed`; 1 MiB if it is left out. */
  readonly maxBytes?: number | undefined
  readonly signal: AbortSignal
}

export interface UpstreamAnswer {
  readonly code: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body: Uint8Array
}

/** A client's request, on its way through. */
export interface ForwardRequest {
  readonly method: string
  /** Path and query as they were sent. */
  readonly path: string
  /** Names and values in turn; those of the connection and of identities are gone. */
  readonly headers: readonly string[]
  readonly body: ForwardBody | undefined
  /** Its answer may never end, or be long in coming: watches, logs, proxied connections. */
  readonly isLongRunning: boolean
  readonly as: UpstreamIdentity
  /** Whose turn it takes at connections; undefined: nobody is told apart. */
  readonly user?: string | undefined
  /** It shows credentials, of whatever kind. */
  readonly isIdentified: boolean
}

/** A body on its way through. */
export interface ForwardBody {
  /** Asked for once, when the upstream takes it. */
  pieces(): AsyncIterable<Uint8Array>
  /** Known when the last piece is: names and values in turn. */
  trailers(): readonly string[]
}

/** What becomes of the answer. Calls come in this order: `started`, `data` any number of times, then `ended` or `failed`. `failed` may
 *  come at any time, and is the last call. */
export interface ForwardSink {
  started(code: number, headers: IncomingHttpHeaders): void
  /** False when no more is wanted until `ForwardControl.resume`. */
  data(piece: Uint8Array): boolean
  ended(trailers: IncomingHttpHeaders): void
  /** With `upstream_failed`, `overloaded` or `closed`; see `UpstreamFailure`. */
  failed(failure: Error): void
}

export interface ForwardControl {
  /** Takes more of the answer. */
  resume(): void
  /** Gives up: nothing more is called. */
  abort(): void
}

export interface Upstream {
  /** Fails with `upstream_failed`, or `closed` when the signal is aborted. Any HTTP answer is an answer, whatever its code. */
  call(request: UpstreamCall, as: UpstreamIdentity): Promise<UpstreamAnswer>
  /** Asks every server, each over a connection that is not used again; undefined for those that do not answer. */
  callEach(
    request: UpstreamCall,
    as: UpstreamIdentity,
  ): Promise<readonly (UpstreamAnswer | undefined)[]>
  /** Headers that show who we are, for a request `as` ourselves. */
  credentials(): Promise<Readonly<Record<string, string>>>
  /** Passes a request on, and its answer back, as they come. */
  forward(request: ForwardRequest, sink: ForwardSink): ForwardControl
  /** Opens a connection of its own for a protocol that takes it over. */
  tunnel(request: TunnelRequest, sink: TunnelSink): ForwardControl
  /** What is wrong with it; undefined while at least one of its servers answers. */
  problem(): string | undefined
}

/** A request that asks for another protocol. */
export interface TunnelRequest {
  readonly method: string
  readonly path: string
  /** Names and values in turn, with `connection` and `upgrade`. */
  readonly headers: readonly string[]
  readonly as: UpstreamIdentity
}

/** What becomes of it: `switched`, or what becomes of any other request. */
export interface TunnelSink extends ForwardSink {
  /** 101: from now on bytes mean what the new protocol says. `head` is the answer's, without the empty line at its end. */
  switched(head: string, socket: Duplex): void
}
