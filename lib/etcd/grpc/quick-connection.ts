/** An HTTP/2 connection for short gRPC calls, one message there and one back: what node:http2 and
 *  grpc-js make for each stream costs ten times as much as to send a hundred bytes and to read a
 *  hundred.
 *
 *  It knows the ordinary way of an answer. Whatever else comes is no answer, and the caller, who
 *  only reads, asks again on a channel (channel.ts), which says what is wrong. */

import type { Socket } from 'node:net'
import {
  cutPadding,
  emptyFrame,
  errorCode,
  flag,
  type Frame,
  frameHead,
  frameType,
  headerFrames,
  preface,
  readFrame,
  resetFrame,
  setting,
  settingsAck,
  settingsFrame,
  usualPayloadMaxBytes,
  usualWindowBytes,
  uint32,
  windowFrame,
} from '../../wire/http2/frames.ts'
import { HeaderDecoder } from '../../wire/http2/hpack/decoder.ts'
import { readSettings } from '../../wire/http2/settings.ts'

/** An answer that is longer is read on a channel. */
const answerMaxBytes = 64 * 1024
/** Nor is one that comes in more pieces: each holds what was read with it. */
const piecesMax = 32
/** Frames between two answers that are no part of one: settings, pings, what is not known. A server
 *  that sends more has us answer them, or hold nothing of worth. */
const asideMax = 100
/** Bytes that are read before the server is told. */
const toldBytes = 32 * 1024
/** A server that does not read what we answer to it has this much unread. */
const unreadMaxBytes = 64 * 1024
/** A ping waits so long for a call that takes its answer along: etcd sends one with each answer, to
 *  measure the line, and to write costs more than all else in a call. One that asks whether we are
 *  there gives us twenty seconds. */
const pingDelayMs = 200
/** Numbers of streams end; a new connection begins anew. */
const lastStream = 2 ** 30
/** Headers of an answer that are longer are read on a channel. */
const headersMaxBytes = 8 * 1024

export interface QuickRequest {
  /** Headers as lib/wire/http2/hpack/encoder.ts writes them. */
  readonly block: string
  readonly message: Buffer
  readonly deadlineMs: number
}

/** Why there is no answer: what came is not ordinary, or nothing came in time. */
export type NoAnswer = 'unknown' | 'late'

export type OnAnswer = (answer: Buffer | NoAnswer) => void

/** A call under way. */
interface Call {
  readonly deadlineMs: number
  readonly onAnswer: OnAnswer
  readonly pieces: Buffer[]
  bytes: number
  hasHead: boolean
}

export interface QuickConnectionOptions {
  /** Monotonic. */
  readonly nowMs: () => number
  /** The connection takes no more calls. */
  readonly onEnd: () => void
}

export class QuickConnection {
  readonly #socket: Socket
  readonly #options: QuickConnectionOptions
  readonly #decoder = new HeaderDecoder(headersMaxBytes)
  readonly #frame: Frame = emptyFrame()
  /** Bytes that have come and are no whole frame yet. */
  #rest: Buffer | undefined = undefined
  readonly #calls = new Map<number, Call>()
  #nextStream = 1
  #isReady = false
  #isEnded = false
  #sendWindow = usualWindowBytes
  #streamWindow = usualWindowBytes
  #untold = 0
  /** Frames since an answer that were no part of one. */
  #aside = 0
  #timer: NodeJS.Timeout | undefined = undefined
  /** The answer to a ping that is still to be sent. */
  #owed = ''
  #owedTimer: NodeJS.Timeout | undefined = undefined

  /** `socket` is connected, and its TLS, if any, is agreed on. */
  constructor(socket: Socket, options: QuickConnectionOptions) {
    this.#socket = socket
    this.#options = options
    socket.setNoDelay(true)
    socket.on('data', this.#take)
    socket.on('error', ignore)
    socket.on('close', () => this.destroy())
    this.#write(preface.toString('latin1') + settingsFrame({ [setting.enablePush]: 0 }))
  }

  /** True if a call of so many bytes can be made now: the server has said its settings, and has
   *  room. */
  canSend(bytes: number): boolean {
    return (
      this.#isReady && !this.#isEnded && bytes <= this.#sendWindow && bytes <= this.#streamWindow
    )
  }

  /** Calls, and gives the number by which the call can be given up. */
  call({ block, message, deadlineMs }: QuickRequest, onAnswer: OnAnswer): number {
    const stream = this.#nextStream
    this.#nextStream += 2
    this.#calls.set(stream, { deadlineMs, onAnswer, pieces: [], bytes: 0, hasHead: false })
    const length = 5 + message.length
    this.#sendWindow -= length
    const owed = this.#owed
    this.#owed = ''
    this.#write(
      owed +
        headerFrames(stream, block, { isLast: false, payloadMax: usualPayloadMaxBytes }) +
        frameHead(length, frameType.data, flag.endStream, stream) +
        `\0${uint32(message.length)}${message.toString('latin1')}`,
    )
    if (this.#timer === undefined) this.#look()
    if (this.#nextStream > lastStream) this.#end()
    return stream
  }

  /** Nobody waits for the answer any more. */
  giveUp(stream: number): void {
    if (!this.#calls.delete(stream)) return
    this.#write(resetFrame(stream, errorCode.cancel))
    this.#endIfDone()
  }

  /** Calls under way have no answer. */
  destroy(why: NoAnswer = 'unknown'): void {
    this.#end()
    this.#socket.destroy()
    clearTimeout(this.#timer)
    clearTimeout(this.#owedTimer)
    const calls = [...this.#calls.values()]
    this.#calls.clear()
    for (const { onAnswer } of calls) onAnswer(why)
  }

  /** No more calls; those under way go on. */
  #end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#options.onEnd()
  }

  #endIfDone(): void {
    if (this.#isEnded && this.#calls.size === 0) this.destroy()
  }

  readonly #take = (more: Buffer): void => {
    const bytes = this.#rest === undefined ? more : Buffer.concat([this.#rest, more])
    let at = 0
    // A chunk may have thousands of frames after the one that ended it.
    while (!this.#socket.destroyed) {
      const end = readFrame(this.#frame, bytes, at)
      if (end === 0) break
      if (end === -1) this.destroy()
      else this.#takeFrame(this.#frame)
      at = end
    }
    this.#rest = at === bytes.length ? undefined : bytes.subarray(at)
    if (this.#socket.writableLength > unreadMaxBytes) this.destroy()
  }

  #takeFrame(frame: Frame): void {
    const { type, flags, stream } = frame
    const isAside = !this.#calls.has(stream) || frame.from === frame.to
    if (isAside && ++this.#aside > asideMax) {
      this.destroy()
      return
    }
    switch (type) {
      case frameType.data:
        this.#data(frame)
        return
      case frameType.headers:
        this.#headers(frame)
        return
      case frameType.reset:
        this.#answered(stream, 'unknown')
        return
      case frameType.settings:
        if ((flags & flag.ack) === 0) this.#settings(frame)
        return
      case frameType.ping:
        if ((flags & flag.ack) === 0) this.#pinged(frame)
        return
      case frameType.goAway:
        this.#goAway(frame)
        return
      case frameType.windowUpdate:
        if (stream === 0 && lengthOf(frame) === 4) this.#sendWindow += numberIn(frame)
        return
      case frameType.push:
      case frameType.continuation:
        // Headers that are cut into pieces would have to be read to their end.
        this.destroy()
        return
      default: // A frame that is not known is to be ignored.
    }
  }

  #settings({ bytes, from, to }: Frame): void {
    const settings = readSettings(bytes, from, to)
    if (typeof settings === 'number') {
      this.destroy()
      return
    }
    this.#streamWindow = settings.initialWindowBytes ?? this.#streamWindow
    this.#isReady = true
    this.#write(settingsAck)
  }

  #pinged({ bytes, from, to }: Frame): void {
    this.#payOwed()
    const opaque = bytes.toString('latin1', from, to)
    this.#owed = frameHead(opaque.length, frameType.ping, flag.ack, 0) + opaque
    this.#owedTimer ??= setTimeout(this.#payLate, pingDelayMs)
  }

  readonly #payLate = (): void => {
    this.#owedTimer = undefined
    this.#payOwed()
  }

  #payOwed(): void {
    if (this.#owed !== '') this.#write(this.#owed)
    this.#owed = ''
  }

  #goAway(frame: Frame): void {
    this.#end()
    const last = lengthOf(frame) < 4 ? 0 : numberIn(frame)
    for (const stream of this.#calls.keys()) if (stream > last) this.#answered(stream, 'unknown')
    this.#endIfDone()
  }

  #data(frame: Frame): void {
    const { flags, stream } = frame
    this.#untold += lengthOf(frame)
    if (this.#untold >= toldBytes) {
      this.#write(windowFrame(0, this.#untold))
      this.#untold = 0
    }
    const call = this.#calls.get(stream)
    if (call === undefined) return
    const isPadded = cutPadding(frame)
    call.bytes += lengthOf(frame)
    // What ends with data has no status.
    const isOrdinary = isPadded && call.hasHead && (flags & flag.endStream) === 0
    const isLong = call.bytes > answerMaxBytes || call.pieces.length >= piecesMax
    if (!isOrdinary || isLong) this.#refuse(stream)
    else call.pieces.push(frame.bytes.subarray(frame.from, frame.to))
  }

  #headers(frame: Frame): void {
    const { flags, stream } = frame
    const isWhole = (flags & flag.endHeaders) !== 0 && cutPadding(frame)
    if ((flags & flag.priority) !== 0) frame.from += 5
    // Those of a call that was given up are read, too: later ones may name their fields.
    const list = isWhole ? this.#decoder.decode(frame.bytes, frame.from, frame.to) : undefined
    if (list === undefined) {
      this.destroy()
      return
    }
    const call = this.#calls.get(stream)
    if (call === undefined) return
    if ((flags & flag.endStream) !== 0) {
      const isWell = call.hasHead && isOnly(list.pairs, 'grpc-status', '0')
      this.#answered(stream, (isWell ? messageIn(call.pieces) : undefined) ?? 'unknown')
    } else if (isOnly(list.pairs, ':status', '200') && !call.hasHead) call.hasHead = true
    else this.#refuse(stream)
  }

  #refuse(stream: number): void {
    this.#write(resetFrame(stream, errorCode.cancel))
    this.#answered(stream, 'unknown')
  }

  #answered(stream: number, answer: Buffer | NoAnswer): void {
    const call = this.#calls.get(stream)
    if (call === undefined) return
    this.#calls.delete(stream)
    this.#aside = 0
    call.onAnswer(answer)
    this.#endIfDone()
  }

  #write(frames: string): void {
    this.#socket.write(frames, 'latin1')
  }

  /** One timer for all calls, which begin in the order in which they are late. A connection on
   *  which one is late may be dead without anybody having said so. */
  readonly #look = (): void => {
    this.#timer = undefined
    const [oldest] = this.#calls.values()
    if (oldest === undefined || this.#socket.destroyed) return
    const leftMs = oldest.deadlineMs - this.#options.nowMs()
    if (leftMs <= 0) this.destroy('late')
    else this.#timer = setTimeout(this.#look, Math.max(1, leftMs))
  }
}

function lengthOf({ from, to }: Frame): number {
  return to - from
}

/** The number of 31 bits with which a payload begins. */
function numberIn({ bytes, from }: Frame): number {
  return bytes.readUInt32BE(from) & 0x7fff_ffff
}

/** True if a field has this value, and no other. */
function isOnly(pairs: readonly string[], name: string, value: string): boolean {
  let isThere = false
  for (let i = 0; i < pairs.length; i += 2) {
    if (pairs[i] !== name) continue
    if (isThere || pairs[i + 1] !== value) return false
    isThere = true
  }
  return isThere
}

/** The one message in a body; undefined if it is compressed, or not one. */
function messageIn(pieces: readonly Buffer[]): Buffer | undefined {
  const body = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
  const isOne = body.length >= 5 && body[0] === 0 && body.readUInt32BE(1) === body.length - 5
  // A copy, so that it does not hold what came beside it.
  return isOne ? Buffer.from(body.subarray(5)) : undefined
}

/** Nothing to do for a failed socket: it is closed, and that is told. */
function ignore(): void {}
