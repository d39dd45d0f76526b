/** A request of the fleet to one of its clusters in the name of a caller: with the caller's headers
 *  and connection, and an answer that is collected here, up to a bound. */

import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { HttpRequest, Peer } from '@watchglass/cache'

/** Headers that are about the caller's own exchange, and not about what is asked here. */
const left: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'te',
  'transfer-encoding',
  'upgrade',
])

export class CollectedAnswer implements HttpRequest {
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
  /** The answer had more bytes than are collected. */
  isTooLarge = false
  readonly #maxBytes: number
  readonly #pieces: Uint8Array[] = []
  #bytes = 0
  #isClosed = false
  #isWhole = false
  readonly #onClose = new Set<() => void>()

  constructor(caller: HttpRequest, target: string, maxBytes: number) {
    this.target = target
    this.peer = caller.peer
    this.#maxBytes = maxBytes
    const own = Object.entries(caller.headers).filter(([name]) => !left.has(name))
    this.headers = { ...Object.fromEntries(own), accept: 'application/json' }
    const raw = ['accept', 'application/json']
    for (let i = 0; i < caller.rawHeaders.length; i += 2) {
      const [name = '', value = ''] = caller.rawHeaders.slice(i, i + 2)
      if (!left.has(name.toLowerCase())) raw.push(name, value)
    }
    this.rawHeaders = raw
  }

  /** The whole body; undefined if the answer was cut off. */
  get answer(): Buffer | undefined {
    return this.#isWhole ? Buffer.concat(this.#pieces) : undefined
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  accept(): void {
    this.onAccept?.()
  }

  respond(status: number): void {
    this.status = status
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
