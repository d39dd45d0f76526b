/** One request and its response, the same over HTTP/1.1 and HTTP/2, with back-pressure in sight: what the handler works on. */

import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { DetailedPeerCertificate } from 'node:tls'

/** Response headers: names in lower case; several values make several lines. */
export type ResponseHeaders = Readonly<Record<string, string | readonly string[]>>

/** The connection's other end. */
export interface Peer {
  readonly address: string
  /** The client certificate, when one was presented and verified against the client CA. */
  certificate(): DetailedPeerCertificate | undefined
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
  readonly peer: Peer
  /** The response is complete, or the client has gone. */
  readonly isClosed: boolean
  /** The response is written to its end, and the client has still to take some of it. */
  readonly isFlushing: boolean
  /** Status and headers; once, before any write. */
  respond(status: number, headers: ResponseHeaders): void
  /** Sends status and headers now, though the first write may be long in coming. */
  flush(): void
  /** False when the client must read first; `onDrain` tells when. The piece must not be changed afterwards. */
  write(piece: Uint8Array): boolean
  /** Calls `task` once, when writing may go on. Never, if the client goes away: watch `onClose` too. */
  onDrain(task: () => void): void
  end(piece?: Uint8Array): void
  /** Cuts the response off, so that the client cannot take it for complete. */
  abort(): void
  /** Calls `task` once, when the response is complete or the client has gone; at once if that is so already.
   *  The answer takes that back. */
  onClose(task: () => void): () => void
}

export type Handler = (exchange: Exchange) => void
