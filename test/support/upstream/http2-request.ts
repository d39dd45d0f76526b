/** A request over one stream of Node's HTTP/2: the upstream of tests does not share what it
 *  tests. */

import {
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
  constants,
} from 'node:http2'
import type { Readable } from 'node:stream'
import type {
  HttpRequest,
  OnFault,
  Peer,
  ResponseHeaders,
} from '../../../lib/cache/http/server/http-request.ts'
import { guarded } from '../../../lib/cache/http/server/guarded.ts'
import { peerOf } from '../../../lib/cache/http/server/peer.ts'

const unknownPeer: Peer = {
  address: '',
  isSecure: false,
  certificate: () => undefined,
  hasRefusedCertificate: () => false,
}

export class Http2Request implements HttpRequest {
  readonly version = '2'
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly canHaveTrailers = true
  readonly #stream: ServerHttp2Stream
  readonly #onFault: OnFault

  rawTrailers: readonly string[] = []
  sentBytes: number | undefined = undefined
  #trailers: ResponseHeaders | undefined = undefined

  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    rawHeaders: readonly string[],
    onFault: OnFault,
  ) {
    this.#stream = stream
    this.#onFault = onFault
    this.headers = headers
    this.rawHeaders = rawHeaders
    if (headers.host === undefined && headers[':authority'] !== undefined) {
      headers.host = headers[':authority']
    }
    // A client that resets its stream is not a failure of ours; `onClose` tells the handler.
    stream.on('error', ignore)
    if (!stream.endAfterHeaders) stream.once('trailers', this.#tookTrailers)
  }

  readonly #tookTrailers = (trailers: IncomingHttpHeaders): void => {
    const pairs = Object.entries(trailers)
    this.rawTrailers = pairs.flatMap(([name, values = '']) =>
      [values].flat().flatMap(value => [name, value]),
    )
  }

  get method(): string {
    return this.headers[':method'] ?? ''
  }

  get target(): string {
    return this.headers[':path'] ?? ''
  }

  get body(): Readable {
    return this.#stream
  }

  get hasBody(): boolean {
    return !this.#stream.endAfterHeaders
  }

  get peer(): Peer {
    const socket = this.#stream.session?.socket
    return socket === undefined ? unknownPeer : peerOf(socket)
  }

  get isClosed(): boolean {
    const { closed, destroyed, writableFinished } = this.#stream
    // Node ends the stream of a HEAD before it is answered.
    return closed || destroyed || (writableFinished && this.method !== 'HEAD')
  }

  get isFlushing(): boolean {
    const { writableEnded, writableFinished, closed } = this.#stream
    return writableEnded && !writableFinished && !closed
  }

  respond(status: number, headers: ResponseHeaders, length?: number): void {
    if (this.isClosed) return
    // A key that is added after others were spread makes V8 copy the object by a slow way.
    const all: OutgoingHttpHeaders = { ':status': status, ...(headers as OutgoingHttpHeaders) }
    if (length !== undefined) all['content-length'] = length
    if (headers['trailer'] === undefined) this.#stream.respond(all)
    else {
      this.#stream.respond(all, { waitForTrailers: true })
      const send = (): void =>
        this.#stream.sendTrailers((this.#trailers ?? {}) as Record<string, string | string[]>)
      this.#stream.once('wantTrailers', guarded(this, send, this.#onFault))
    }
  }

  accept(): void {}

  proceed(): void {
    const { expect } = this.headers
    const isWaiting = expect?.toLowerCase() === '100-continue'
    if (isWaiting && !this.isClosed && !this.#stream.headersSent) {
      this.#stream.additionalHeaders({ ':status': constants.HTTP_STATUS_CONTINUE })
    }
  }

  /** Nothing to do: HTTP/2 sends the headers when they are set. */
  flush(): void {}

  write(piece: Uint8Array): boolean {
    return this.isClosed || this.#stream.write(piece)
  }

  onDrain(task: () => void): void {
    this.#stream.once('drain', guarded(this, task, this.#onFault))
  }

  end(piece?: Uint8Array, trailers?: ResponseHeaders): void {
    if (this.isClosed) return
    this.#trailers = trailers
    this.#beforeEnd()
    if (piece === undefined) this.#stream.end()
    else this.#stream.end(piece)
  }

  endWith(pieces: readonly Uint8Array[]): void {
    if (this.isClosed) return
    this.#beforeEnd()
    const stream = this.#stream
    if (pieces.length === 1) {
      stream.end(pieces[0])
      return
    }
    stream.cork()
    for (const piece of pieces) stream.write(piece)
    stream.end()
  }

  /** Most requests end with their headers. */
  #beforeEnd(): void {
    const stream = this.#stream
    if (stream.endAfterHeaders) return
    if (stream.writableFinished) this.#afterEnd()
    else stream.once('finish', this.#afterEnd)
  }

  /** After the response, a client that is still sending its body is told to stop (RFC 9113,
   *  8.1). */
  readonly #afterEnd = (): void => {
    this.#stream.resume()
    setImmediate(() => {
      if (!this.#stream.closed && !this.#stream.readableEnded) {
        this.#stream.close(constants.NGHTTP2_NO_ERROR)
      }
    })
  }

  abort(): void {
    if (!this.isClosed) this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  }

  onClose(task: () => void): () => void {
    const safe = guarded(this, task, this.#onFault)
    if (this.#stream.closed || this.#stream.destroyed) safe()
    else this.#stream.on('close', safe)
    return () => this.#stream.off('close', safe)
  }
}

/** Nothing to do for a failed stream: it is closed, and that is told. */
function ignore(): void {}
