/** The body of a request. Each piece has a deadline, so that a client that sends headers, and then
 *  nothing, holds nothing but itself. */

import type { Clock } from '../../base/clock.ts'
import { CacheError } from '../../base/errors.ts'
import { StatusError } from '../../kube/status.ts'
import type { Exchange } from '../server/exchange.ts'

/** A client that sends nothing of a body for so long is cut off. */
const pieceMaxMs = 60_000

/** The whole body, for what must be seen whole before anything is done; undefined if it is longer
 *  than `maxBytes`: then no more of it is read. */
export async function readBody(
  exchange: Exchange,
  maxBytes: number,
  clock: Clock,
): Promise<Uint8Array | undefined> {
  if (!exchange.hasBody) return new Uint8Array(0)
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of await beginBody(exchange, clock)) {
    bytes += piece.length
    if (bytes > maxBytes) return undefined
    pieces.push(piece)
  }
  return Buffer.concat(pieces, bytes)
}

/** The pieces of the body, once the first of them is there, or its end: nothing else is taken for a
 *  request before. */
export async function beginBody(
  exchange: Exchange,
  clock: Clock,
): Promise<AsyncIterable<Uint8Array>> {
  exchange.proceed()
  const body = new Pieces(exchange, clock)
  await body.begin()
  return body
}

class Pieces implements AsyncIterableIterator<Uint8Array> {
  readonly #clock: Clock
  readonly #iterator: AsyncIterator<Uint8Array>
  #first: IteratorResult<Uint8Array> | undefined = undefined
  /** Ends the wait for a piece. */
  #leave: () => void = () => {}

  constructor(exchange: Exchange, clock: Clock) {
    this.#clock = clock
    this.#iterator = exchange.body.iterator({
      destroyOnReturn: false,
    }) as AsyncIterator<Uint8Array>
    // The response may end before the body: nothing waits for the rest then.
    exchange.onClose(() => this.#leave())
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async begin(): Promise<void> {
    this.#first = await this.#inTime()
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    const first = this.#first
    this.#first = undefined
    return first === undefined ? this.#inTime() : Promise.resolve(first)
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    await this.#iterator.return?.()
    return { done: true, value: undefined }
  }

  #inTime(): Promise<IteratorResult<Uint8Array>> {
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.setTimer(pieceMaxMs, () => reject(tooSlow()))
      this.#leave = () => {
        cancel()
        reject(new CacheError('closed', 'the client has left'))
      }
      this.#iterator.next().then(
        result => {
          cancel()
          resolve(result)
        },
        (error: unknown) => {
          cancel()
          reject(new CacheError('closed', 'the client has left', { cause: error }))
        },
      )
    })
  }
}

function tooSlow(): StatusError {
  const message = `nothing of the request's body has come for ${pieceMaxMs / 1000} s`
  return new StatusError('invalid_request', { code: 408, reason: 'Timeout', message, details: {} })
}
