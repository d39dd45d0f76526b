/** The upstream's answer on its way to the client, no faster than the client takes it.
 *
 *  A small answer of known length mostly comes with its headers, and then goes out with them in one write.
 *
 *  When the client is full, the upstream is paused before a next read of its socket: what has come is passed on whole.
 *  Larger writes do not pay: joining what comes in one turn into 64 KB saved no time of the processor (November 2026). */

import type { IncomingHttpHeaders } from 'node:http'
import type { Exchange } from '../server/exchange.ts'
import { answerTrailers } from './forwarded-headers.ts'
import type { ForwardControl, ForwardSink } from '../../upstream/upstream.ts'

/** What one read of a socket takes. */
const heldMaxBytes = 64 * 1024

/** So much is taken on when the client is full: Node calls a client full after 16 KB, and to stop and go on with each of these costs
 *  half as much again as handing them on. */
const aheadMaxBytes = 128 * 1024

export interface RelayHooks {
  /** Begins the client's answer. */
  readonly started: (code: number, headers: IncomingHttpHeaders) => void
  /** The answer is whole, or has failed. */
  readonly over: (failure: Error | undefined) => void
}

export class Relay implements ForwardSink {
  /** Known only after what it is told of. */
  control: ForwardControl | undefined = undefined
  readonly #exchange: Exchange
  readonly #hooks: RelayHooks
  #isWritten = false
  /** A small answer may become whole before anything else happens. */
  #mayHold = false
  #held: Uint8Array | undefined = undefined
  #isFull = false
  /** What was written since the client was full. */
  #aheadBytes = 0

  constructor(exchange: Exchange, hooks: RelayHooks) {
    this.#exchange = exchange
    this.#hooks = hooks
  }

  started(code: number, headers: IncomingHttpHeaders): void {
    this.#hooks.started(code, headers)
    this.#mayHold = Number(headers['content-length'] ?? Infinity) <= heldMaxBytes
    queueMicrotask(this.#flush)
  }

  /** What comes at once goes out with the headers; what does not must not hold them back. */
  readonly #flush = (): void => {
    this.#mayHold = false
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) this.data(held)
    else if (!this.#isWritten) this.#exchange.flush()
  }

  data(piece: Uint8Array): boolean {
    if (this.#mayHold && this.#held === undefined) {
      this.#held = piece
      return true
    }
    if (this.#held !== undefined) this.#flush()
    this.#isWritten = true
    if (!this.#exchange.write(piece) && !this.#isFull) {
      this.#isFull = true
      this.#exchange.onDrain(this.#drained)
    }
    if (this.#isFull) this.#aheadBytes += piece.length
    return this.#aheadBytes < aheadMaxBytes
  }

  ended(trailers: IncomingHttpHeaders): void {
    this.#isWritten = true
    const held = this.#held
    this.#held = undefined
    this.#exchange.end(held, answerTrailers(trailers))
    this.#hooks.over(undefined)
  }

  failed(failure: Error): void {
    this.#isWritten = true
    this.#held = undefined
    this.#hooks.over(failure)
  }

  readonly #drained = (): void => {
    this.#isFull = false
    this.#aheadBytes = 0
    this.control?.resume()
  }
}
