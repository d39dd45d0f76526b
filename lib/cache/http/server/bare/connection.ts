/** A connection over HTTP/1.1 for as long as its requests are bare (head.ts). They are answered
 *  one after the other: those that a client sends ahead wait. With the first one that is not bare,
 *  the connection is Node's, and stays so.
 *
 *  ```
 *  bytes ──▶ a bare head ─────▶ request ──▶ answered ──▶ the next bytes
 *     └────▶ anything else ──▶ Node's HTTP/1.1 server, with these bytes
 *  ```
 *
 *  Over TLS Node's own parser fails at many requests that are sent ahead (HPE_PAUSED), so a request
 *  that is cut off behind others is waited for and not left to it. */

import type { Socket } from 'node:net'
import { type CancelTimer, type Clock, IdleTimer } from '@watchglass/base'
import type { HttpRequest, OnFault, ResponseHeaders } from '../http-request.ts'
import type { CommonFields } from './common-fields.ts'
import type { Corked, Corks } from './corks.ts'
import { BareRequest, type Wire } from './request.ts'
import { type BareFields, isUnfinished, readBareHead } from './head.ts'

export interface BareServices {
  readonly clock: Clock
  readonly onFault: OnFault
  /** The time limit of a client for its first request. */
  readonly headersTimeoutMs: number
  /** Time that a connection without requests is kept. */
  readonly idleTimeoutMs: number
  /** Each answer closes its connection. */
  readonly isLeaving: () => boolean
  readonly common: CommonFields
  readonly corks: Corks
  readonly begin: (request: HttpRequest, socket: Socket) => void
}

/** Longer requests are Node's. */
const requestMaxBytes = 16 * 1024
/** The lines of longer ones are not remembered: a client may open many connections. */
const rememberedMaxBytes = 4 * 1024
/** Clients wait for an answer before they send the next request. One that has sent so much before
 *  is not listened to any more. */
const earlyMaxBytes = 64 * 1024

export class BareConnection implements Wire, Corked {
  readonly socket: Socket
  readonly #services: BareServices
  readonly #giveAway: () => void
  readonly #idle: IdleTimer
  /** Cancels the time limit of a request that has not come whole. */
  #cancelWait: CancelTimer | undefined = undefined
  #request: BareRequest | undefined = undefined
  /** Bytes that came while a request was under way, or the first of one that has not come whole.
   *  With many connections these are mostly the next request: it is read before Node has told that
   *  the answer has left. */
  #early: Buffer | undefined = undefined
  #fields: BareFields | undefined = undefined
  #hasAnswered = false
  /** True if the connection is closed after the answer. */
  #isEnding = false
  #isCorked = false

  /** `giveAway` gives the connection to Node's server. */
  constructor(socket: Socket, services: BareServices, giveAway: () => void) {
    this.socket = socket
    this.#services = services
    this.#giveAway = giveAway
    const { clock, idleTimeoutMs } = services
    this.#wait()
    this.#idle = new IdleTimer(clock, idleTimeoutMs, this.endIfIdle)
    socket.on('data', this.#take)
    socket.on('drain', this.#drained)
    socket.on('end', this.#clientEnded)
    socket.on('close', this.#closed)
    socket.on('error', ignore)
  }

  commonFields({ date, connection }: ResponseHeaders): string {
    const { common, isLeaving } = this.#services
    if (connection === 'close' || isLeaving()) this.#isEnding = true
    const dateLine = date === undefined ? common.dateField() : ''
    return connection === undefined ? dateLine + common.persistence(this.#isEnding) : dateLine
  }

  corkForTurn(): void {
    if (this.#isCorked) return
    this.#isCorked = true
    this.#services.corks.add(this)
  }

  uncork(): void {
    this.#isCorked = false
    this.socket.uncork()
  }

  /** Closes the connection if no request is under way. A socket listens for its own end each time
   *  that it is told to close. */
  readonly endIfIdle = (): void => {
    if (this.#request === undefined && !this.socket.writableEnded) this.socket.destroySoon()
  }

  readonly sent = (): void => {
    const request = this.#request
    if (request === undefined) return
    this.#request = undefined
    this.#hasAnswered = true
    this.#idle.used()
    request.closed()
    if (this.#isEnding) this.endIfIdle()
    const early = this.#early
    if (early === undefined) return
    this.#early = undefined
    this.#take(early)
  }

  readonly #take = (came: Buffer): void => {
    if (this.socket.writableEnded || this.socket.destroyed) return
    const early = this.#early
    const bytes = early === undefined ? came : Buffer.concat([early, came])
    if (this.#request !== undefined) {
      this.#early = bytes
      if (bytes.length > earlyMaxBytes) this.socket.destroy()
      return
    }
    this.#early = undefined
    const text = bytes.toString('latin1', 0, requestMaxBytes)
    const head = readBareHead(text, this.#fields)
    if (head === undefined) {
      if (!this.#waitsForRest(bytes, text)) this.#handOver(bytes)
      return
    }
    this.#cancelWait?.()
    this.#cancelWait = undefined
    const { fields, length } = head
    if (length < bytes.length) this.#early = bytes.subarray(length)
    this.#fields = length > rememberedMaxBytes ? undefined : fields
    this.#isEnding = fields.isLast
    const request = new BareRequest(this, head, this.#services.onFault)
    this.#request = request
    this.#services.begin(request, this.socket)
  }

  /** Waits for the rest of a request that has come behind others. False if it is Node's. */
  #waitsForRest(bytes: Buffer, text: string): boolean {
    if (!this.#hasAnswered || text.length < bytes.length || !isUnfinished(text)) return false
    this.#early = bytes
    this.#wait()
    return true
  }

  /** The time limit of a request stays what it was, however many pieces come. */
  #wait(): void {
    const { clock, headersTimeoutMs } = this.#services
    this.#cancelWait ??= clock.setTimer(headersTimeoutMs, this.endIfIdle)
  }

  #handOver(bytes: Buffer): void {
    const { socket } = this
    this.#stop()
    socket.off('data', this.#take)
    socket.off('drain', this.#drained)
    socket.off('end', this.#clientEnded)
    socket.off('close', this.#closed)
    this.#giveAway()
    socket.off('error', ignore)
    socket.unshift(bytes)
  }

  #stop(): void {
    this.#cancelWait?.()
    this.#idle.stop()
  }

  readonly #drained = (): void => this.#request?.drained()

  readonly #clientEnded = (): void => {
    this.socket.end()
  }

  readonly #closed = (): void => {
    this.#stop()
    this.#request?.closed()
    this.#request = undefined
  }
}

/** Nothing to do for a failed socket: it is closed, and that is told. */
function ignore(): void {}
