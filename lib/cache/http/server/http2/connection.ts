/** A connection over HTTP/2 (RFC 9113): reads frames, and gives each request as an exchange.
 *
 *  ```
 *  bytes ─▶ frames ─▶ header blocks ─▶ streams ─▶ the scheduler of arrivals ─▶ the handler
 *              └────▶ windows, settings, pings           output ◀── responses ◀──┘
 *  ```
 *
 *  What carries nothing (PRIORITY, WINDOW_UPDATE, PING, SETTINGS, frames of types that nobody
 *  knows, padding, frames of streams that are refused or gone) is allowed as clients need it: an
 *  allowance that fills slowly, and a quarter of what was sent to the client, since it acknowledges
 *  that. */

import type { Socket } from 'node:net'
import { type Clock, IdleTimer } from '@watchglass/base'
import {
  BlockBuffer,
  cutPadding,
  emptyFrame,
  errorCode,
  flag,
  type Frame,
  frameHead,
  frameType,
  goAwayFrame,
  headBytes,
  HeaderDecoder,
  type HeaderList,
  preface,
  readFrame,
  readSettings,
  resetFrame,
  setting,
  settingsAck,
  settingsFrame,
  usualPayloadMaxBytes,
  usualWindowBytes,
  windowFrame,
  windowMaxBytes,
} from '@watchglass/etcd'
import { isAccepted, noteAccepted } from '../accepted.ts'
import type { Arrivals } from '../arrivals.ts'
import type { Corks } from '../bare/corks.ts'
import type { Exchange, OnFault } from '../exchange.ts'
import { headersMaxBytes } from '../malformed.ts'
import type { StreamLimits } from '../stream-limits.ts'
import { Allowance } from './allowance.ts'
import { Output } from './output.ts'
import { HeadReader, readTrailers } from './request-head.ts'
import { ResetCharges } from './reset-charges.ts'
import { Http2Stream, type StreamOwner } from './stream.ts'

export interface ConnectionServices {
  readonly clock: Clock
  readonly onFault: OnFault
  /** Time that a connection without requests is kept. */
  readonly idleTimeoutMs: number
  readonly arrivals: Arrivals
  readonly limits: StreamLimits
  readonly corks: Corks
  readonly dateField: () => string
  readonly begin: (exchange: Exchange, connection: object) => void
}

/** Windows of a client that is known: one round trip of 10 ms carries 100 MB/s. */
const streamWindowBytes = 1024 * 1024
const connectionWindowBytes = 16 * 1024 * 1024

/** Bytes that carry nothing. */
const idleBounds = { most: 1024 * 1024, perSecond: 256 * 1024 }
const acknowledged = 1 / 4
/** A refused stream costs as much. */
const refusedStreamBytes = 256
/** New settings may concern every stream. */
const settingsBytes = 16

export class Http2Connection implements StreamOwner {
  readonly output: Output
  readonly #socket: Socket
  readonly #services: ConnectionServices
  readonly #streams = new Map<number, Http2Stream>()
  readonly #decoder = new HeaderDecoder(headersMaxBytes)
  readonly #heads = new HeadReader()
  readonly #frame: Frame = emptyFrame()
  readonly #idleBytes: Allowance
  readonly #resets: ResetCharges
  readonly #idle: IdleTimer
  readonly #noteStream: (stream: Http2Stream) => () => void
  #streamsMax: number
  /** Bytes that have come and are not read yet. */
  #rest: Buffer | undefined = undefined
  #hasBegun = false
  #hasSettings = false
  #isHeld = false
  #isReading = false
  #isClosing = false
  #isDestroyed = false
  #lastStream = 0
  /** A header block that has not ended, and the stream that it is for. */
  #block: BlockBuffer | undefined = undefined
  #blockStream = 0
  #blockIsLast = false
  /** Bytes that the client may send, its windows, and what was read since it was told. */
  #room = usualWindowBytes
  #roomMax = usualWindowBytes
  #streamRoom = usualWindowBytes
  #returned = 0
  #clientWindow = usualWindowBytes
  #sentBefore = 0
  /** Bytes of bodies that were refused, which may still come. */
  #refusedBytes = 0

  constructor(socket: Socket, services: ConnectionServices, streamsMax: number) {
    this.#socket = socket
    this.#services = services
    this.#streamsMax = streamsMax
    const { clock, idleTimeoutMs, corks } = services
    this.output = new Output(socket, corks, () => this.#fail(errorCode.enhanceYourCalm))
    this.#idleBytes = new Allowance(clock, idleBounds)
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

  /** The client may have so many streams at once. */
  settings({ maxConcurrentStreams }: { readonly maxConcurrentStreams: number }): void {
    this.#streamsMax = maxConcurrentStreams
    this.output.write(settingsFrame({ [setting.streamsMax]: maxConcurrentStreams }))
  }

  /** Nothing is read until `readStart`: the bytes stay with the system. */
  readStop(): void {
    this.#isHeld = true
    this.#socket.pause()
  }

  readStart(): void {
    this.#isHeld = false
    process.nextTick(this.#readOn)
  }

  dateField(): string {
    return this.#services.dateField()
  }

  /** The client is authenticated: the connection may carry more. */
  accept(): void {
    if (isAccepted(this) || this.#isDestroyed || this.#isClosing) return
    noteAccepted(this)
    const more = streamWindowBytes - this.#streamRoom
    this.#streamRoom = streamWindowBytes
    for (const stream of this.#streams.values()) stream.room += more
    const all = connectionWindowBytes - this.#roomMax
    this.#roomMax = connectionWindowBytes
    this.#room += all
    this.output.write(
      settingsFrame({ [setting.initialWindowBytes]: streamWindowBytes }) + windowFrame(0, all),
    )
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
  #fail(code: number): void {
    if (this.#isDestroyed) return
    // Whoever was known on it is not when it comes again.
    if (code === errorCode.enhanceYourCalm) this.#services.arrivals.wasted(idleBounds.most)
    this.output.write(goAwayFrame(this.#lastStream, code))
    this.output.release()
    this.destroy()
  }

  readonly #take = (bytes: Buffer): void => {
    this.#rest = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes])
    if (!this.#isHeld) this.#read()
  }

  readonly #readOn = (): void => {
    if (this.#isHeld || this.#isDestroyed) return
    this.#read()
    if (!this.#mayBeHeld()) this.#socket.resume()
  }

  #mayBeHeld(): boolean {
    return this.#isHeld
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
    this.#rest = undefined
    this.#block = undefined
    this.#idle.stop()
    for (const stream of this.#streams.values()) stream.closed(errorCode.cancel, false)
  }

  #read(): void {
    if (this.#isReading) return
    this.#isReading = true
    try {
      this.#readFrames()
    } finally {
      this.#isReading = false
    }
  }

  #readFrames(): void {
    const bytes = this.#rest!
    if (bytes === undefined) return
    let at = 0
    if (!this.#hasBegun) {
      const length = Math.min(bytes.length, preface.length)
      if (preface.compare(bytes, 0, length, 0, length) !== 0) {
        this.#fail(errorCode.protocol)
        return
      }
      if (length < preface.length) return
      this.#hasBegun = true
      at = length
    }
    this.#idleBytes.refill()
    this.#idleBytes.give((this.output.sentBytes - this.#sentBefore) * acknowledged)
    this.#sentBefore = this.output.sentBytes
    const frame = this.#frame
    while (!this.#isHeld) {
      const end = readFrame(frame, bytes, at)
      if (end === -1) {
        this.#fail(errorCode.frameSize)
        return
      }
      if (end === 0) break
      at = end
      const failure = this.#takeFrame(frame)
      if (this.#isDestroyed) return
      if (failure !== undefined) {
        this.#fail(failure)
        return
      }
    }
    this.#rest = at === bytes.length ? undefined : bytes.subarray(at)
    frame.bytes = preface
  }

  /** Undefined, or the code with which the connection fails. */
  #takeFrame(frame: Frame): number | undefined {
    const { type } = frame
    if (!this.#hasSettings && type !== frameType.settings) return errorCode.protocol
    const isContinued = this.#block !== undefined
    if (isContinued !== (type === frameType.continuation)) return errorCode.protocol
    switch (type) {
      case frameType.headers:
        return this.#takeHeaders(frame)
      case frameType.continuation:
        return this.#takeContinuation(frame)
      case frameType.data:
        return this.#takeData(frame)
      case frameType.push:
        return errorCode.protocol
      default:
        return this.#spend(headBytes + frame.to - frame.from) ?? this.#takeIdle(frame)
    }
  }

  /** Takes of what may carry nothing. */
  #spend(bytes: number): number | undefined {
    return this.#idleBytes.take(bytes) ? undefined : errorCode.enhanceYourCalm
  }

  #takeIdle(frame: Frame): number | undefined {
    switch (frame.type) {
      case frameType.settings:
        return this.#takeSettings(frame)
      case frameType.ping:
        return this.#takePing(frame)
      case frameType.windowUpdate:
        return this.#takeWindow(frame)
      case frameType.reset:
        return this.#takeReset(frame)
      case frameType.goAway:
        return frame.stream === 0 ? undefined : errorCode.protocol
      case frameType.priority:
        if (frame.stream === 0) return errorCode.protocol
        return frame.to - frame.from === 5 ? undefined : errorCode.frameSize
      default:
        return undefined
    }
  }

  #takeHeaders(frame: Frame): number | undefined {
    const { stream } = frame
    const length = frame.to - frame.from
    if (stream % 2 === 0 || !cutPadding(frame)) return errorCode.protocol
    const isLast = (frame.flags & flag.endStream) !== 0
    if ((frame.flags & flag.priority) !== 0) {
      if (frame.to - frame.from < 5) return errorCode.frameSize
      const dependsOn = frame.bytes.readUInt32BE(frame.from) & 0x7fff_ffff
      if (dependsOn === stream) return errorCode.protocol
      frame.from += 5
    }
    const tooMuch = this.#spend(length - (frame.to - frame.from))
    if (tooMuch !== undefined) return tooMuch
    if ((frame.flags & flag.endHeaders) !== 0) {
      return this.#takeBlock(frame, { stream, isLast })
    }
    this.#blockStream = stream
    this.#blockIsLast = isLast
    this.#block = new BlockBuffer(headersMaxBytes)
    return this.#block.add(frame) ? undefined : errorCode.enhanceYourCalm
  }

  #takeContinuation(frame: Frame): number | undefined {
    const block = this.#block!
    if (frame.stream !== this.#blockStream) return errorCode.protocol
    if (!block.add(frame)) return errorCode.enhanceYourCalm
    if ((frame.flags & flag.endHeaders) === 0) return this.#spend(headBytes)
    this.#block = undefined
    const whole = { ...frame, ...block.whole() }
    return this.#takeBlock(whole, { stream: this.#blockStream, isLast: this.#blockIsLast })
  }

  #takeBlock(
    { bytes, from, to }: Frame,
    { stream, isLast }: { readonly stream: number; readonly isLast: boolean },
  ): number | undefined {
    const isNew = stream > this.#lastStream
    if (isNew) this.#services.arrivals.read(this, to - from)
    const list = this.#decoder.decode(bytes, from, to)
    if (list === undefined) return errorCode.compression
    if (isNew) {
      this.#lastStream = stream
      return this.#open(list, { stream, isLast, bytes: to - from })
    }
    const open = this.#streams.get(stream)
    if (open?.isReceiving !== true) return this.#spend(headBytes + to - from)
    const trailers = isLast && !list.isTooLong ? readTrailers(list.pairs) : undefined
    if (trailers !== undefined && open.receivedAll(trailers)) return undefined
    return this.#endFor(open, errorCode.protocol)
  }

  #open(
    { pairs, isTooLong }: HeaderList,
    {
      stream: id,
      isLast,
      bytes,
    }: { readonly stream: number; readonly isLast: boolean; readonly bytes: number },
  ): number | undefined {
    const { begin, onFault } = this.#services
    if (this.#isClosing || this.#isFull()) {
      return this.#refuseStream(id, errorCode.refusedStream, bytes)
    }
    const head = isTooLong ? undefined : this.#heads.read(pairs)
    if (head === undefined || (isLast && (head.bodyBytes ?? 0) > 0)) {
      const code = isTooLong ? errorCode.enhanceYourCalm : errorCode.protocol
      return this.#refuseStream(id, code, bytes) ?? this.#chargeReset(true)
    }
    const stream = new Http2Stream(id, this, head, {
      onFault,
      window: this.#clientWindow,
      room: this.#streamRoom,
      hasBody: !isLast,
    })
    this.#streams.set(id, stream)
    stream.leaveLimits = this.#noteStream(stream)
    begin(stream, this)
    return undefined
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
    return this.#spend(refusedStreamBytes + bytes)
  }

  #takeData(frame: Frame): number | undefined {
    const { stream: id } = frame
    const length = frame.to - frame.from
    if (id === 0 || id > this.#lastStream || !cutPadding(frame)) return errorCode.protocol
    this.#room -= length
    if (this.#room < 0) return errorCode.flowControl
    const stream = this.#streams.get(id)
    if (stream?.isReceiving !== true) return this.#takeRefused(length)
    const bytes = frame.to - frame.from
    stream.room -= length
    if (stream.room < 0) {
      this.#return(length)
      return this.#endFor(stream, errorCode.flowControl)
    }
    if (length > bytes) this.taken(stream, length - bytes)
    // An empty frame that ends a body is as good as any.
    const isLast = (frame.flags & flag.endStream) !== 0
    const idle = length - bytes + (bytes < headBytes && !isLast ? headBytes : 0)
    const tooMuch = this.#spend(idle)
    if (tooMuch !== undefined) return tooMuch
    if (bytes > 0) stream.received(frame.bytes, frame.from, frame.to)
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
    return this.#spend(headBytes + length - expected)
  }

  #return(bytes: number): void {
    this.#returned += bytes
    if (this.#returned < this.#roomMax / 2) return
    this.#room += this.#returned
    this.output.write(windowFrame(0, this.#returned))
    this.#returned = 0
  }

  #takeSettings({ stream, flags, bytes, from, to }: Frame): number | undefined {
    if (stream !== 0) return errorCode.protocol
    this.#hasSettings = true
    const isAck = (flags & flag.ack) !== 0
    if (isAck) return from === to ? undefined : errorCode.frameSize
    const settings = readSettings(bytes, from, to)
    if (typeof settings === 'number') return settings
    const { initialWindowBytes, frameMaxBytes, hasTable } = settings
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
    return this.#spend(settingsBytes * this.#streams.size)
  }

  /** False if the window would be larger than any may be. */
  #widen(stream: Http2Stream, bytes: number): boolean {
    stream.window += bytes
    if (stream.window > windowMaxBytes) return false
    if (stream.window > 0 && stream.isWaiting) this.output.wait(stream)
    return true
  }

  #takePing({ stream, flags, bytes, from, to }: Frame): number | undefined {
    if (stream !== 0) return errorCode.protocol
    if (to - from !== 8) return errorCode.frameSize
    // The client keeps the connection alive because it may use it.
    this.#idle.used()
    if ((flags & flag.ack) !== 0) return undefined
    const opaque = bytes.toString('latin1', from, to)
    this.output.control(frameHead(8, frameType.ping, flag.ack, 0) + opaque)
    return undefined
  }

  #takeWindow({ stream: id, bytes, from, to }: Frame): number | undefined {
    if (to - from !== 4) return errorCode.frameSize
    const more = bytes.readUInt32BE(from) & 0x7fff_ffff
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

  #takeReset({ stream: id, bytes, from, to }: Frame): number | undefined {
    if (to - from !== 4) return errorCode.frameSize
    if (id === 0 || id > this.#lastStream) return errorCode.protocol
    const stream = this.#streams.get(id)
    if (stream === undefined) return undefined
    return this.#endFor(stream, bytes.readUInt32BE(from) || errorCode.cancel, false)
  }
}

/** Nothing to do for a failed socket: it is closed, and that is told. */
function ignore(): void {}
