/** An HTTP/2 connection for short gRPC calls, one message there and one back: what node:http2 and
 *  grpc-js make for each stream costs ten times as much as to send a hundred bytes and to read a
 *  hundred.
 *
 *  It knows the ordinary way of an answer. Whatever else comes is no answer, and the caller, who
 *  only reads, asks again on a channel (channel.ts), which says what is wrong. */

import type { Socket } from 'node:net'
import {
  flag,
  type Frame,
  FrameReader,
  frameOf,
  frameType,
  opening,
  readSettings,
  withoutPadding,
  writeHead,
} from './frames.ts'
import { readAnswerHead } from './header-block.ts'

/** An answer that is longer is read on a channel. */
const answerMaxBytes = 64 * 1024
/** Nor is one that comes in more pieces: each holds what was read with it. */
const piecesMax = 32
/** Frames between two answers that are no part of one: settings, pings, what is not known. A server
 *  that sends more has us answer them, or hold nothing of worth. */
const asideMax = 100
/** HTTP/2's own window. */
const windowBytes = 65_535
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
const headBytes = 9
const pingBytes = 8
const cancelled = 8

export interface QuickRequest {
  /** Headers as lib/etcd/grpc/header-block.ts writes them. */
  readonly block: Buffer
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
  readonly #reader = new FrameReader()
  readonly #calls = new Map<number, Call>()
  #nextStream = 1
  #isReady = false
  #isEnded = false
  #sendWindow = windowBytes
  #streamWindow = windowBytes
  #untold = 0
  /** Frames since an answer that were no part of one. */
  #aside = 0
  #timer: NodeJS.Timeout | undefined = undefined
  /** The answer to a ping, and whether it is still to be sent. */
  readonly #pong = frameOf({
    type: frameType.ping,
    flags: flag.ack,
    stream: 0,
    payload: Buffer.alloc(pingBytes),
  })
  #isOwed = false
  #owedTimer: NodeJS.Timeout | undefined = undefined

  /** `socket` is connected, and its TLS, if any, is agreed on. */
  constructor(socket: Socket, options: QuickConnectionOptions) {
    this.#socket = socket
    this.#options = options
    socket.setNoDelay(true)
    socket.on('data', this.#take)
    socket.on('error', ignore)
    socket.on('close', () => this.destroy())
    socket.write(opening())
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
    const before = this.#isOwed ? this.#pong.length : 0
    const bytes = Buffer.allocUnsafe(before + 2 * headBytes + block.length + length)
    const { headers: type, data } = frameType
    if (this.#isOwed) this.#pong.copy(bytes)
    this.#isOwed = false
    let at = writeHead(bytes, before, {
      type,
      flags: flag.endHeaders,
      stream,
      length: block.length,
    })
    at += block.copy(bytes, at)
    at = writeHead(bytes, at, { type: data, flags: flag.endStream, stream, length })
    bytes[at] = 0
    bytes.writeUInt32BE(message.length, at + 1)
    message.copy(bytes, at + 5)
    this.#sendWindow -= length
    this.#socket.write(bytes)
    if (this.#timer === undefined) this.#look()
    if (this.#nextStream > lastStream) this.#end()
    return stream
  }

  /** Nobody waits for the answer any more. */
  giveUp(stream: number): void {
    if (!this.#calls.delete(stream)) return
    this.#reset(stream)
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

  readonly #take = (bytes: Buffer): void => {
    const isRead = this.#reader.read(bytes, this.#frame)
    if (!isRead || this.#socket.writableLength > unreadMaxBytes) this.destroy()
  }

  readonly #frame = (frame: Frame): void => {
    const { type, flags, stream, payload } = frame
    // A chunk may have thousands of frames after the one that ended it.
    if (this.#socket.destroyed) return
    const isAside = !this.#calls.has(stream) || payload.length === 0
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
        if ((flags & flag.ack) === 0) this.#settings(payload)
        return
      case frameType.ping:
        if ((flags & flag.ack) === 0) this.#pinged(payload)
        return
      case frameType.goAway:
        this.#goAway(payload)
        return
      case frameType.windowUpdate:
        if (stream === 0 && payload.length === 4) this.#sendWindow += payload.readUInt32BE(0)
        return
      case frameType.push:
      case frameType.continuation:
        // Headers that are cut into pieces would have to be read to their end.
        this.destroy()
        return
      default: // A frame that is not known is to be ignored.
    }
  }

  #settings(payload: Buffer): void {
    const { initialWindowBytes } = readSettings(payload)
    if (initialWindowBytes !== undefined) this.#streamWindow = initialWindowBytes
    this.#isReady = true
    const { settings: type } = frameType
    this.#socket.write(frameOf({ type, flags: flag.ack, stream: 0, payload: Buffer.alloc(0) }))
  }

  #pinged(payload: Buffer): void {
    this.#payOwed()
    payload.copy(this.#pong, headBytes, 0, pingBytes)
    this.#isOwed = true
    this.#owedTimer ??= setTimeout(this.#payLate, pingDelayMs)
  }

  readonly #payLate = (): void => {
    this.#owedTimer = undefined
    this.#payOwed()
  }

  #payOwed(): void {
    if (this.#isOwed) this.#socket.write(Buffer.from(this.#pong))
    this.#isOwed = false
  }

  #goAway(payload: Buffer): void {
    this.#end()
    const last = payload.length < 4 ? 0 : payload.readUInt32BE(0)
    for (const stream of this.#calls.keys()) if (stream > last) this.#answered(stream, 'unknown')
    this.#endIfDone()
  }

  #data(frame: Frame): void {
    const { flags, stream, payload } = frame
    this.#untold += payload.length
    if (this.#untold >= toldBytes) this.#tellRead()
    const call = this.#calls.get(stream)
    if (call === undefined) return
    const bytes = withoutPadding(frame)
    call.bytes += bytes?.length ?? 0
    // What ends with data has no status.
    const isOrdinary = bytes !== undefined && call.hasHead && (flags & flag.endStream) === 0
    const isLong = call.bytes > answerMaxBytes || call.pieces.length >= piecesMax
    if (!isOrdinary || isLong) this.#refuse(stream)
    else call.pieces.push(bytes)
  }

  #headers(frame: Frame): void {
    const { flags, stream } = frame
    // Its block would go on in the next frame.
    if ((flags & flag.endHeaders) === 0) {
      this.destroy()
      return
    }
    const call = this.#calls.get(stream)
    if (call === undefined) return
    const bytes = withoutPadding(frame)
    const block = (flags & flag.priority) === 0 ? bytes : bytes?.subarray(5)
    const head = block && readAnswerHead(block)
    if ((flags & flag.endStream) !== 0) {
      const isWell = call.hasHead && head?.status === 'ok'
      this.#answered(stream, (isWell ? messageIn(call.pieces) : undefined) ?? 'unknown')
    } else if (head?.isOk === true && !call.hasHead) call.hasHead = true
    else this.#refuse(stream)
  }

  #refuse(stream: number): void {
    this.#reset(stream)
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

  #reset(stream: number): void {
    const payload = Buffer.alloc(4)
    payload.writeUInt32BE(cancelled)
    this.#socket.write(frameOf({ type: frameType.reset, flags: 0, stream, payload }))
  }

  #tellRead(): void {
    const payload = Buffer.alloc(4)
    payload.writeUInt32BE(this.#untold)
    this.#untold = 0
    this.#socket.write(frameOf({ type: frameType.windowUpdate, flags: 0, stream: 0, payload }))
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

/** The one message in a body; undefined if it is compressed, or not one. */
function messageIn(pieces: readonly Buffer[]): Buffer | undefined {
  const body = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
  const isOne = body.length >= 5 && body[0] === 0 && body.readUInt32BE(1) === body.length - 5
  // A copy, so that it does not hold what came beside it.
  return isOne ? Buffer.from(body.subarray(5)) : undefined
}

/** Nothing to do for a failed socket: it is closed, and that is told. */
function ignore(): void {}
