/** One request and its response, the same over HTTP/1.1 and HTTP/2, with back-pressure in sight: what the handler works on. */

import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex, Readable } from 'node:stream'
import type { DetailedPeerCertificate } from 'node:tls'

/** Response headers: names in lower case; several values make several lines. */
export type ResponseHeaders = Readonly<Record<string, string | readonly string[]>>

/** The connection's other end. */
export interface Peer {
  readonly address: string
  readonly isSecure: boolean
  /** The client certificate, when one was presented and verified against the client CA. */
  certificate(): DetailedPeerCertificate | undefined
}

/** A connection that asks for another protocol. */
export interface Takeover {
  readonly socket: Duplex
  /** What has come behind the request so far. From now on the socket is the caller's to read. */
  take(): Uint8Array
}

export interface Exchange {
  readonly version: '1.1' | '2'
  readonly method: string
  /** The request target as it was sent: path and query, nothing decoded. */
  readonly target: string
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders
  /** The same as they were sent: names and values in turn, each line for itself. */
  readonly rawHeaders: readonly string[]
  readonly body: Readable
  /** What came behind the body, as `rawHeaders`; known when the body has ended. */
  readonly rawTrailers: readonly string[]
  /** The request says that it has a body, which may be empty. */
  readonly hasBody: boolean
  /** The connection itself, for a request to change its protocol. Whoever writes to it answers in place of everything below. */
  readonly takeover?: Takeover | undefined
  /** The caller is known to us or to the upstream. */
  accept(): void
  readonly peer: Peer
  /** The client takes what comes behind a body. */
  readonly canHaveTrailers: boolean
  /** The response is complete, or the client has gone. */
  readonly isClosed: boolean
  /** The response is written to its end, and the client has still to take some of it. */
  readonly isFlushing: boolean
  /** Status and headers; once, before any write. */
  respond(status: number, headers: ResponseHeaders): void
  /** Tells a client that waits for it that its body is wanted. HTTP/1.1 has done so already. */
  proceed(): void
  /** Sends status and headers now, though the first write may be long in coming. */
  flush(): void
  /** False when the client must read first; `onDrain` tells when. The piece must not be changed afterwards. */
  write(piece: Uint8Array): boolean
  /** Calls `task` once, when writing may go on. Never, if the client goes away: watch `onClose` too. */
  onDrain(task: () => void): void
  /** Trailers are sent where there is a place for them. */
  end(piece?: Uint8Array, trailers?: ResponseHeaders): void
  /** Ends the response with these pieces, in as few writes as there can be. */
  endWith(pieces: readonly Uint8Array[]): void
  /** Cuts the response off, so that the client cannot take it for complete. */
  abort(): void
  /** Calls `task` once, when the response is complete or the client has gone; at once if that is so already.
   *  The answer takes that back. */
  onClose(task: () => void): () => void
}

export type Handler = (exchange: Exchange) => void

/** Told of a mistake of ours that something has met which nobody waits for. */
export type OnFault = (error: unknown) => void
