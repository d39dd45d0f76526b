/** The body of a request. Each piece has a deadline, and so has the whole of it where the request
 *  has one: a client that sends nothing, or a byte now and then, is cut off. */

import { CacheError, type Clock } from '@watchglass/base'
import { type Status, StatusError } from '@watchglass/kube'
import type { HttpRequest } from '../server/http-request.ts'

/** A client that sends nothing of a body for so long is cut off. */
const pieceMaxMs = 60_000

/** The bounds of a whole body. */
export interface BodyLimits {
  readonly maxBytes: number
  /** The end of the request's time, on the clock's monotonic scale. */
  readonly endsAtMs: number
}

/** The whole body, for what must be seen whole before anything is done. No more of it is read once
 *  it is beyond its limits. */
export async function readBody(
  request: HttpRequest,
  { maxBytes, endsAtMs }: BodyLimits,
  clock: Clock,
): Promise<Uint8Array | 'too large' | 'too late'> {
  if (!request.hasBody) return new Uint8Array(0)
  const pieces: Uint8Array[] = []
  let bytes = 0
  try {
    for await (const piece of await beginBody(request, clock, endsAtMs)) {
      bytes += piece.length
      if (bytes > maxBytes) return 'too large'
      pieces.push(piece)
    }
  } catch (error) {
    if (error instanceof LateBody) return 'too late'
    throw error
  }
  return Buffer.concat(pieces, bytes)
}

/** The pieces of the body, once the first of them is there, or its end: nothing else is taken for a
 *  request before. The last piece has to come before `endsAtMs`. */
export async function beginBody(
  request: HttpRequest,
  clock: Clock,
  endsAtMs: number = Infinity,
): Promise<AsyncIterable<Uint8Array>> {
  request.proceed()
  const body = new Pieces(request, { clock, endsAtMs })
  await body.begin()
  return body
}

class Pieces implements AsyncIterableIterator<Uint8Array> {
  readonly #clock: Clock
  readonly #endsAtMs: number
  readonly #iterator: AsyncIterator<Uint8Array>
  #first: IteratorResult<Uint8Array> | undefined = undefined
  /** Ends the wait for a piece. */
  #leave: () => void = () => {}

  constructor(
    request: HttpRequest,
    { clock, endsAtMs }: { readonly clock: Clock; readonly endsAtMs: number },
  ) {
    this.#clock = clock
    this.#endsAtMs = endsAtMs
    this.#iterator = request.body.iterator({
      destroyOnReturn: false,
    }) as AsyncIterator<Uint8Array>
    // The response may end before the body: nothing waits for the rest then.
    request.onClose(() => this.#leave())
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
      const leftMs = Math.max(0, this.#endsAtMs - this.#clock.monotonicMs())
      const isLast = leftMs < pieceMaxMs
      const cancel = this.#clock.setTimer(Math.min(leftMs, pieceMaxMs), () =>
        reject(isLast ? new LateBody() : tooSlow()),
      )
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
  return new StatusError(
    'invalid_request',
    late(`nothing of the request's body has come for ${pieceMaxMs / 1000} s`),
  )
}

class LateBody extends StatusError {
  constructor() {
    super('invalid_request', late("the request's body has not come in time"))
  }
}

function late(message: string): Status {
  return { code: 408, reason: 'Timeout', message, details: {} }
}
