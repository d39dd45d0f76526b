/** An HTTP/2 connection to an etcd for gRPC calls: what node:http2 and grpc-js make for each stream
 *  and each message costs more than to read it. bench/README.md has the figures. */

import type { Socket } from 'node:net'
import { BlockBuffer } from '../http2/block-buffer.ts'
import {
  cutPadding,
  dataBegun,
  emptyFrame,
  errorCode,
  flag,
  type Frame,
  frameHead,
  frameType,
  headBytes,
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
} from '../http2/frames.ts'
import { HeaderDecoder } from '../http2/hpack/decoder.ts'
import { messagePrefix, prefixBytes } from '../http2/message-reader.ts'
import { readSettings } from '../http2/settings.ts'
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

/** Frames since a message that are no part of one: settings, pings, what is not known. A server
 *  that sends more has us answer them, or hold nothing of worth. */
const asideMax = 1000
/** A server that does not read what we answer to it has this much unread. */
const unreadMaxBytes = 256 * 1024
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
const headersMaxBytes = 64 * 1024

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
  /** It takes no more calls, if it ever did, and why. */
  readonly onEnd: (reason: string) => void
  /** All its calls have ended. */
  readonly onClosed: () => void
}

export class Connection implements CallOwner {
  readonly #socket: Socket
  readonly #options: ConnectionOptions
  readonly #decoder = new HeaderDecoder(headersMaxBytes)
  readonly #frame: Frame = emptyFrame()
  /** Bytes that have come and are no whole frame yet. */
  #rest: Buffer | undefined = undefined
  /** The frame of data that is under way, and its bytes that have not come. */
  #dataStream = 0
  #dataFlags = 0
  #dataLeft = 0
  /** Headers that come in several frames: the first, and all their bytes. */
  #begun: { readonly head: Frame; readonly block: BlockBuffer } | undefined = undefined
  readonly #calls = new Map<number, Call>()
  #nextStream = 1
  #isReady = false
  #isEnded = false
  #failure: string | undefined = undefined
  #sendWindow = usualWindowBytes
  #streamWindow = usualWindowBytes
  #streamsMax = Infinity
  #untold = 0
  #aside = 0
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
    this.write(resetFrame(call.stream, errorCode.cancel))
    this.#destroyIfDone()
  }

  refuse({ stream }: Call, wrong: string): void {
    this.#finish(stream, { code: grpcStatus.internal, details: `it sent ${wrong}` }, true)
  }

  write(frames: string): void {
    if (frames !== '') this.#socket.write(frames, 'latin1')
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
    const bytes = this.#rest === undefined ? more : Buffer.concat([this.#rest, more])
    let at = 0
    // A chunk may have thousands of frames after the one that ended it.
    while (at < bytes.length && !this.#socket.destroyed) {
      const next = this.#dataLeft > 0 ? this.#takeData(bytes, at) : this.#takeNext(bytes, at)
      if (next === at) break
      at = next
    }
    this.#rest = at === bytes.length ? undefined : bytes.subarray(at)
  }

  /** Takes the frame that begins here, and gives where the next one does; the same place if it is
   *  not here whole. */
  #takeNext(bytes: Buffer, at: number): number {
    const frame = this.#frame
    const end = readFrame(frame, bytes, at)
    if (end === -1) {
      this.destroy('Protocol error')
      return bytes.length
    }
    if (end !== 0) {
      this.#takeFrame(frame)
      return end
    }
    // Data is read as it comes, and never moved to be whole.
    this.#dataLeft = dataBegun(frame, bytes, at)
    if (this.#dataLeft === 0) return at
    this.#dataStream = frame.stream
    this.#dataFlags = frame.flags
    return at + headBytes
  }

  #takeData(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#dataLeft)
    this.#dataLeft -= end - at
    const isEnd = this.#dataLeft === 0 && (this.#dataFlags & flag.endStream) !== 0
    this.#data(this.#dataStream, bytes.subarray(at, end), { used: end - at, isEnd })
    return end
  }

  #takeFrame(frame: Frame): void {
    const { type, flags, stream } = frame
    const isPart = type === frameType.data && frame.from < frame.to && stream < this.#nextStream
    const isOdd = this.#isReady
      ? (type === frameType.continuation) === (this.#begun === undefined)
      : type !== frameType.settings
    if (isOdd || (!isPart && ++this.#aside > asideMax)) {
      this.destroy(isOdd ? 'Protocol error' : 'too much beside its answers')
      return
    }
    switch (type) {
      case frameType.data:
        this.#wholeData(frame)
        return
      case frameType.headers:
      case frameType.continuation:
        this.#headers(frame)
        return
      case frameType.reset:
        this.#finish(
          stream,
          statusOfReset(lengthOf(frame) < 4 ? 0 : frame.bytes.readUInt32BE(frame.from)),
        )
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
        this.#roomier(frame)
        return
      case frameType.push:
        this.destroy('Protocol error')
        return
      default: // A frame that is not known is to be ignored.
    }
  }

  #settings({ bytes, from, to }: Frame): void {
    const settings = readSettings(bytes, from, to)
    if (typeof settings === 'number') {
      this.destroy('Protocol error')
      return
    }
    const more = (settings.initialWindowBytes ?? this.#streamWindow) - this.#streamWindow
    this.#streamWindow += more
    for (const call of this.#calls.values()) call.sendWindow += more
    this.#streamsMax = settings.streamsMax ?? this.#streamsMax
    this.#answer(settingsAck)
    this.#pump()
    if (this.#isReady) return
    this.#isReady = true
    this.#options.onReady()
  }

  #roomier(frame: Frame): void {
    if (lengthOf(frame) !== 4) return
    const bytes = numberIn(frame)
    if (frame.stream === 0) this.#sendWindow += bytes
    else {
      const call = this.#calls.get(frame.stream)
      if (call !== undefined) call.sendWindow += bytes
    }
    this.#pump()
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
        this.#aside = 0
        this.write(frameHead(room, frameType.data, isLast ? flag.endStream : 0, call.stream))
        this.#socket.write(call.unsent.subarray(0, room))
        call.unsent = call.unsent.subarray(room)
      }
    }
  }

  #pinged({ bytes, from, to }: Frame): void {
    this.#payOwed()
    const opaque = bytes.toString('latin1', from, to)
    this.#owed = frameHead(opaque.length, frameType.ping, flag.ack, 0) + opaque
    this.#owedTimer ??= setTimeout(this.#payLate, pingDelayMs)
    this.#answer('')
  }

  /** Answers to what nobody asked for: a server that sends it must read them. */
  #answer(frames: string): void {
    this.write(frames)
    if (this.#socket.writableLength > unreadMaxBytes) this.destroy('it does not read')
  }

  readonly #payLate = (): void => {
    this.#owedTimer = undefined
    this.#payOwed()
  }

  #payOwed(): void {
    this.write(this.#owed)
    this.#owed = ''
  }

  #goAway(frame: Frame): void {
    const last = lengthOf(frame) < 4 ? 0 : numberIn(frame)
    this.end('it takes no more calls')
    for (const stream of this.#calls.keys()) {
      if (stream > last) this.#finish(stream, this.#lost(true))
    }
  }

  #wholeData(frame: Frame): void {
    const used = lengthOf(frame)
    if (!cutPadding(frame)) {
      this.destroy('Protocol error')
      return
    }
    const isEnd = (frame.flags & flag.endStream) !== 0
    this.#data(frame.stream, frame.bytes.subarray(frame.from, frame.to), { used, isEnd })
  }

  #data(
    stream: number,
    bytes: Buffer,
    { used, isEnd }: { readonly used: number; readonly isEnd: boolean },
  ): void {
    this.#untold += used
    if (this.#untold >= toldBytes) {
      this.write(windowFrame(0, this.#untold))
      this.#untold = 0
    }
    const call = this.#calls.get(stream)
    if (call === undefined) return
    if (bytes.length > 0) this.#aside = 0
    if (call.hasHead) call.take(bytes, used)
    else this.refuse(call, 'a body without headers')
    if (isEnd) this.#finish(stream, statusOfHeaders([]))
  }

  #headers(frame: Frame): void {
    const isFirst = frame.type === frameType.headers
    const isWhole = (frame.flags & flag.endHeaders) !== 0
    if (isFirst && !cutPadding(frame)) frame.from = frame.to + 1
    if (isFirst && (frame.flags & flag.priority) !== 0) frame.from += 5
    if (!isFirst || !isWhole) {
      this.#begun ??= { head: { ...frame }, block: new BlockBuffer(headersMaxBytes) }
      if (frame.from > frame.to || !this.#begun.block.add(frame)) {
        this.destroy('Protocol error')
        return
      }
    }
    if (!isWhole) return
    const { head, block } = this.#begun ?? { head: frame, block: undefined }
    this.#begun = undefined
    const { bytes, from, to } = block?.whole() ?? frame
    // Those of a call that was given up are read, too: later ones may name their fields.
    const list = from > to ? undefined : this.#decoder.decode(bytes, from, to)
    if (list === undefined) this.destroy('Protocol error')
    else this.#headed(head, list.pairs)
  }

  #headed({ stream, flags }: Frame, pairs: readonly string[]): void {
    const call = this.#calls.get(stream)
    if (call === undefined) return
    if ((flags & flag.endStream) !== 0) {
      this.#finish(stream, statusOfHeaders(pairs))
      return
    }
    const status = call.hasHead ? '' : pairs[pairs.indexOf(':status') + 1]
    if (status === '200') call.hasHead = true
    // What comes ahead of the answer says nothing here.
    else if (!/^1\d\d$/.test(status ?? '')) this.#finish(stream, statusOfHeaders(pairs), true)
  }

  #finish(stream: number, status: CallStatus, isReset = false): void {
    const call = this.#calls.get(stream)
    if (call === undefined) return
    this.#calls.delete(stream)
    this.#aside = 0
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
      this.#aside = 0
      this.write(frameHead(8, frameType.ping, 0, 0) + 'watchgls')
    }
    this.#hasHeard = false
    this.#beatTimer = setTimeout(this.#beat, this.#isPinged ? answerToPingMs : quietMs)
  }
}

const lateStatus = { code: grpcStatus.deadlineExceeded, details: 'Deadline exceeded' }

function lengthOf({ from, to }: Frame): number {
  return to - from
}

/** The number of 31 bits with which a payload begins. */
function numberIn({ bytes, from }: Frame): number {
  return bytes.readUInt32BE(from) & 0x7fff_ffff
}

/** A name with several addresses fails with a failure for each. */
function reasonOf(error: Error): string {
  const [first] = error instanceof AggregateError ? (error.errors as Error[]) : [error]
  return first?.message ?? error.message
}
