/** Passes the upstream's response to the client, no faster than the client reads it.
 *
 *  A small response of known length usually arrives together with its headers, and is then sent
 *  with them in one write.
 *
 *  When the client's buffer is full, the upstream's socket is paused before its next read; what was
 *  read already is passed on whole. Joining writes into 64 KB saved no processor time (November
 *  2026). */

import type { IncomingHttpHeaders } from 'node:http'
import type { CancelTimer, Clock } from '@watchglass/base'
import { type HttpRequest, slowReaderTimeoutMs } from '@watchglass/cache'
import { answerTrailers } from './forwarded-headers.ts'
import type { ForwardControl, ForwardSink } from '../upstream/upstream.ts'

/** The size of one read of a socket. */
const heldMaxBytes = 64 * 1024

/** This much is written although the client's buffer is full. Node calls a buffer full at 16 KB,
 *  and pausing and resuming for every 16 KB costs half as much again as passing the bytes on. */
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
  readonly #request: HttpRequest
  readonly #clock: Clock
  readonly #hooks: RelayHooks
  #isOver = false
  #isWritten = false
  /** A small response may be complete within this turn of the event loop. */
  #mayHold = false
  #held: Uint8Array | undefined = undefined
  /** The timer that cuts off a client whose buffer stays full for too long. */
  #cancelCut: CancelTimer | undefined = undefined
  /** Bytes written since the client's buffer was full. */
  #aheadBytes = 0

  constructor(request: HttpRequest, clock: Clock, hooks: RelayHooks) {
    this.#request = request
    this.#clock = clock
    this.#hooks = hooks
  }

  started(code: number, headers: IncomingHttpHeaders): void {
    this.guarded(() => {
      this.#hooks.started(code, headers)
      this.#mayHold = Number(headers['content-length'] ?? Infinity) <= heldMaxBytes
      queueMicrotask(this.#flush)
    })
  }

  data(piece: Uint8Array): boolean {
    this.guarded(() => this.#take(piece))
    return this.#aheadBytes < aheadMaxBytes
  }

  ended(trailers: IncomingHttpHeaders): void {
    this.guarded(() => {
      this.#isWritten = true
      const held = this.#held
      this.#held = undefined
      this.#request.end(held, answerTrailers(trailers))
      this.over(undefined)
    })
  }

  failed(failure: Error): void {
    this.over(failure)
  }

  /** Stops: the client has left, or the response is not wanted any more. */
  over(failure: Error | undefined): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#isWritten = true
    this.#held = undefined
    this.#cancelCut?.()
    this.#hooks.over(failure)
  }

  /** An error of this side is not the upstream's fault: the request ends with that error. */
  protected guarded(task: () => void): void {
    if (this.#isOver) return
    try {
      task()
    } catch (error) {
      this.control?.abort()
      this.over(error instanceof Error ? error : new Error(String(error)))
    }
  }

  /** Sends the headers: together with the body if it has come at once, alone if it has not. */
  readonly #flush = (): void => {
    this.guarded(() => {
      this.#mayHold = false
      const held = this.#held
      this.#held = undefined
      if (held !== undefined) this.#take(held)
      else if (!this.#isWritten) this.#request.flush()
    })
  }

  #take(piece: Uint8Array): void {
    if (this.#mayHold && this.#held === undefined) {
      this.#held = piece
      return
    }
    if (this.#held !== undefined) this.#flush()
    this.#isWritten = true
    if (!this.#request.write(piece) && this.#cancelCut === undefined) {
      this.#cancelCut = this.#clock.setTimer(slowReaderTimeoutMs, this.#cut)
      this.#request.onDrain(this.#drained)
    }
    if (this.#cancelCut !== undefined) this.#aheadBytes += piece.length
  }

  readonly #drained = (): void => {
    this.#cancelCut?.()
    this.#cancelCut = undefined
    this.#aheadBytes = 0
    this.control?.resume()
  }

  /** The client has taken nothing for too long. */
  readonly #cut = (): void => {
    this.control?.abort()
    this.over(undefined)
    this.#request.abort()
  }
}
