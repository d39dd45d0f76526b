/** One connection to the upstream: one request at a time, sent as its body comes, and the answer told as it comes.
 *
 *  What is read is passed on whole. When it is too much for the client, the socket is paused before its next read, and no earlier. */

import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'
import { CacheError } from '../../base/errors.ts'
import { AnswerParser, type AnswerSink } from './answer-parser.ts'
import { lastChunk, type RequestHead } from './request-head.ts'
import type { ForwardBody } from '../upstream.ts'

/** A request, and whom its answer is told. */
export interface Passage {
  readonly method: string
  /** Whose turn it takes at connections; undefined: nobody is told apart. */
  readonly user: string | undefined
  readonly head: RequestHead
  readonly body: ForwardBody | undefined
  /** From now on the upstream may see it. */
  sent(connection: UpstreamConnection): void
  started(code: number, headers: IncomingHttpHeaders): void
  /** False when no more is wanted until `resume`. */
  data(piece: Uint8Array): boolean
  ended(trailers: IncomingHttpHeaders): void
  failed(error: unknown): void
}

export interface ConnectionHooks {
  /** Ready for another request. */
  readonly onFree: (connection: UpstreamConnection) => void
  /** Of no more use. Once. */
  readonly onGone: (connection: UpstreamConnection) => void
}

/** What went wrong, for `upstreamFailure`. */
export class ConnectionError extends Error {
  readonly code: 'ECONNRESET' | 'ETIMEDOUT'

  constructor(code: 'ECONNRESET' | 'ETIMEDOUT', message: string) {
    super(message)
    this.code = code
  }
}

export class UpstreamConnection implements AnswerSink {
  readonly #socket: Socket
  readonly #clock: Clock
  readonly #hooks: ConnectionHooks
  readonly #parser: AnswerParser
  #passage: Passage | undefined = undefined
  #isSent = true
  #isPaused = false
  /** When something last came or went. */
  #touchedMs = 0

  /** Takes over a socket that is connected. */
  constructor(socket: Socket, clock: Clock, hooks: ConnectionHooks) {
    this.#socket = socket
    this.#clock = clock
    this.#hooks = hooks
    this.#parser = new AnswerParser(this)
    socket.on('data', this.#take)
    socket.on('end', this.#sawEnd)
    socket.on('error', error => this.#fail(error))
    socket.on('close', () => {
      this.#fail(new ConnectionError('ECONNRESET', 'the connection was closed'))
      hooks.onGone(this)
    })
  }

  /** Not closed, nor about to be. */
  get isOpen(): boolean {
    return this.#socket.writable
  }

  get isBusy(): boolean {
    return this.#passage !== undefined
  }

  /** The last answer's `Keep-Alive` header. */
  get keepAlive(): string | undefined {
    return this.#parser.keepAlive
  }

  send(passage: Passage): void {
    this.#passage = passage
    this.#touchedMs = this.#clock.monotonicMs()
    this.#parser.expect(passage.method)
    passage.sent(this)
    // Whoever was told may have given up.
    if (this.#passage !== passage) return
    this.#socket.write(passage.head.text, 'latin1')
    this.#isSent = passage.body === undefined
    if (passage.body !== undefined) void this.#sendBody(passage, passage.body)
  }

  /** Takes more of the answer. */
  resume(passage: Passage): void {
    if (this.#passage !== passage || !this.#isPaused) return
    this.#touchedMs = this.#clock.monotonicMs()
    this.#isPaused = false
    this.#socket.resume()
  }

  /** Gives a request up: nothing more is told of it. */
  abort(passage: Passage): void {
    if (this.#passage !== passage) return
    this.#passage = undefined
    this.#socket.destroy()
  }

  close(): void {
    this.#fail(new CacheError('closed', 'the service ends'))
  }

  /** Ends it when it is late, or has been idle for too long. While the client is slow the upstream is not late. 0 is no limit. */
  look(nowMs: number, answerMs: number, idleMs: number): void {
    const limitMs = this.isBusy ? answerMs : idleMs
    if (limitMs === 0 || this.#isPaused || nowMs - this.#touchedMs < limitMs) return
    this.#fail(new ConnectionError('ETIMEDOUT', 'nothing has come in time'))
  }

  started(code: number, headers: IncomingHttpHeaders): void {
    this.#passage?.started(code, headers)
  }

  data(piece: Uint8Array): void {
    if (this.#passage === undefined || this.#passage.data(piece) || this.#isPaused) return
    this.#isPaused = true
    this.#socket.pause()
  }

  ended(trailers: IncomingHttpHeaders): void {
    const passage = this.#passage
    this.#passage = undefined
    passage?.ended(trailers)
  }

  readonly #take = (bytes: Buffer): void => {
    const wasBusy = this.isBusy
    this.#touchedMs = this.#clock.monotonicMs()
    try {
      this.#parser.take(bytes)
    } catch (error) {
      this.#fail(error)
      return
    }
    // Not before all has been looked at that came: what is behind an answer must not become the next one.
    if (wasBusy && !this.isBusy) this.#release()
  }

  readonly #sawEnd = (): void => {
    if (!this.#parser.close()) {
      this.#fail(new ConnectionError('ECONNRESET', 'the connection has ended too early'))
    }
    this.#socket.destroy()
  }

  #release(): void {
    const isUsable = this.#parser.isPersistent && this.#parser.isIdle && this.#isSent
    if (!isUsable || !this.isOpen) {
      this.#socket.destroy()
      return
    }
    if (this.#isPaused) {
      this.#isPaused = false
      this.#socket.resume()
    }
    this.#hooks.onFree(this)
  }

  #fail(error: unknown): void {
    const passage = this.#passage
    this.#passage = undefined
    this.#socket.destroy()
    passage?.failed(error)
  }

  /** A body that breaks off takes the connection with it, so that the upstream cannot take it for whole. */
  async #sendBody(passage: Passage, body: ForwardBody): Promise<void> {
    const { bodyBytes } = passage.head
    let left = bodyBytes ?? 0
    try {
      for await (const piece of body.pieces()) {
        if (this.#passage !== passage) return
        if (piece.length === 0) continue
        left -= piece.length
        if (bodyBytes !== undefined && left < 0) break
        this.#touchedMs = this.#clock.monotonicMs()
        const takesMore = this.#writePiece(piece, bodyBytes === undefined)
        // The answer may come before the client's stream has ended.
        if (bodyBytes !== undefined) this.#isSent = left === 0
        if (!takesMore) await this.#drained()
      }
      if (this.#passage !== passage) return
      if (bodyBytes === undefined) this.#socket.write(lastChunk(body.trailers()), 'latin1')
      else if (left !== 0) throw new ConnectionError('ECONNRESET', 'a body has another length')
      this.#isSent = true
    } catch (error) {
      if (this.#passage === passage) this.#fail(error)
    }
  }

  #writePiece(piece: Uint8Array, isChunk: boolean): boolean {
    const socket = this.#socket
    if (!isChunk) return socket.write(piece)
    socket.cork()
    socket.write(`${piece.length.toString(16)}\r\n`, 'latin1')
    socket.write(piece)
    const takesMore = socket.write('\r\n', 'latin1')
    socket.uncork()
    return takesMore
  }

  #drained(): Promise<void> {
    const socket = this.#socket
    return new Promise(resolve => {
      const done = (): void => {
        socket.off('drain', done)
        socket.off('close', done)
        resolve()
      }
      socket.on('drain', done)
      socket.on('close', done)
      if (socket.destroyed) done()
    })
  }
}
