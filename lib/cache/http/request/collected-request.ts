/** A request without a client of its own, in the name of a caller: collects what is answered to it,
 *  up to a bound. */

import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { HttpRequest, Peer } from '../server/http-request.ts'

export interface Collected {
  readonly target: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders?: readonly string[] | undefined
  readonly peer: Peer
  /** A larger response is cut off. */
  readonly maxBytes: number
}

export class CollectedRequest implements HttpRequest {
  readonly version = '1.1'
  readonly method = 'GET'
  target: string
  readonly headers: IncomingHttpHeaders
  readonly rawHeaders: readonly string[]
  readonly body: Readable = Readable.from([])
  readonly rawTrailers: readonly string[] = []
  readonly hasBody = false
  readonly peer: Peer
  readonly canHaveTrailers = false
  readonly isFlushing = false
  onAccept: (() => void) | undefined = undefined
  status = 0
  /** The response had more bytes than are collected. */
  isTooLarge = false
  readonly #maxBytes: number
  readonly #pieces: Uint8Array[] = []
  #bytes = 0
  #isClosed = false
  #isWhole = false
  readonly #onClose = new Set<() => void>()

  constructor({ target, headers, rawHeaders = [], peer, maxBytes }: Collected) {
    this.target = target
    this.headers = headers
    this.rawHeaders = rawHeaders
    this.peer = peer
    this.#maxBytes = maxBytes
  }

  /** The whole body; undefined if the response was cut off. */
  get answer(): Buffer | undefined {
    return this.#isWhole ? Buffer.concat(this.#pieces) : undefined
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  respond(status: number): void {
    this.status = status
  }

  accept(): void {
    this.onAccept?.()
  }

  proceed(): void {}

  flush(): void {}

  write(piece: Uint8Array): boolean {
    if (this.#isClosed) return true
    this.#bytes += piece.length
    if (this.#bytes > this.#maxBytes) {
      this.isTooLarge = true
      this.abort()
    } else this.#pieces.push(piece)
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
