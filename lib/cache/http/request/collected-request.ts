/** A request without a client, our own: collects what the API answers to it. */

import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { HttpRequest, Peer, ResponseHeaders } from '@watchglass/cache'

/** A larger response is cut off. */
const collectedMaxBytes = 64 * 1024 * 1024

export class CollectedRequest implements HttpRequest {
  readonly version = '1.1'
  readonly method = 'GET'
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[] = []
  readonly body: Readable = Readable.from([])
  readonly rawTrailers: readonly string[] = []
  readonly hasBody = false
  readonly peer: Peer
  readonly canHaveTrailers = false
  readonly isFlushing = false
  status = 0
  responseHeaders: ResponseHeaders = {}
  readonly #pieces: Uint8Array[] = []
  #bytes = 0
  #isClosed = false
  #isWhole = false
  readonly #onClose = new Set<() => void>()

  constructor(target: string, headers: IncomingHttpHeaders, peer: Peer) {
    this.target = target
    this.headers = headers
    this.peer = peer
  }

  /** The whole body; undefined if the response was cut off. */
  get answer(): Buffer | undefined {
    return this.#isWhole ? Buffer.concat(this.#pieces) : undefined
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  respond(status: number, headers: ResponseHeaders): void {
    this.status = status
    this.responseHeaders = headers
  }

  accept(): void {}

  proceed(): void {}

  flush(): void {}

  write(piece: Uint8Array): boolean {
    this.#bytes += piece.length
    if (this.#bytes > collectedMaxBytes) this.abort()
    else this.#pieces.push(piece)
    return true
  }

  onDrain(task: () => void): void {
    queueMicrotask(task)
  }

  end(piece?: Uint8Array): void {
    if (piece !== undefined) this.write(piece)
    this.#isWhole = !this.#isClosed
    this.#close()
  }

  endWith(pieces: readonly Uint8Array[]): void {
    for (const piece of pieces) this.write(piece)
    this.end()
  }

  abort(): void {
    this.#close()
  }

  onClose(task: () => void): () => void {
    if (this.#isClosed) task()
    else this.#onClose.add(task)
    return () => void this.#onClose.delete(task)
  }

  #close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const task of this.#onClose) task()
    this.#onClose.clear()
  }
}
