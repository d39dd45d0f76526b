/** An HTTP/2 connection to an etcd for gRPC calls: what node:http2 and grpc-js make for each stream
 *  and each message costs more than to read it. bench/README.md has the figures. */

import type { Socket } from 'node:net'
import {
  errorCode,
  flag,
  frameHead,
  frameType,
  headBytes,
  headerFrames,
  preface,
  resetFrame,
  setting,
  settingsAck,
  settingsFrame,
  usualPayloadMaxBytes,
  usualWindowBytes,
  uint32,
  windowFrame,
  windowMaxBytes,
} from '../http2/frames.ts'
import { type BlockHead, type BodyPart, type FrameEnd, FrameLoop } from '../http2/frame-loop.ts'
import type { HeaderList } from '../http2/hpack/decoder.ts'
import { controlMaxBytes, idleOfServer, settingsBytes } from '../http2/limits.ts'
import { messagePrefix, prefixBytes } from '../http2/message-reader.ts'
import type { PeerSettings } from '../http2/settings.ts'
import { grpcStatus } from '../proto/failures.ts'
import {
  Call,
  type CallOwner,
  type CallSink,
  type CallStatus,
  toldBytes,
  windowBytes,
} from './call.ts'
import { statusOfHeaders, statusOfReset } from './failures.ts'

/** A ping waits so long for a call that takes its answer along: etcd sends one with each answer, to
 *  measure the line, and to write costs more than all else in a call. One that asks whether we are
 *  there gives us twenty seconds. */
const pingDelayMs = 200
/** A connection with calls on which nothing has come meanwhile is pinged. etcd ends one that pings
 *  more often than every 5 s, or at all while no call is under way. */
const quietMs = 15_000
/** A ping that nothing has followed after this time was not answered. */
const answerToPingMs = 10_000
/** Numbers of streams end; a new connection begins anew. */
const lastStream = 2 ** 30

export interface CallRequest {
  /** Headers as lib/etcd/http2/hpack/encoder.ts writes them. */
  readonly block: string
  readonly message: Buffer
  /** Nothing follows the message. */
  readonly isShort: boolean
  readonly deadlineMs: number
}

export interface ConnectionOptions {
  /** Monotonic. */
  readonly nowMs: () => number
  /** The server has said its settings: calls can be made. */
  readonly onReady: () => void
  /** Told when the connection takes no more calls, if it ever did, and why. */
  readonly onEnd: (reason: string) => void
  /** All its calls have ended. */
  readonly onClosed: () => void
}

export class Connection implements CallOwner, FrameEnd {
  readonly #socket: Socket
  readonly #options: ConnectionOptions
  readonly #frames: FrameLoop
  readonly #calls = new Map<number, Call>()
  #nextStream = 1
  #isReady = false
  #isEnded = false
  #failure: string | undefined = undefined
  #sendWindow = usualWindowBytes
  #streamWindow = usualWindowBytes
  #streamsMax = Infinity
  #untold = 0
  /** Bytes of calls that were given up, which may still come. */
  #refusedBytes = 0
  #sentBytes = 0
  #timer: NodeJS.Timeout | undefined = undefined
  #timerMs = Infinity
  /** The answer to a ping that is still to be sent. */
  #owed = ''
  #owedTimer: NodeJS.Timeout | undefined = undefined
  #beatTimer: NodeJS.Timeout
  #hasHeard = true
  #isPinged = false

  /** `socket` may be connecting still. */
  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket
    this.#options = options
    const clock = { monotonicMs: options.nowMs }
    this.#frames = new FrameLoop(this, { clock, idle: idleOfServer, isOfClient: false })
    socket.setNoDelay(true)
    socket.on('data', this.#take)
    socket.on('drain', this.#pump)
    socket.on('error', error => {
      this.#failure ??= reasonOf(error)
    })
    socket.on('close', () =>
      this.destroy(this.#isReady ? 'Connection dropped' : 'Failed to connect'),
    )
    this.#beatTimer = setTimeout(this.#beat, quietMs)
    const settings = { [setting.enablePush]: 0, [setting.initialWindowBytes]: windowBytes }
    this.write(
      preface.toString('latin1') +
        settingsFrame(settings) +
        windowFrame(0, windowBytes - usualWindowBytes),
    )
  }

  get sentBytes(): number {
    return this.#sentBytes
  }

  get callCount(): number {
    return this.#calls.size
  }

  /** Not more calls at once than the server takes. */
  get hasRoom(): boolean {
    return this.#calls.size < this.#streamsMax
  }

  open({ block, message, isShort, deadlineMs }: CallRequest, sink: CallSink): Call {
    const stream = this.#nextStream
    this.#nextStream += 2
    const call = new Call(
      { owner: this, sink },
      { stream, deadlineMs, isShort, sendWindow: this.#streamWindow },
    )
    if (this.#isEnded) {
      queueMicrotask(() => call.end(this.#lost(true)))
      return call
    }
    this.#calls.set(stream, call)
    const owed = this.#owed
    this.#owed = ''
    const head = headerFrames(stream, block, { isLast: false, payloadMax: usualPayloadMaxBytes })
    this.send(call, message, owed + head)
    this.#wake(deadlineMs)
    if (this.#nextStream > lastStream) this.end('it has had all its calls')
    return call
  }

  send(call: Call, message: Buffer, before = ''): void {
    const length = prefixBytes + message.length
    const isAtOnce =
      call.unsent.length === 0 &&
      length <= Math.min(this.#sendWindow, call.sendWindow, usualPayloadMaxBytes)
    if (!isAtOnce) {
      this.write(before)
      call.unsent = Buffer.concat([call.unsent, messagePrefix(message.length), message])
      this.#pump()
      return
    }
    this.#sendWindow -= length
    call.sendWindow -= length
    this.write(
      before +
        frameHead(length, frameType.data, call.isShort ? flag.endStream : 0, call.stream) +
        `\0${uint32(message.length)}${message.toString('latin1')}`,
    )
  }

  leave(call: Call): void {
    if (!this.#calls.delete(call.stream)) return
    this.#expectRest()
    this.write(resetFrame(call.stream, errorCode.cancel))
    this.#destroyIfDone()
  }

  refuse({ stream }: Call, wrong: string): void {
    this.#finish(stream, { code: grpcStatus.internal, details: `it sent ${wrong}` }, true)
  }

  write(frames: string): void {
    if (frames === '') return
    this.#sentBytes += frames.length
    this.#socket.write(frames, 'latin1')
  }

  /** Takes no more calls; those under way go on. */
  end(reason: string): void {
    if (!this.#isEnded) {
      this.#isEnded = true
      this.#options.onEnd(reason)
    }
    this.#destroyIfDone()
  }

  /** Calls under way end. */
  destroy(reason: string): void {
    this.#failure ??= reason
    this.#frames.stop()
    this.#socket.destroy()
    clearTimeout(this.#timer)
    clearTimeout(this.#owedTimer)
    clearTimeout(this.#beatTimer)
    const calls = [...this.#calls.values()]
    this.#calls.clear()
    this.end(this.#failure)
    for (const call of calls) call.end(this.#lost(false))
    this.#options.onClosed()
  }

  #lost(isUnsent: boolean): CallStatus {
    return {
      code: grpcStatus.unavailable,
      details: this.#failure ?? 'Connection dropped',
      isUnsent,
    }
  }

  #destroyIfDone(): void {
    const isDone = this.#isEnded && this.#calls.size === 0
    if (isDone && !this.#socket.destroyed) this.destroy('it is done')
  }

  readonly #take = (more: Buffer): void => {
    this.#hasHeard = true
    this.#frames.take(more)
  }

  fail(): void {
    this.destroy(this.#frames.idle.isSpent ? 'too much beside its answers' : 'Protocol error')
  }

  settings(settings: PeerSettings): number | undefined {
    const more = (settings.initialWindowBytes ?? this.#streamWindow) - this.#streamWindow
    this.#streamWindow += more
    for (const call of this.#calls.values()) {
      call.sendWindow += more
      if (call.sendWindow > windowMaxBytes) return errorCode.flowControl
    }
    this.#streamsMax = settings.streamsMax ?? this.#streamsMax
    this.#answer(settingsAck)
    this.#pump()
    if (!this.#isReady) {
      this.#isReady = true
      this.#options.onReady()
    }
    return this.#frames.idle.spend(settingsBytes * this.#calls.size)
  }

  window(stream: number, bytes: number): number | undefined {
    if (stream === 0) this.#sendWindow += bytes
    else {
      const call = this.#calls.get(stream)
      if (call !== undefined) call.sendWindow += bytes
      if (call !== undefined && call.sendWindow > windowMaxBytes) return errorCode.flowControl
    }
    if (this.#sendWindow > windowMaxBytes) return errorCode.flowControl
    this.#pump()
    return undefined
  }

  /** Sends what waited for room. */
  readonly #pump = (): void => {
    for (const call of this.#calls.values()) {
      for (let room = 1; call.unsent.length > 0;) {
        room = call.room(this.#sendWindow)
        if (this.#socket.writableNeedDrain || room <= 0) break
        const isLast = call.isShort && room === call.unsent.length
        this.#sendWindow -= room
        call.sendWindow -= room
        this.write(frameHead(room, frameType.data, isLast ? flag.endStream : 0, call.stream))
        this.#socket.write(call.unsent.subarray(0, room))
        this.#sentBytes += room
        call.unsent = call.unsent.subarray(room)
      }
    }
  }

  pinged(opaque: string): undefined {
    this.#payOwed()
    this.#owed = frameHead(opaque.length, frameType.ping, flag.ack, 0) + opaque
    this.#owedTimer ??= setTimeout(this.#payLate, pingDelayMs)
    this.#answer('')
  }

  /** That something has come is enough. */
  answered(): void {}

  /** Answers to what nobody asked for: a server that sends it must read them. */
  #answer(frames: string): void {
    this.write(frames)
    if (this.#socket.writableLength > controlMaxBytes) this.destroy('it does not read')
  }

  readonly #payLate = (): void => {
    this.#owedTimer = undefined
    this.#payOwed()
  }

  #payOwed(): void {
    this.write(this.#owed)
    this.#owed = ''
  }

  goneAway(lastStream: number): void {
    this.end('it takes no more calls')
    for (const stream of this.#calls.keys()) {
      if (stream > lastStream) this.#finish(stream, this.#lost(true))
    }
  }

  reset(stream: number, code: number): undefined {
    this.#finish(stream, statusOfReset(code))
  }

  data({ stream, bytes, from, to, used, isLast }: BodyPart): number | undefined {
    this.#untold += used
    if (this.#untold >= toldBytes) {
      this.write(windowFrame(0, this.#untold))
      this.#untold = 0
    }
    const call = this.#calls.get(stream)
    if (call === undefined) return this.#takeRefused(used)
    if (to > from) this.#frames.idle.forgive()
    if (call.hasHead) call.take(bytes.subarray(from, to), used)
    else this.refuse(call, 'a body without headers')
    if (isLast) this.#finish(stream, statusOfHeaders([]))
    return undefined
  }

  /** A part of an answer that was given up, or that nobody has asked for. */
  #takeRefused(length: number): number | undefined {
    const expected = Math.min(this.#refusedBytes, length)
    this.#refusedBytes -= expected
    return expected === length ? undefined : this.#frames.idle.spend(headBytes + length - expected)
  }

  /** A call was given up: all that its window has room for may be under way. */
  #expectRest(): void {
    this.#refusedBytes = windowBytes
  }

  headers({ pairs }: HeaderList, { stream, isLast, bytes }: BlockHead): number | undefined {
    const call = this.#calls.get(stream)
    if (call !== undefined && isLast) {
      this.#finish(stream, statusOfHeaders(pairs))
      return undefined
    }
    const status = call?.hasHead === false ? pairs[pairs.indexOf(':status') + 1] : ''
    if (call !== undefined && status === '200') {
      call.hasHead = true
      return undefined
    }
    // What comes ahead of the answer says nothing here.
    if (call !== undefined && !/^1\d\d$/.test(status ?? '')) {
      this.#finish(stream, statusOfHeaders(pairs), true)
    }
    return this.#frames.idle.spend(headBytes + bytes)
  }

  #finish(stream: number, status: CallStatus, isReset = false): void {
    const call = this.#calls.get(stream)
    if (call === undefined) return
    this.#calls.delete(stream)
    this.#frames.idle.forgive()
    if (isReset) this.#expectRest()
    if (isReset || call.unsent.length > 0) this.write(resetFrame(stream, errorCode.cancel))
    call.end(status)
    this.#destroyIfDone()
  }

  /** One timer for all calls. */
  #wake(deadlineMs: number): void {
    if (deadlineMs >= this.#timerMs) return
    clearTimeout(this.#timer)
    this.#timerMs = deadlineMs
    this.#timer = setTimeout(this.#look, Math.max(1, deadlineMs - this.#options.nowMs()))
  }

  readonly #look = (): void => {
    this.#timerMs = Infinity
    const nowMs = this.#options.nowMs()
    for (const [stream, { deadlineMs }] of this.#calls) {
      if (deadlineMs > nowMs) this.#wake(deadlineMs)
      else this.#finish(stream, lateStatus, true)
    }
  }

  readonly #beat = (): void => {
    if (this.#isPinged && !this.#hasHeard) {
      this.destroy('it answers nothing any more')
      return
    }
    this.#isPinged = !this.#hasHeard && this.#calls.size > 0
    if (this.#isPinged) {
      this.write(frameHead(8, frameType.ping, 0, 0) + 'watchgls')
    }
    this.#hasHeard = false
    this.#beatTimer = setTimeout(this.#beat, this.#isPinged ? answerToPingMs : quietMs)
  }
}

const lateStatus = { code: grpcStatus.deadlineExceeded, details: 'Deadline exceeded' }

/** A name with several addresses fails with a failure for each. */
function reasonOf(error: Error): string {
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : [error]
  return first?.message ?? error.message
}
