/** A connection of a client over HTTP/2 (RFC 9113): gives each stream as a request.
 *
 *  ```
 *  bytes ─▶ FrameLoop ─▶ streams ─▶ the scheduler of arrivals ─▶ the handler
 *               └─────▶ windows, settings, pings          output ◀── responses ◀──┘
 *  ``` */

import type { Socket } from 'node:net'
import { type Clock, IdleTimer } from '@watchglass/base'
import {
  type BlockHead,
  type BodyPart,
  errorCode,
  flag,
  type FrameEnd,
  frameHead,
  FrameLoop,
  frameType,
  goAwayFrame,
  headBytes,
  type HeaderList,
  headersMaxBytes,
  idleOfClient,
  type PeerSettings,
  refusedStreamBytes,
  resetFrame,
  ResetCharges,
  setting,
  settingsAck,
  settingsBytes,
  settingsFrame,
  usualPayloadMaxBytes,
  usualWindowBytes,
  windowFrame,
  windowMaxBytes,
} from '@watchglass/etcd'
import { isAccepted, noteAccepted } from '../accepted.ts'
import { tooLongHeaders } from '../malformed.ts'
import type { Arrivals } from '../arrivals.ts'
import type { Corks } from '../bare/corks.ts'
import type { OnFault } from '../http-request.ts'
import type { StreamLimits } from '../stream-limits.ts'
import { Output } from './output.ts'
import type { PingedConnection } from './pings.ts'
import { sendWhole } from '../respond.ts'
import { HeadReader, readTrailers, unreadHead } from './request-head.ts'
import { Http2Stream, type StreamOwner } from './stream.ts'

export interface ConnectionServices {
  readonly clock: Clock
  readonly onFault: OnFault
  /** Time that a connection without requests is kept. */
  readonly idleTimeoutMs: number
  readonly arrivals: Pick<Arrivals, 'read' | 'wasted'>
  readonly limits: Pick<StreamLimits, 'open'>
  readonly corks: Corks
  /** The line of a response that says when it was made. */
  readonly dateField: () => string
  /** Bytes that a client that is known may send before they are read. */
  readonly windows: { readonly stream: number; readonly connection: number }
  /** A request has come. */
  readonly begin: (stream: Http2Stream, connection: Http2Connection) => void
  /** A ping has come. The connection ends for the reason that is returned. */
  readonly pinged?: (() => string | undefined) | undefined
}

const textHeaders = { 'content-type': 'text/plain; charset=utf-8' }
const tooLongBody = Buffer.from(tooLongHeaders)
/** The bytes that a ping carries: clients return them, and nobody looks at them. */
const pingPayload = '\0'.repeat(8)

export class Http2Connection implements StreamOwner, FrameEnd, PingedConnection {
  readonly output: Output
  silentSeconds = 0
  readonly #socket: Socket
  readonly #services: ConnectionServices
  readonly #streams = new Map<number, Http2Stream>()
  readonly #heads = new HeadReader()
  readonly #frames: FrameLoop
  readonly #resets: ResetCharges
  readonly #idle: IdleTimer
  readonly #noteStream: (stream: Http2Stream) => () => void
  #streamsMax: number
  #isClosing = false
  #isDestroyed = false
  #lastStream = 0
  /** Bytes that the client may send, its windows, and what was read since it was told. */
  #room = usualWindowBytes
  #roomMax = usualWindowBytes
  #streamRoom = usualWindowBytes
  #returned = 0
  #clientWindow = usualWindowBytes
  /** Bytes of bodies that were refused, which may still come. */
  #refusedBytes = 0

  constructor(socket: Socket, services: ConnectionServices, streamsMax: number) {
    this.#socket = socket
    this.#services = services
    this.#streamsMax = streamsMax
    const { clock, idleTimeoutMs, corks } = services
    this.output = new Output(socket, corks, () => this.fail(errorCode.enhanceYourCalm))
    this.#frames = new FrameLoop(this, { clock, idle: idleOfClient, isOfClient: true })
    this.#resets = new ResetCharges(clock)
    this.#idle = new IdleTimer(clock, idleTimeoutMs, this.#notUsed)
    this.#noteStream = services.limits.open(this)
    this.output.write(
      settingsFrame({
        [setting.streamsMax]: streamsMax,
        [setting.headerListMaxBytes]: headersMaxBytes,
      }),
    )
    socket.on('data', this.#take)
    socket.on('drain', this.#pump)
    socket.on('end', this.#gone)
    socket.on('close', this.#closed)
    socket.on('error', ignore)
  }

  get destroyed(): boolean {
    return this.#isDestroyed
  }

  get closed(): boolean {
    return this.#isClosing
  }

  get sentBytes(): number {
    return this.output.sentBytes
  }

  /** The client may have so many streams at once. */
  limitStreams(maxConcurrentStreams: number): void {
    this.#streamsMax = maxConcurrentStreams
    this.output.write(settingsFrame({ [setting.streamsMax]: maxConcurrentStreams }))
  }

  /** Nothing is read until `readStart`: the bytes stay with the system. */
  readStop(): void {
    this.#frames.hold()
    this.#socket.pause()
  }

  readStart(): void {
    this.#frames.release()
    process.nextTick(this.#readOn)
  }

  dateField(): string {
    return this.#services.dateField()
  }

  /** The client is authenticated: the connection may carry more. */
  accept(): void {
    if (isAccepted(this) || this.#isDestroyed || this.#isClosing) return
    noteAccepted(this)
    const { windows } = this.#services
    const more = windows.stream - this.#streamRoom
    this.#streamRoom = windows.stream
    for (const stream of this.#streams.values()) stream.room += more
    const all = windows.connection - this.#roomMax
    this.#roomMax = windows.connection
    this.#room += all
    const settings = { [setting.initialWindowBytes]: windows.stream }
    this.output.write((more === 0 ? '' : settingsFrame(settings)) + windowFrame(0, all))
  }

  /** If no client was ever authenticated on the connection, it takes no more requests, so that each
   *  guess of a credential needs a new connection; kube-apiserver does the same. */
  refuse(): void {
    if (!isAccepted(this)) this.close()
  }

  taken(stream: Http2Stream, bytes: number): void {
    this.#return(bytes)
    if (!stream.isReceiving || stream.isClosed) return
    stream.returned += bytes
    if (stream.returned < this.#streamRoom / 2) return
    stream.room += stream.returned
    this.output.write(windowFrame(stream.id, stream.returned))
    stream.returned = 0
  }

  over(stream: Http2Stream, code: number | undefined): void {
    this.#streams.delete(stream.id)
    this.output.leave(stream)
    stream.leaveLimits?.()
    this.#idle.used()
    if (this.#isDestroyed) return
    this.#return(stream.unreadBytes)
    if (code !== undefined) {
      if (stream.isReceiving) {
        const refused = this.#refusedBytes + Math.max(0, stream.room)
        this.#refusedBytes = Math.min(refused, this.#roomMax)
      }
      this.output.write(resetFrame(stream.id, code))
    }
    if (this.#isClosing) this.#endIfDone()
  }

  /** Takes no more requests, and ends when those under way are over. */
  close(): void {
    if (this.#isClosing || this.#isDestroyed) return
    this.#isClosing = true
    this.output.write(goAwayFrame(this.#lastStream, errorCode.none))
    this.#endIfDone()
  }

  destroy(): void {
    this.#closed()
    this.#socket.destroy()
  }

  #endIfDone(): void {
    if (this.#streams.size > 0) return
    this.output.release()
    this.#socket.destroySoon()
  }

  /** Ends the connection: its client breaks the rules, or does too much. */
  fail(code: number, reason?: string): void {
    if (this.#isDestroyed) return
    // Whoever was known on it is not when it comes again.
    if (code === errorCode.enhanceYourCalm) this.#services.arrivals.wasted(idleOfClient.most)
    this.output.write(goAwayFrame(this.#lastStream, code, reason))
    this.output.release()
    this.destroy()
  }

  /** Something is under way, and what the client sends is read. */
  get isListening(): boolean {
    return this.#streams.size > 0 && !this.#frames.isHeld
  }

  /** Asks the client for a sign of life. */
  ping(): void {
    this.output.write(frameHead(8, frameType.ping, 0, 0) + pingPayload)
  }

  readonly #take = (bytes: Buffer): void => {
    this.silentSeconds = 0
    this.#frames.take(bytes)
  }

  readonly #readOn = (): void => {
    if (this.#frames.isHeld || this.#isDestroyed) return
    this.#frames.read()
    if (!this.#frames.isHeld) this.#socket.resume()
  }

  readonly #pump = (): void => this.output.pump()

  readonly #notUsed = (): void => {
    if (this.#streams.size > 0) return
    // One that does not even take the end of its last answer is not waited for.
    if (this.#isClosing || this.#socket.writableLength > 0) this.destroy()
    else this.close()
  }

  /** An HTTP/2 client that ends has gone. */
  readonly #gone = (): void => this.destroy()

  readonly #closed = (): void => {
    if (this.#isDestroyed) return
    this.#isDestroyed = true
    this.#frames.stop()
    this.#idle.stop()
    for (const stream of this.#streams.values()) stream.closed(errorCode.cancel, false)
  }

  headers(list: HeaderList, head: BlockHead): number | undefined {
    const { stream, isLast, bytes } = head
    if (stream > this.#lastStream) {
      this.#services.arrivals.read(this, bytes)
      this.#lastStream = stream
      return this.#open(list, head)
    }
    const open = this.#streams.get(stream)
    if (open?.isReceiving !== true) return this.#frames.idle.spend(headBytes + bytes)
    const trailers = isLast && !list.isTooLong ? readTrailers(list.pairs) : undefined
    if (trailers !== undefined && open.receivedAll(trailers)) return undefined
    return this.#endFor(open, errorCode.protocol)
  }

  #open(
    { pairs, isTooLong }: HeaderList,
    { stream: id, isLast, bytes }: BlockHead,
  ): number | undefined {
    const { begin, onFault } = this.#services
    if (this.#isClosing || this.#isFull()) {
      return this.#refuseStream(id, errorCode.refusedStream, bytes)
    }
    const head = isTooLong ? unreadHead(pairs) : this.#heads.read(pairs)
    if (head === undefined || (isLast && (head.bodyBytes ?? 0) > 0)) {
      return this.#refuseStream(id, errorCode.protocol, bytes) ?? this.#chargeReset(true)
    }
    const stream = new Http2Stream(id, this, head, {
      onFault,
      window: this.#clientWindow,
      room: this.#streamRoom,
      hasBody: !isLast,
    })
    this.#streams.set(id, stream)
    stream.leaveLimits = this.#noteStream(stream)
    if (!isTooLong) {
      begin(stream, this)
      return undefined
    }
    sendWhole(stream, { status: 431, headers: textHeaders }, tooLongBody)
    return this.#frames.idle.spend(refusedStreamBytes + bytes) ?? this.#chargeReset(true)
  }

  /** Streams that are answered are over for the client as soon as it has the last frame, which may
   *  be before the system has said that it was written. They are kept until then, so their number
   *  is bounded, too. */
  #isFull(): boolean {
    if (this.#streams.size < this.#streamsMax) return false
    if (this.#streams.size >= 2 * this.#streamsMax) return true
    let open = 0
    for (const { isAnswered } of this.#streams.values()) if (!isAnswered) open++
    return open >= this.#streamsMax
  }

  #refuseStream(stream: number, code: number, bytes: number): number | undefined {
    this.output.control(resetFrame(stream, code))
    return this.#frames.idle.spend(refusedStreamBytes + bytes)
  }

  data({ stream: id, bytes, from, to, used, isLast }: BodyPart): number | undefined {
    if (id > this.#lastStream) return errorCode.protocol
    this.#room -= used
    if (this.#room < 0) return errorCode.flowControl
    const stream = this.#streams.get(id)
    if (stream?.isReceiving !== true) return this.#takeRefused(used)
    stream.room -= used
    if (stream.room < 0) {
      this.#return(used)
      return this.#endFor(stream, errorCode.flowControl)
    }
    const padding = used - (to - from)
    if (padding > 0) this.taken(stream, padding)
    if (to > from) stream.received(bytes, from, to)
    const isAsSaid = !stream.isTooLong && (!isLast || stream.receivedAll())
    return isAsSaid ? undefined : this.#endFor(stream, errorCode.protocol)
  }

  /** Ends a stream because of what its client has sent. */
  #endFor(stream: Http2Stream, code: number, isTold = true): number | undefined {
    const isUnanswered = !stream.headersSent
    stream.closed(code, isTold)
    return this.#chargeReset(isUnanswered)
  }

  #chargeReset(isUnanswered: boolean): number | undefined {
    const mayGoOn = this.#resets.charge(isUnanswered && !isAccepted(this))
    return mayGoOn ? undefined : errorCode.enhanceYourCalm
  }

  /** A part of a body that was refused, or that no client should send. */
  #takeRefused(length: number): number | undefined {
    this.#return(length)
    const expected = Math.min(this.#refusedBytes, length)
    this.#refusedBytes -= expected
    return this.#frames.idle.spend(headBytes + length - expected)
  }

  #return(bytes: number): void {
    this.#returned += bytes
    if (this.#returned < this.#roomMax / 2) return
    this.#room += this.#returned
    this.output.write(windowFrame(0, this.#returned))
    this.#returned = 0
  }

  settings({ initialWindowBytes, frameMaxBytes, hasTable }: PeerSettings): number | undefined {
    if (hasTable) this.output.noteTable()
    if (frameMaxBytes !== undefined) {
      this.output.payloadMax = Math.min(frameMaxBytes, usualPayloadMaxBytes)
    }
    this.output.control(settingsAck)
    if (initialWindowBytes === undefined) return undefined
    const more = initialWindowBytes - this.#clientWindow
    this.#clientWindow = initialWindowBytes
    for (const each of this.#streams.values()) {
      if (!this.#widen(each, more)) return errorCode.flowControl
    }
    this.output.pump()
    return this.#frames.idle.spend(settingsBytes * this.#streams.size)
  }

  /** False if the window would be larger than any may be. */
  #widen(stream: Http2Stream, bytes: number): boolean {
    stream.window += bytes
    if (stream.window > windowMaxBytes) return false
    if (stream.window > 0 && stream.isWaiting) this.output.wait(stream)
    return true
  }

  pinged(opaque: string): number | undefined {
    // The client keeps the connection alive because it may use it.
    this.#idle.used()
    const reason = this.#services.pinged?.()
    if (reason === undefined) {
      this.output.control(frameHead(8, frameType.ping, flag.ack, 0) + opaque)
    } else this.fail(errorCode.enhanceYourCalm, reason)
    return undefined
  }

  answered(): void {
    this.#idle.used()
  }

  window(id: number, more: number): number | undefined {
    if (id > this.#lastStream) return errorCode.protocol
    if (id === 0) {
      if (more === 0) return errorCode.protocol
      const { output } = this
      output.window += more
      if (output.window > windowMaxBytes) return errorCode.flowControl
      output.pump()
      return undefined
    }
    const stream = this.#streams.get(id)
    if (stream === undefined) return undefined
    if (more === 0) return this.#endFor(stream, errorCode.protocol)
    if (!this.#widen(stream, more)) return this.#endFor(stream, errorCode.flowControl)
    this.output.pump()
    return undefined
  }

  reset(id: number, code: number): number | undefined {
    if (id > this.#lastStream) return errorCode.protocol
    const stream = this.#streams.get(id)
    if (stream === undefined) return undefined
    return this.#endFor(stream, code || errorCode.cancel, false)
  }

  /** A client that takes nothing more may still want what it has asked for. */
  goneAway(): void {}
}

/** Nothing to do for a failed socket: it is closed, and that is told. */
function ignore(): void {}
