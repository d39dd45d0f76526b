/** The body of a request on its way to the upstream. Its first piece is waited for before anything of the upstream is taken, and each
 *  piece has a deadline: a client that sends headers, and then nothing, holds nothing but itself. */

import type { Clock } from '../../base/clock.ts'
import { CacheError } from '../../base/errors.ts'
import { StatusError } from '../../kube/status.ts'
import type { ForwardBody } from '../upstream/upstream.ts'
import type { Exchange } from '../../http/server/exchange.ts'
import { requestTrailers } from './forwarded-headers.ts'

/** A client that sends nothing of a body for so long is cut off. */
const pieceMaxMs = 60_000

/** The body, once its first piece is there, or its end. */
export async function beginBody(
  exchange: Exchange,
  isIdentityHeader: (name: string) => boolean,
  clock: Clock,
): Promise<ForwardBody> {
  exchange.proceed()
  const body = new Pieces(exchange, clock)
  await body.begin()
  return {
    pieces: () => body,
    trailers: () => requestTrailers(exchange.rawTrailers, exchange.rawHeaders, isIdentityHeader),
  }
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
