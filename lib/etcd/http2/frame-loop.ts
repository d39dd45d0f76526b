/** Reads the bytes of a connection over HTTP/2 (RFC 9113), for both of its ends.
 *
 *  ```
 *  bytes ─▶ frames ─▶ header blocks ─▶ end.headers
 *              ├────▶ bodies, as they come ─▶ end.data
 *              └────▶ windows, settings, pings, resets ─▶ the end, as far as IdleBytes allows them
 *  ```
 *
 *  What is the same on both ends is decided here: the order of frames, their lengths, padding,
 *  blocks in several frames, the table of headers, and the flood rule. What a frame means for a
 *  stream is the end's. */

import type { Clock } from '@watchglass/base'
import type { AllowanceBounds } from './allowance.ts'
import { BlockBuffer } from './block-buffer.ts'
import {
  cutPadding,
  dataBegun,
  emptyFrame,
  errorCode,
  flag,
  type Frame,
  frameType,
  headBytes,
  preface,
  readFrame,
} from './frames.ts'
import { HeaderDecoder, type HeaderList } from './hpack/decoder.ts'
import { IdleBytes } from './idle-bytes.ts'
import { headersMaxBytes } from './limits.ts'
import { type PeerSettings, readSettings } from './settings.ts'

/** A header block that has come whole. */
export interface BlockHead {
  readonly stream: number
  /** The stream ends with it. */
  readonly isLast: boolean
  /** Its length before it was decoded. */
  readonly bytes: number
}

/** A part of a body. There is one object for each connection. */
export interface BodyPart {
  stream: number
  bytes: Buffer
  from: number
  to: number
  /** The bytes that count against the windows: padding is among them. */
  used: number
  /** The stream ends with it. */
  isLast: boolean
}

/** An end of a connection, as it takes the frames of the other. A number is the code with which the
 *  connection fails. */
export interface FrameEnd {
  /** Bytes that were written to the connection so far. */
  readonly sentBytes: number
  headers(list: HeaderList, head: BlockHead): number | undefined
  data(part: BodyPart): number | undefined
  settings(settings: PeerSettings): number | undefined
  /** A ping, which is to be answered with the same bytes. */
  pinged(opaque: string): number | undefined
  /** An answer to a ping of ours. */
  answered(): void
  window(stream: number, bytes: number): number | undefined
  reset(stream: number, code: number): number | undefined
  goneAway(lastStream: number): void
  fail(code: number): void
}

export interface FrameLoopOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Bytes that carry nothing and may come all the same. */
  readonly idle: AllowanceBounds
  /** The other side is a client, which begins with the preface. */
  readonly isOfClient: boolean
}

export class FrameLoop {
  readonly idle: IdleBytes
  readonly #end: FrameEnd
  readonly #decoder = new HeaderDecoder(headersMaxBytes)
  readonly #frame: Frame = emptyFrame()
  readonly #part: BodyPart = { stream: 0, bytes: preface, from: 0, to: 0, used: 0, isLast: false }
  /** Bytes that have come and are not read yet. */
  #rest: Buffer | undefined = undefined
  #hasBegun: boolean
  #hasSettings = false
  #isHeld = false
  #isReading = false
  #isStopped = false
  /** The frame of data that is under way, and its bytes that have not come. */
  #dataStream = 0
  #dataIsLast = false
  #dataLeft = 0
  /** A header block that has not ended, and the stream that it is for. */
  #block: BlockBuffer | undefined = undefined
  #blockStream = 0
  #blockIsLast = false

  constructor(end: FrameEnd, { clock, idle, isOfClient }: FrameLoopOptions) {
    this.#end = end
    this.idle = new IdleBytes(clock, idle)
    this.#hasBegun = !isOfClient
  }

  get isHeld(): boolean {
    return this.#isHeld
  }

  /** Bytes have come. */
  take(bytes: Buffer): void {
    this.#rest = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes])
    if (!this.#isHeld) this.read()
  }

  /** Nothing more is read, not even of what has come, until `release` and `read`. */
  hold(): void {
    this.#isHeld = true
  }

  release(): void {
    this.#isHeld = false
  }

  /** Nothing more is read ever. */
  stop(): void {
    this.#isStopped = true
    this.#rest = undefined
    this.#block = undefined
  }

  /** Reads what has come. */
  read(): void {
    if (this.#isReading || this.#rest === undefined) return
    this.#isReading = true
    try {
      this.#read(this.#rest)
    } finally {
      this.#isReading = false
    }
  }

  #read(bytes: Buffer): void {
    let at = 0
    if (!this.#hasBegun) {
      const length = Math.min(bytes.length, preface.length)
      if (preface.compare(bytes, 0, length, 0, length) !== 0) {
        this.#end.fail(errorCode.protocol)
        return
      }
      if (length < preface.length) return
      this.#hasBegun = true
      at = length
    }
    this.idle.refill(this.#end.sentBytes)
    while (!this.#isHeld && at < bytes.length) {
      const next = this.#dataLeft > 0 ? this.#takePart(bytes, at) : this.#takeNext(bytes, at)
      if (this.#isStopped) return
      if (next < 0) {
        this.#end.fail(-next)
        return
      }
      if (next === at) break
      at = next
    }
    this.#rest = at === bytes.length ? undefined : bytes.subarray(at)
    this.#frame.bytes = preface
    this.#part.bytes = preface
  }

  /** Takes the frame that begins here, and gives where the next one does; the same place if it is
   *  not here whole, and the code of a failure with a minus. */
  #takeNext(bytes: Buffer, at: number): number {
    const frame = this.#frame
    const end = readFrame(frame, bytes, at)
    if (end === -1) return -errorCode.frameSize
    if (end !== 0) return nextOr(this.#takeFrame(frame), end)
    // Data is read as it comes, and never moved to be whole.
    const length = dataBegun(frame, bytes, at)
    if (length === 0) return at
    const isLast = (frame.flags & flag.endStream) !== 0
    const failure = this.#failureOfOrder(frameType.data) ?? this.#spendOn(length, length, isLast)
    if (failure !== undefined) return -failure
    if (frame.stream === 0) return -errorCode.protocol
    this.#dataLeft = length
    this.#dataStream = frame.stream
    this.#dataIsLast = isLast
    return at + headBytes
  }

  #takePart(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#dataLeft)
    this.#dataLeft -= end - at
    const part = this.#part
    part.stream = this.#dataStream
    part.bytes = bytes
    part.from = at
    part.to = end
    part.used = end - at
    part.isLast = this.#dataLeft === 0 && this.#dataIsLast
    return nextOr(this.#end.data(part), end)
  }

  /** A connection begins with settings, and nothing comes between the frames of a block. */
  #failureOfOrder(type: number): number | undefined {
    const isOdd = this.#hasSettings
      ? (type === frameType.continuation) !== (this.#block !== undefined)
      : type !== frameType.settings
    return isOdd ? errorCode.protocol : undefined
  }

  /** Undefined, or the code with which the connection fails. */
  #takeFrame(frame: Frame): number | undefined {
    const { type } = frame
    const failure = this.#failureOfOrder(type)
    if (failure !== undefined) return failure
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
        return this.idle.spend(headBytes + frame.to - frame.from) ?? this.#takeIdle(frame)
    }
  }

  #takeIdle(frame: Frame): number | undefined {
    const { stream, flags, bytes, from, to } = frame
    const length = to - from
    switch (frame.type) {
      case frameType.settings:
        return this.#takeSettings(frame)
      case frameType.ping:
        if (stream !== 0) return errorCode.protocol
        if (length !== 8) return errorCode.frameSize
        if ((flags & flag.ack) === 0) return this.#end.pinged(bytes.toString('latin1', from, to))
        this.#end.answered()
        return undefined
      case frameType.windowUpdate:
        if (length !== 4) return errorCode.frameSize
        return this.#end.window(stream, bytes.readUInt32BE(from) & 0x7fff_ffff)
      case frameType.reset:
        if (length !== 4) return errorCode.frameSize
        if (stream === 0) return errorCode.protocol
        return this.#end.reset(stream, bytes.readUInt32BE(from))
      case frameType.goAway:
        if (stream !== 0) return errorCode.protocol
        if (length < 8) return errorCode.frameSize
        this.#end.goneAway(bytes.readUInt32BE(from) & 0x7fff_ffff)
        return undefined
      case frameType.priority:
        if (stream === 0) return errorCode.protocol
        return length === 5 ? undefined : errorCode.frameSize
      default: // A frame of a type that is not known is to be ignored (RFC 9113, 4.1).
        return undefined
    }
  }

  #takeSettings({ stream, flags, bytes, from, to }: Frame): number | undefined {
    if (stream !== 0) return errorCode.protocol
    this.#hasSettings = true
    if ((flags & flag.ack) !== 0) return from === to ? undefined : errorCode.frameSize
    const settings = readSettings(bytes, from, to)
    return typeof settings === 'number' ? settings : this.#end.settings(settings)
  }

  #takeHeaders(frame: Frame): number | undefined {
    const { stream } = frame
    const length = frame.to - frame.from
    // Whoever has begun it: the client, whose numbers are odd.
    if (stream % 2 === 0 || !cutPadding(frame)) return errorCode.protocol
    const isLast = (frame.flags & flag.endStream) !== 0
    if ((frame.flags & flag.priority) !== 0) {
      if (frame.to - frame.from < 5) return errorCode.frameSize
      const dependsOn = frame.bytes.readUInt32BE(frame.from) & 0x7fff_ffff
      if (dependsOn === stream) return errorCode.protocol
      frame.from += 5
    }
    const tooMuch = this.idle.spend(length - (frame.to - frame.from))
    if (tooMuch !== undefined) return tooMuch
    if ((frame.flags & flag.endHeaders) !== 0) {
      return this.#takeBlock(frame, stream, isLast)
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
    if ((frame.flags & flag.endHeaders) === 0) return this.idle.spend(headBytes)
    this.#block = undefined
    return this.#takeBlock(block.whole(), this.#blockStream, this.#blockIsLast)
  }

  /** Blocks of streams that are over are read, too: later ones may name their fields. */
  #takeBlock(
    { bytes, from, to }: Pick<Frame, 'bytes' | 'from' | 'to'>,
    stream: number,
    isLast: boolean,
  ): number | undefined {
    const list = this.#decoder.decode(bytes, from, to)
    if (list === undefined) return errorCode.compression
    return this.#end.headers(list, { stream, isLast, bytes: to - from })
  }

  #takeData(frame: Frame): number | undefined {
    const { stream } = frame
    const length = frame.to - frame.from
    if (stream === 0 || !cutPadding(frame)) return errorCode.protocol
    const isLast = (frame.flags & flag.endStream) !== 0
    const tooMuch = this.#spendOn(length, frame.to - frame.from, isLast)
    if (tooMuch !== undefined) return tooMuch
    const part = this.#part
    part.stream = stream
    part.bytes = frame.bytes
    part.from = frame.from
    part.to = frame.to
    part.used = length
    part.isLast = isLast
    return this.#end.data(part)
  }

  /** Padding carries nothing, and a frame that is smaller than its head little. An empty one that
   *  ends a body is as good as any. */
  #spendOn(length: number, bytes: number, isLast: boolean): number | undefined {
    return this.idle.spend(length - bytes + (bytes < headBytes && !isLast ? headBytes : 0))
  }
}

/** The place of the next frame, or the code of a failure with a minus. */
function nextOr(failure: number | undefined, next: number): number {
  return failure === undefined ? next : -failure
}
