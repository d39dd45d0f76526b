/** One connection to the upstream: one request at a time. The request's body is sent and the response is passed on as they come.
 *
 *  All bytes of a read are passed on at once. If the client's buffer is full, the socket is paused before its next read. */

import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'
import { CacheError } from '../../base/errors.ts'
import { AnswerParser, type AnswerSink } from './answer-parser.ts'
import { lastChunk, type RequestHead } from './request-head.ts'
import type { ForwardBody } from '../upstream/upstream.ts'

/** A request, and the receiver of its response. */
export interface Passage {
  readonly method: string
  /** The user whose share of connections it takes; undefined if requests are not shared out by user. */
  readonly user: string | undefined
  readonly head: RequestHead
  readonly body: ForwardBody | undefined
  /** The request is being sent: the upstream may see it. */
  sent(connection: UpstreamConnection): void
  started(code: number, headers: IncomingHttpHeaders): void
  /** False if no more should come until `resume`. */
  data(piece: Uint8Array): boolean
  ended(trailers: IncomingHttpHeaders): void
  failed(error: unknown): void
}

export interface ConnectionHooks {
  /** The connection is ready for another request. */
  readonly onFree: (connection: UpstreamConnection) => void
  /** The connection cannot be used any more. Called once. */
  readonly onGone: (connection: UpstreamConnection) => void
}

/** An error of the connection, for `upstreamFailure`. */
export class ConnectionError extends Error {
  readonly code: 'ECONNRESET' | 'ETIMEDOUT'

  constructor(code: 'ECONNRESET' | 'ETIMEDOUT', message: string) {
    super(message)
    this.code = code
  }
}

/** An upstream that takes nothing of a body for so long is given up, as a client is that takes nothing of a response. */
const unreadMaxMs = 60_000

export class UpstreamConnection implements AnswerSink {
  readonly #socket: Socket
  readonly #clock: Clock
  readonly #hooks: ConnectionHooks
  readonly #parser: AnswerParser
  #passage: Passage | undefined = undefined
  #isSent = true
  #isPaused = false
  /** When bytes were last received or sent. */
  #touchedMs = 0
  /** Since when the upstream has taken nothing of a body, although there is more; undefined if it takes what comes. */
  #fullSinceMs: number | undefined = undefined

  /** Uses a connected socket. */
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

  /** True if it is neither closed nor being closed. */
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
    // The receiver may have cancelled in the call before.
    if (this.#passage !== passage) return
    this.#socket.write(passage.head.text, 'latin1')
    this.#isSent = passage.body === undefined
    if (passage.body !== undefined) void this.#sendBody(passage, passage.body)
  }

  /** Continues reading the response. */
  resume(passage: Passage): void {
    if (this.#passage !== passage || !this.#isPaused) return
    this.#touchedMs = this.#clock.monotonicMs()
    this.#isPaused = false
    this.#socket.resume()
  }

  /** Cancels a request: its receiver is not called any more. */
  abort(passage: Passage): void {
    if (this.#passage !== passage) return
    this.#passage = undefined
    this.#socket.destroy()
  }

  close(): void {
    this.#fail(new CacheError('closed', 'the service ends'))
  }

  /** Closes the connection if the response is late, if the upstream does not read a body, or if it was idle for too long. A slow client
   *  does not make the upstream late. 0 is no limit. */
  look(nowMs: number, answerMs: number, idleMs: number): void {
    if (this.#fullSinceMs !== undefined && nowMs - this.#fullSinceMs >= unreadMaxMs) {
      this.#fail(new ConnectionError('ETIMEDOUT', 'the upstream does not read the body'))
      return
    }
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
    // Only after all received bytes are parsed: bytes after a response must not become the next one.
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

  /** If the client's body breaks off, the connection is closed, so that the upstream cannot take the body for complete. */
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
        // The response may come before the client's body has ended.
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
    this.#fullSinceMs = this.#clock.monotonicMs()
    return new Promise(resolve => {
      const done = (): void => {
        this.#fullSinceMs = undefined
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
