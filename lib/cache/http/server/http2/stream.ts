/** A request over one stream of an HTTP/2 connection. What Node's objects of a stream take is
 *  more than half of a small answer, so it writes frames itself. */

import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { HttpRequest, OnFault, Peer, ResponseHeaders } from '../http-request.ts'
import { guarded } from '../guarded.ts'
import { peerOf } from '../peer.ts'
import { RequestBody } from './body.ts'
import {
  errorCode,
  flag,
  frameHead,
  frameType,
  headerField,
  headerFrames,
  statusField,
} from '@watchglass/etcd'
import type { Output } from './output.ts'
import type { RequestHead } from './request-head.ts'

/** The connection of a stream. */
export interface StreamOwner {
  readonly output: Output
  /** The line of a response that says when it was made. */
  dateField(): string
  accept(): void
  /** A request was answered with 401. */
  refuse(): void
  /** Gives the client back as many bytes of window as a reader has taken of this stream's body. */
  taken(stream: Http2Stream, bytes: number): void
  /** The stream is over. With a code, the client is to be told. */
  over(stream: Http2Stream, code: number | undefined): void
}

/** States of a response: nothing is set, its head is set, its head is written, all of it was given,
 *  or it is over. */
type State = 'open' | 'headed' | 'begun' | 'ended' | 'closed'

const noTrailers: readonly string[] = []
const nothing = new Uint8Array(0)
/** Answers without a body. */
const bodiless: ReadonlySet<number> = new Set([204, 304])

export class Http2Stream implements HttpRequest {
  readonly version = '2'
  readonly canHaveTrailers = true
  readonly id: number
  readonly #owner: StreamOwner
  readonly #head: RequestHead
  readonly #onFault: OnFault
  readonly #body: RequestBody | undefined
  /** Bytes that the client takes. */
  window: number
  /** Bytes that it may send, and those that were read since it was told. */
  room: number
  returned = 0
  /** Bytes of the body that have come. */
  bodyBytes = 0
  /** The request has not ended yet. */
  isReceiving: boolean
  rawTrailers: readonly string[] = noTrailers
  rstCode = 0
  /** The client may go on with its request after the response, until `closed` ends the stream.
   *  Otherwise it is told to stop (RFC 9113, 8.1). */
  waitsForRequest = false
  leaveLimits: (() => void) | undefined = undefined
  target: string
  onAccept: (() => void) | undefined = undefined
  socketMs: number | undefined = undefined
  sentBytes: number | undefined = undefined
  #state: State = 'open'
  #block = ''
  #hasContent = true
  #isSent = false
  #trailers: ResponseHeaders | undefined = undefined
  /** Pieces that wait for the windows or the socket, and the bytes of the first that are sent. */
  #waiting: Uint8Array[] = []
  #waitingBytes = 0
  #sentOfFirst = 0
  #onDrain: (() => void) | undefined = undefined
  #onClose: (() => void)[] | undefined = undefined

  constructor(
    id: number,
    owner: StreamOwner,
    head: RequestHead,
    limits: {
      readonly onFault: OnFault
      readonly window: number
      readonly room: number
      readonly hasBody: boolean
    },
  ) {
    this.id = id
    this.#owner = owner
    this.#head = head
    this.target = head.target
    this.#onFault = limits.onFault
    this.window = limits.window
    this.room = limits.room
    this.isReceiving = limits.hasBody
    this.#body = limits.hasBody
      ? new RequestBody(bytes => this.#owner.taken(this, bytes))
      : undefined
  }

  get method(): string {
    return this.#head.method
  }

  get headers(): IncomingHttpHeaders {
    return this.#head.headers
  }

  get rawHeaders(): readonly string[] {
    return this.#head.rawHeaders
  }

  get hasBody(): boolean {
    return this.#body !== undefined
  }

  get body(): Readable {
    return this.#body ?? Readable.from([])
  }

  get peer(): Peer {
    return peerOf(this.#owner.output.socket)
  }

  get isClosed(): boolean {
    return this.#state === 'closed'
  }

  get isFlushing(): boolean {
    return this.#state === 'ended'
  }

  /** The last frame of the response is written, and all of the request has come. */
  get isAnswered(): boolean {
    return this.#state === 'ended' && this.#waiting.length === 0 && !this.isReceiving
  }

  get headersSent(): boolean {
    return this.#state !== 'open' && this.#state !== 'headed'
  }

  /** Bytes of the response that wait for the client's windows or the socket. */
  get writableLength(): number {
    return this.#waitingBytes
  }

  /** Some of the response waits for the client's windows or the socket. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }

  /** All of the response has left; the request may go on. */
  get isSent(): boolean {
    return this.#isSent
  }

  /** The stream is over, and all of the response has left. */
  get writableFinished(): boolean {
    return this.#state === 'closed' && this.rstCode === 0
  }

  /** Bytes of the body that nobody has read. */
  get unreadBytes(): number {
    return this.#body?.waitingBytes ?? 0
  }

  accept(): void {
    this.#owner.accept()
    this.onAccept?.()
  }

  respond(status: number, headers: ResponseHeaders, length?: number): void {
    if (this.#state === 'closed') return
    if (this.#state !== 'open') throw new TypeError('the response has begun already')
    let block = statusField(status)
    for (const name in headers) {
      const value = headers[name]!
      if (typeof value === 'string') block += headerField(name, value)
      else for (const one of value) block += headerField(name, one)
    }
    if (headers['date'] === undefined) block += this.#owner.dateField()
    if (length !== undefined) block += headerField('content-length', String(length))
    this.#block = block
    this.#hasContent = !bodiless.has(status) && this.method !== 'HEAD'
    this.#state = 'headed'
    if (status === 401) this.#owner.refuse()
  }

  proceed(): void {
    const isWaiting = this.headers.expect?.toLowerCase() === '100-continue'
    if (!isWaiting || this.headersSent || this.isClosed) return
    this.#owner.output.control(this.#headers(statusField(100), false))
  }

  flush(): void {
    if (this.#state !== 'headed') return
    this.#owner.output.write(this.#begin(false))
  }

  write(piece: Uint8Array): boolean {
    if (this.#state === 'closed') return true
    if (this.#state === 'ended') throw new TypeError('the response has ended already')
    const { output } = this.#owner
    if (this.#state !== 'begun') output.write(this.#begin(false))
    if (!this.#hasContent || piece.length === 0) return this.#waiting.length === 0
    this.#wait(piece)
    this.#send()
    return this.#waiting.length === 0
  }

  onDrain(task: () => void): void {
    this.#onDrain = guarded(this, task, this.#onFault)
  }

  end(piece?: Uint8Array, trailers?: ResponseHeaders): void {
    this.#trailers = trailers
    this.#end(piece)
  }

  endWith(pieces: readonly Uint8Array[]): void {
    if (this.#state === 'closed' || this.#state === 'ended') return
    if (pieces.length > 1 && this.#hasContent) {
      if (this.#state !== 'begun') this.#owner.output.write(this.#begin(false))
      for (let i = 0; i < pieces.length - 1; i++) {
        if (pieces[i]!.length > 0) this.#wait(pieces[i]!)
      }
    }
    this.#end(pieces.at(-1))
  }

  /** Cuts the response off. */
  abort(): void {
    this.closed(errorCode.internal, true)
  }

  /** A watch has five of them for hours, so they are guarded when they are called. */
  onClose(task: () => void): () => void {
    if (this.isClosed) {
      guarded(this, task, this.#onFault)()
      return () => {}
    }
    const tasks = (this.#onClose ??= [])
    tasks.push(task)
    return () => {
      const at = tasks.indexOf(task)
      if (at >= 0) tasks.splice(at, 1)
    }
  }

  /** A part of the body has come. */
  received(bytes: Buffer, from: number, to: number): void {
    this.bodyBytes += to - from
    this.#body?.add(bytes, from, to)
  }

  /** The request has ended. False if its body is not as long as it said. */
  receivedAll(trailers: readonly string[] = noTrailers): boolean {
    const { bodyBytes = this.bodyBytes } = this.#head
    if (bodyBytes !== this.bodyBytes) return false
    this.isReceiving = false
    this.rawTrailers = trailers
    this.#body?.finish()
    if (this.#isSent) this.closed(errorCode.none, false)
    return true
  }

  /** Its body is longer than it said. */
  get isTooLong(): boolean {
    return this.bodyBytes > (this.#head.bodyBytes ?? Infinity)
  }

  /** Sends up to so many bytes of what waits. True if some of it still waits and could go on. */
  sendSome(maxBytes: number): boolean {
    const { output } = this.#owner
    let left = Math.min(maxBytes, this.window, output.window, output.room)
    while (left > 0 && this.#waiting.length > 0) left -= this.#sendPart(left)
    if (this.#waiting.length > 0) return this.window > 0
    this.#drained()
    return false
  }

  /** The stream is over: all of its response has left, or one of both sides has reset it. */
  closed(code: number, isTold: boolean): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.rstCode = code
    this.#waiting = []
    this.#waitingBytes = 0
    this.#block = ''
    this.#owner.over(this, isTold ? code : undefined)
    if (this.#body?.readableEnded === false) this.#body.destroy()
    const tasks = this.#onClose
    this.#onClose = undefined
    for (const task of tasks ?? []) guarded(this, task, this.#onFault)()
  }

  /** All of the response has left. */
  readonly #sent = (error?: Error | null): void => {
    // The connection has ended, which is told.
    if (error) return
    this.#isSent = true
    const isWaited = this.isReceiving && this.waitsForRequest
    if (!isWaited) this.closed(errorCode.none, this.isReceiving)
  }

  #end(piece: Uint8Array | undefined): void {
    if (this.#state === 'closed' || this.#state === 'ended') return
    const { output } = this.#owner
    const bytes = this.#hasContent && piece !== undefined ? piece : nothing
    if (this.#waiting.length > 0) {
      if (bytes.length > 0) this.#wait(bytes)
      this.#state = 'ended'
      this.#send()
      return
    }
    const most = Math.min(this.window, output.window, output.room, output.payloadMax)
    // Without a body the rest needs no room: it is one frame of headers.
    if (bytes.length > Math.max(0, most)) {
      if (this.#state !== 'begun') output.write(this.#begin(false))
      this.#wait(bytes)
      this.#state = 'ended'
      this.#send()
      return
    }
    this.#endAtOnce(bytes)
  }

  /** The rest of the response is one frame. */
  #endAtOnce(bytes: Uint8Array): void {
    const { output } = this.#owner
    const isEmpty = bytes.length === 0
    const isEnd = this.#trailers === undefined
    let text = this.#state === 'begun' ? '' : this.#begin(isEmpty && isEnd)
    const hasFrame = !isEmpty || (isEnd && text === '')
    if (hasFrame) text += this.#dataHead(bytes.length, isEnd)
    this.#state = 'ended'
    this.window -= bytes.length
    output.window -= bytes.length
    if (isEmpty) output.write(isEnd ? text : text + this.#trailerFrames(), this.#sent)
    else if (isEnd) output.writeData(text, bytes, this.#sent)
    else {
      output.writeData(text, bytes)
      output.write(this.#trailerFrames(), this.#sent)
    }
  }

  /** The head of the response as frames. */
  #begin(isLast: boolean): string {
    if (this.#state === 'open') this.respond(200, {})
    this.#state = 'begun'
    const frames = this.#headers(this.#block, isLast)
    this.#block = ''
    return frames
  }

  #headers(block: string, isLast: boolean): string {
    const { output } = this.#owner
    return headerFrames(this.id, output.tableUpdate() + block, {
      isLast,
      payloadMax: output.payloadMax,
    })
  }

  #trailerFrames(): string {
    let block = ''
    for (const [name, value] of Object.entries(this.#trailers ?? {})) {
      for (const one of [value].flat()) block += headerField(name, one)
    }
    if (block !== '') return this.#headers(block, true)
    return this.#dataHead(0, true)
  }

  #dataHead(bytes: number, isEnd: boolean): string {
    return frameHead(bytes, frameType.data, isEnd ? flag.endStream : 0, this.id)
  }

  #wait(piece: Uint8Array): void {
    this.#waiting.push(piece)
    this.#waitingBytes += piece.length
  }

  #send(): void {
    const { output } = this.#owner
    if (output.isBusy || this.sendSome(output.room)) output.wait(this)
  }

  /** Sends a frame of the first piece, and returns its bytes. */
  #sendPart(maxBytes: number): number {
    const { output } = this.#owner
    const piece = this.#waiting[0]!
    const from = this.#sentOfFirst
    const to = Math.min(piece.length, from + maxBytes, from + output.payloadMax)
    const isWhole = to === piece.length
    if (isWhole) this.#waiting.shift()
    this.#sentOfFirst = isWhole ? 0 : to
    // An array that has had a piece keeps room for seventeen.
    if (isWhole && this.#waiting.length === 0) this.#waiting = []
    const isLast = isWhole && this.#waiting.length === 0 && this.#state === 'ended'
    const isEnd = isLast && this.#trailers === undefined
    const part = from === 0 && isWhole ? piece : piece.subarray(from, to)
    this.#waitingBytes -= part.length
    this.window -= part.length
    output.window -= part.length
    output.writeData(this.#dataHead(part.length, isEnd), part, isEnd ? this.#sent : undefined)
    if (isLast && !isEnd) output.write(this.#trailerFrames(), this.#sent)
    return part.length
  }

  #drained(): void {
    const task = this.#onDrain
    this.#onDrain = undefined
    task?.()
  }
}
