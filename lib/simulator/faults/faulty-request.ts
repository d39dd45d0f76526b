/** A request whose response goes wrong on purpose (faulty-stream.ts). Everything else is the
 *  request's own. */

import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { Clock } from '@watchglass/base'
import type {
  HttpRequest,
  Peer,
  ResponseHeaders,
  ResponseStream,
  Takeover,
} from '@watchglass/cache'
import type { ChosenFaults } from './chosen-faults.ts'
import { faultyStream } from './faulty-stream.ts'

/** The request as its handler gets it: with these faults of its response, if it has any. */
export function faultyRequest(
  request: HttpRequest,
  faults: ChosenFaults,
  clock: Clock,
): HttpRequest {
  const stream = faultyStream(request, faults, { clock })
  return stream === request ? request : new FaultyRequest(request, stream)
}

class FaultyRequest implements HttpRequest {
  readonly #inner: HttpRequest
  readonly #stream: ResponseStream

  constructor(inner: HttpRequest, stream: ResponseStream) {
    this.#inner = inner
    this.#stream = stream
  }

  get version(): '1.1' | '2' {
    return this.#inner.version
  }

  get method(): string {
    return this.#inner.method
  }

  get target(): string {
    return this.#inner.target
  }

  get headers(): IncomingHttpHeaders {
    return this.#inner.headers
  }

  get rawHeaders(): readonly string[] {
    return this.#inner.rawHeaders
  }

  get body(): Readable {
    return this.#inner.body
  }

  get rawTrailers(): readonly string[] {
    return this.#inner.rawTrailers
  }

  get hasBody(): boolean {
    return this.#inner.hasBody
  }

  get takeover(): Takeover | undefined {
    return this.#inner.takeover
  }

  get peer(): Peer {
    return this.#inner.peer
  }

  get canHaveTrailers(): boolean {
    return this.#inner.canHaveTrailers
  }

  get isClosed(): boolean {
    return this.#inner.isClosed
  }

  get isFlushing(): boolean {
    return this.#inner.isFlushing
  }

  accept(): void {
    this.#inner.accept()
  }

  respond(status: number, headers: ResponseHeaders, length?: number): void {
    this.#inner.respond(status, headers, length)
  }

  proceed(): void {
    this.#inner.proceed()
  }

  flush(): void {
    this.#inner.flush()
  }

  write(piece: Uint8Array): boolean {
    return this.#stream.write(piece)
  }

  onDrain(task: () => void): void {
    this.#stream.onDrain(task)
  }

  end(piece?: Uint8Array, trailers?: ResponseHeaders): void {
    this.#stream.end(piece, trailers)
  }

  endWith(pieces: readonly Uint8Array[], trailers?: ResponseHeaders): void {
    for (const piece of pieces) this.write(piece)
    this.#stream.end(undefined, trailers)
  }

  abort(): void {
    this.#stream.abort()
  }

  onClose(task: () => void): () => void {
    return this.#inner.onClose(task)
  }
}
