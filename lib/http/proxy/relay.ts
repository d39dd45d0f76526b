/** Passes the upstream's response to the client, no faster than the client reads it.
 *
 *  A small response of known length usually arrives together with its headers, and is then sent with them in one write.
 *
 *  When the client's buffer is full, the upstream's socket is paused before its next read; what was read already is passed on whole.
 *  Joining writes into 64 KB saved no processor time (November 2026). */

import type { IncomingHttpHeaders } from 'node:http'
import type { Exchange } from '../server/exchange.ts'
import { answerTrailers } from './forwarded-headers.ts'
import type { ForwardControl, ForwardSink } from '../../upstream/upstream.ts'

/** The size of one read of a socket. */
const heldMaxBytes = 64 * 1024

/** So much is written although the client's buffer is full: Node calls a buffer full at 16 KB, and pausing and resuming for each 16 KB
 *  costs half as much again as passing them on. */
const aheadMaxBytes = 128 * 1024

export interface RelayHooks {
  /** The response begins. */
  readonly started: (code: number, headers: IncomingHttpHeaders) => void
  /** The response is complete, or has failed. */
  readonly over: (failure: Error | undefined) => void
}

export class Relay implements ForwardSink {
  /** Set once the request is under way; the upstream never answers before that. */
  control: ForwardControl | undefined = undefined
  readonly #exchange: Exchange
  readonly #hooks: RelayHooks
  #isWritten = false
  /** A small response may become complete within this turn of the event loop. */
  #mayHold = false
  #held: Uint8Array | undefined = undefined
  #isFull = false
  /** Bytes written since the client's buffer was full. */
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

  /** A body that comes at once is sent with the headers; otherwise the headers are sent without waiting for it. */
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
