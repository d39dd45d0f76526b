/** One HTTP request and the way to answer it, with back-pressure: what a handler gets, the same
 *  over HTTP/1.1 and HTTP/2. */

import type { IncomingHttpHeaders } from 'node:http'
import type { Duplex, Readable } from 'node:stream'
import type { DetailedPeerCertificate } from 'node:tls'

/** Response headers: names in lower case; a header with several values is written as several
 *  lines. */
export type ResponseHeaders = Readonly<Record<string, string | readonly string[]>>

/** The connection's other end. */
export interface Peer {
  readonly address: string
  readonly isSecure: boolean
  /** The server name that the client has sent with its TLS handshake; undefined if it sent none. */
  readonly serverName?: string | undefined
  /** The client certificate, when one was presented and verified against the client CA. */
  certificate(): DetailedPeerCertificate | undefined
  /** A client certificate was presented, and nobody who is trusted has signed it, or not for
   *  clients. */
  hasRefusedCertificate(): boolean
}

/** A connection whose client asks for an upgrade. */
export interface Takeover {
  readonly socket: Duplex
  /** The bytes that have come after the request so far. From now on the caller reads the socket. */
  take(): Uint8Array
  /** Told of what fails in the caller's listeners. */
  readonly onFault: OnFault
}

/** A request of a client, and the response that is written to it: one object, since most answers
 *  need both, and since one more for each would cost as much as a small answer. */
export interface HttpRequest {
  readonly version: '1.1' | '2'
  readonly method: string
  /** The request target as it was sent: path and query, nothing decoded. A router in front of
   *  several handlers sets the part that its handler is to see, before that sees the request. */
  target: string
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders
  /** The headers as they were sent: names and values alternating, each line for itself. */
  readonly rawHeaders: readonly string[]
  readonly body: Readable
  /** The trailers, as in `rawHeaders`; known when the body has ended. */
  readonly rawTrailers: readonly string[]
  /** The headers announce a body, which may be empty. */
  readonly hasBody: boolean
  /** The connection itself, of a request for an upgrade. Writing to it replaces every method
   *  below. */
  readonly takeover?: Takeover | undefined
  /** The caller is authenticated, by us or by the upstream. */
  accept(): void
  /** Told of that by `accept`. */
  onAccept?: (() => void) | undefined
  readonly peer: Peer
  /** The client accepts trailers. */
  readonly canHaveTrailers: boolean
  /** The response is complete, or the client has gone. */
  readonly isClosed: boolean
  /** The response is written completely, and the client has not read all of it. */
  readonly isFlushing: boolean
  /** For how long writing the response has waited for the client to read. */
  socketMs?: number | undefined
  /** Called when the client has taken nothing for a moment: its place in a line goes to others. */
  stalled?: (() => void) | undefined
  /** Bytes of the body so far, of one that is sent by lib/cache/http/server/respond.ts. */
  sentBytes?: number | undefined
  /** Sets status and headers; once, before any write. `length` is that of the body, if it is
   *  known. */
  respond(status: number, headers: ResponseHeaders, length?: number): void
  /** Sends 100 Continue to a client that waits for it. Over HTTP/1.1 Node has sent it already. */
  proceed(): void
  /** Sends status and headers now, without waiting for the first write. */
  flush(): void
  /** False when the buffer is full; `onDrain` tells when writing may go on. The piece must not be
   *  changed afterwards. */
  write(piece: Uint8Array): boolean
  /** Calls `task` once, when writing may go on. Never, if the client goes away: watch `onClose`
   *  too. */
  onDrain(task: () => void): void
  /** Sets trailers. They are dropped where the protocol cannot send them. */
  end(piece?: Uint8Array, trailers?: ResponseHeaders): void
  /** Ends the response with these pieces, in as few writes as possible. */
  endWith(pieces: readonly Uint8Array[]): void
  /** Cuts the response off, so that the client cannot take it for complete. */
  abort(): void
  /** Calls `task` once, when the response is complete or the client has gone; at once if that has
   *  happened already. Call the returned function to cancel. */
  onClose(task: () => void): () => void
}

/** The stream that a watch is written to: the response of its request, or the WebSocket on its
 *  connection. */
export type ResponseStream = Pick<
  HttpRequest,
  'version' | 'headers' | 'write' | 'onDrain' | 'end' | 'abort' | 'onClose' | 'stalled' | 'socketMs'
>

export type Handler = (request: HttpRequest) => void

/** Called with a bug of this program that occurred where no caller waits for the result. */
export type OnFault = (error: unknown) => void
