/** One call of a client: its metadata, its messages as bytes, and the answer, which ends with a
 *  status exactly once. What it holds meanwhile is bounded, and so is how long it holds it
 *  (`look`). */

import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import type { Http2Stream, ResponseHeaders } from '@watchglass/cache'
import { errorCode, grpcStatus, type Message, messagePrefix, MessageReader } from '@watchglass/etcd'
import { CallShare, type Share } from './holdings.ts'
import type { ReadingTurns } from './reading-turns.ts'

/** The end of a call. */
export interface GrpcStatus {
  readonly code: number
  readonly details: string
}

/** The sources of an answer, as the trailer `watchglass-source` says. */
export type AnswerSource = 'mirror' | 'etcd'

/** Takes what the client sends. */
export interface MessageSink {
  message(message: Message): void
  /** The client has nothing more to send, and has perhaps left in the middle of a message. */
  ended(isCutOff: boolean): void
  /** A message has more bytes than are taken. The call ends with gRPC's status for that if this
   *  is left out. */
  tooLarge?(): void
  /** The call is of one message, which the client has to send soon. */
  readonly isSingle?: boolean
}

/** The connection of a call, and what its calls share. */
export interface CallHome {
  /** The common name of the client's certificate, which has been verified. */
  readonly certificateName: string | undefined
  readonly requestBytes: Share
  readonly responseBytes: Share
  /** Share of watchers for each stream. */
  readonly watchers: () => Share
  readonly turns: ReadingTurns
  /** Called whenever something is sent. */
  readonly sent: () => void
  /** Bytes that were written to the connection, and those of them that its client has not taken. */
  readonly output: () => { readonly sentBytes: number; readonly untakenBytes: number }
  readonly nowMs: () => number
}

/** etcd accepts its request limit, and half a megabyte for what gRPC adds. */
export const receiveMaxBytes: number = 2 * 1024 * 1024

/** Messages up to this size are sent in one buffer with their prefix: to copy so little is
 *  cheaper than a second write. */
const joinMaxBytes = 4096

/** The bytes that a client may send of a call before they are read: HTTP/2's own, and what etcd
 *  has. */
export const windowBytes = 65_535

/** Bytes that are read of a call that waits: most have sent no more. */
const waitingMaxBytes = 16 * 1024

/** A message has to be whole so long after its first byte. */
export const messageMaxMs = 30_000

/** A client may take nothing of what is sent for so long: as over Kubernetes' API. */
export const untakenMaxMs = 60_000

/** All of an answer to one request has to be taken in so long. */
export const answerMaxMs: number = 10 * 60_000

/** A client may leave its side of a call open for so long after the answer. */
export const leaveMaxMs = 5000

export class GrpcCall {
  /** Such as `/etcdserverpb.KV/Range`. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** AnsweredRevisions in a trailer, if it is known. */
  source: AnswerSource | undefined = undefined
  /** With what it ended; undefined as long as it has not, and for one that its client has given
   *  up. */
  statusCode: number | undefined = undefined
  /** Bytes that belong to the call and wait elsewhere, for a client that takes nothing. */
  waitingElsewhere: () => number = () => 0
  /** Bytes of the client that have been read, and wait to go on. */
  waitingToGo: () => number = () => 0
  readonly #stream: Http2Stream
  /** The bytes that the client sends. */
  readonly #body: Readable
  readonly #home: CallHome
  readonly #reader = new MessageReader(receiveMaxBytes)
  readonly #requestBytes: CallShare
  readonly #responseBytes: CallShare
  readonly #onDrain: (() => void)[] = []
  #drained: (() => void)[] = []
  #isDrainAwaited = false
  #sink: MessageSink | undefined
  #isStarted = false
  /** True while the receiver of the messages takes none. */
  #isHeld = false
  /** True while the call waits for a turn in which to read on. */
  #isWaiting = false
  #isReading = false
  #isPaused = false
  #hasEnded = false
  #isOver = false
  /** Since when a message is not whole. */
  #unfinishedSinceMs: number | undefined
  #written = 0
  /** A sum that rises with what the client takes. */
  #taken = 0
  #takenAtMs = 0
  /** When the answer to one request began. */
  #beganAtMs: number | undefined
  #isSingle = false
  /** Since when all of the answer is taken. */
  #overSinceMs: number | undefined

  constructor(stream: Http2Stream, home: CallHome) {
    this.#stream = stream
    this.#body = stream.body
    this.#home = home
    this.#requestBytes = new CallShare(home.requestBytes)
    this.#responseBytes = new CallShare(home.responseBytes)
    this.headers = stream.headers
    this.path = stream.target
    stream.onClose(() => this.#close())
  }

  /** The answer is complete, or nobody waits for it any more. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Bytes of the answer that the client's windows have no room for. */
  get waitingBytes(): number {
    return this.#stream.writableLength
  }

  /** The client has nothing more to send. */
  get hasEnded(): boolean {
    return this.#body.readableEnded
  }

  /** The value of a header that the client sent. */
  metadata(name: string): string | undefined {
    const value = this.headers[name]
    return Array.isArray(value) ? value.join(',') : value
  }

  /** The common name of the client's certificate, which has been verified. */
  get certificateName(): string | undefined {
    return this.#home.certificateName
  }

  /** The watchers of this call, as a share of those that there may be. */
  shareOfWatchers(): Share {
    return this.#home.watchers()
  }

  /** Hands over the client's messages, as long as there is time in this turn. One that is too
   *  large ends the call. */
  read(sink: MessageSink): void {
    this.#sink = sink
    if (sink.isSingle === true) this.expectOne()
    this.#body.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk)
      this.#readOn()
    })
    this.#body.once('end', () => {
      this.#hasEnded = true
      this.#readOn()
    })
  }

  /** The call is of one message each way: the request has to come soon, and the answer to be
   *  taken some time. */
  expectOne(): void {
    this.#isSingle = true
    this.#unfinishedSinceMs = this.#home.nowMs()
  }

  /** The request that was expected has come. */
  hasCome(): void {
    this.#unfinishedSinceMs = undefined
  }

  /** Hands over nothing more for now. What is read already stays; little more is. */
  hold(): void {
    this.#isHeld = true
  }

  /** Hands over messages again. */
  goOn(): void {
    this.#isHeld = false
    this.#readOn()
  }

  /** Ends `read`, and returns the bytes that it has not handed over. What follows goes to
   *  `readBytes`. */
  detach(): Buffer {
    this.#body.pause()
    this.#body.removeAllListeners('data')
    const rest = this.#reader.rest()
    this.#endReading()
    return rest
  }

  /** Hands over the client's bytes as they come, and says when there are no more. */
  readBytes(onBytes: (chunk: Buffer) => void, onEnd: () => void): void {
    this.#body.on('data', onBytes)
    if (this.hasEnded) onEnd()
    else this.#body.once('end', onEnd)
    this.#body.resume()
  }

  /** Reads nothing for now: what the client may send all the same is counted. */
  pause(): void {
    if (this.#isOver) return
    this.#isPaused = true
    this.#body.pause()
    this.#countRequest()
  }

  /** Reads again. */
  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#countRequest()
    this.#body.resume()
  }

  /** Sends a message that consists of these pieces. False when the client should read first. */
  send(...pieces: readonly Buffer[]): boolean {
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
    const prefix = messagePrefix(length)
    if (length <= joinMaxBytes) return this.write(Buffer.concat([prefix, ...pieces]))
    return this.write(prefix, ...pieces)
  }

  /** Sends bytes that are part of messages, with their prefixes. False when the client should read
   *  first. */
  write(...pieces: readonly Buffer[]): boolean {
    if (this.#isOver || this.#stream.isClosed) return true
    if (!this.#mayWrite(pieces.reduce((sum, piece) => sum + piece.length, 0))) return true
    let mayGoOn = true
    for (const piece of pieces) mayGoOn = this.#stream.write(piece)
    if (!mayGoOn) this.#awaitDrain()
    return mayGoOn
  }

  /** Calls `task` each time the client has taken what waited for it. */
  onDrain(task: () => void): void {
    this.#onDrain.push(task)
  }

  /** Resolves when the client has taken what waits for it, or is gone. */
  drained(): Promise<void> {
    if (this.#isOver || this.#stream.isClosed) return Promise.resolve()
    return new Promise(resolve => {
      this.#drained.push(resolve)
    })
  }

  /** Sends the headers of an answer: these, or the ones that every answer has. */
  start(headers: ResponseHeaders = responseHeaders): void {
    if (this.#isStarted || this.#isOver || this.#stream.isClosed) return
    this.#isStarted = true
    this.#stream.waitsForRequest = true
    this.#stream.respond(200, headers)
    this.#stream.flush()
  }

  /** Ends the call. Nothing can be sent after it. */
  finish(status: GrpcStatus = { code: 0, details: '' }): void {
    this.finishWith(trailersOf(status))
  }

  /** Ends the call with these trailers. */
  finishWith(given: ResponseHeaders): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#home.sent()
    const stream = this.#stream
    const trailers = { ...given, ...sourceTrailer(this.source) }
    this.#stopReading()
    // Nobody waits for it.
    if (stream.isClosed) return
    this.statusCode = Number(given['grpc-status'])
    if (this.#isStarted) stream.end(undefined, trailers)
    else {
      stream.respond(200, { ...responseHeaders, ...trailers })
      stream.end()
    }
  }

  /** Calls `task` once, when the call is over in whatever way; at once if it is. */
  onClose(task: () => void): void {
    this.#stream.onClose(task)
  }

  /** Looks at what the client has left unfinished, and ends what takes too long. */
  look(nowMs: number): void {
    const sinceMs = this.#unfinishedSinceMs
    if (sinceMs !== undefined && nowMs - sinceMs >= messageMaxMs) this.finish(late)
    if (!this.#isOver) this.#countRequest()
    const { isSent } = this.#stream
    if (this.#isOver && isSent) this.#overSinceMs ??= nowMs
    // The client may have more to send, which nobody wants: gRPC for Go ends such calls, too.
    if (nowMs - (this.#overSinceMs ?? nowMs) >= leaveMaxMs) {
      this.#stream.closed(errorCode.none, true)
    }
    const isTaken = this.#isTaken(nowMs)
    const isLate = nowMs - (this.#beganAtMs ?? nowMs) >= answerMaxMs && !isSent
    if (!isTaken || isLate || !this.#countResponse(0)) this.#cutOff()
  }

  /** False for a client that has taken nothing for too long, of this call or, if nothing of it
   *  waits, of its connection. */
  #isTaken(nowMs: number): boolean {
    const { writableLength } = this.#stream
    const { sentBytes, untakenBytes } = this.#home.output()
    const taken = writableLength > 0 ? this.#written - writableLength : sentBytes - untakenBytes
    if (writableLength + untakenBytes === 0 || taken !== this.#taken) this.#takenAtMs = nowMs
    this.#taken = taken
    return nowMs - this.#takenAtMs < untakenMaxMs
  }

  /** Hands over what has come, unless it has to wait. */
  #readOn(): void {
    if (this.#sink === undefined || this.#isOver) return
    if (!this.#isReading && !this.#isHeld && !this.#isWaiting) this.#handOver(this.#sink)
    if (this.#isReading || this.#isOver) return
    const isStopped = this.#isHeld || this.#isWaiting
    // A few bytes would keep all that came with them.
    if (isStopped) this.#reader.settle()
    if (!isStopped) this.resume()
    else if (this.#reader.heldBytes > waitingMaxBytes && !this.#isPaused) this.pause()
    this.#countRequest()
  }

  #handOver(sink: MessageSink): void {
    const reader = this.#reader
    this.#isReading = true
    while (!this.#isHeld && !this.#isOver) {
      if (!this.#home.turns.hasTime()) {
        this.#waitForTurn()
        break
      }
      const next = reader.next()
      if (next === undefined) break
      this.#unfinishedSinceMs = undefined
      if (typeof next === 'object') sink.message(next)
      else if (sink.tooLarge !== undefined) sink.tooLarge()
      else this.finish(tooLarge(next))
      if (typeof next === 'number') break
    }
    this.#isReading = false
    if (this.#isHeld || this.#isWaiting || this.#isOver) return
    reader.settle()
    if (reader.heldBytes > 0) this.#unfinishedSinceMs ??= this.#home.nowMs()
    if (!this.#hasEnded) return
    this.#hasEnded = false
    sink.ended(reader.heldBytes > 0)
  }

  #waitForTurn(): void {
    this.#isWaiting = true
    this.#home.turns.wait(() => {
      this.#isWaiting = false
      this.#readOn()
    })
  }

  /** Counts what is kept of the client's bytes. The call ends if it may not have so much. */
  #countRequest(): void {
    const unread = this.#isPaused
      ? windowBytes
      : this.#body.readableLength + this.#stream.unreadBytes
    const bytes = this.#reader.heldBytes + this.waitingToGo() + unread
    if (!this.#requestBytes.set(bytes)) this.finish(tooMuch)
  }

  /** Counts what the client has not taken, and will be sent. */
  #countResponse(more: number): boolean {
    return this.#responseBytes.set(this.waitingBytes + this.waitingElsewhere() + more)
  }

  /** Begins the answer, if so much may wait for the client; ends it if not. */
  #mayWrite(bytes: number): boolean {
    if (!this.#countResponse(bytes)) {
      if (this.#isStarted) this.#cutOff()
      else this.finish(tooMuch)
      return false
    }
    // Until now there was nothing to take.
    if (this.waitingBytes === 0) this.#takenAtMs = this.#home.nowMs()
    this.#written += bytes
    if (this.#isSingle) this.#beganAtMs ??= this.#home.nowMs()
    this.start()
    this.#home.sent()
    return true
  }

  /** Ends an answer that the client does not take. */
  #cutOff(): void {
    this.#isOver = true
    this.statusCode ??= grpcStatus.resourceExhausted
    this.#stream.closed(errorCode.enhanceYourCalm, true)
  }

  #awaitDrain(): void {
    if (this.#isDrainAwaited) return
    this.#isDrainAwaited = true
    this.#stream.onDrain(() => {
      this.#isDrainAwaited = false
      this.#tellDrained()
      for (const task of this.#onDrain) task()
    })
  }

  #tellDrained(): void {
    const tasks = this.#drained
    this.#drained = []
    for (const task of tasks) task()
  }

  /** The rest of what the client sends is of no use. */
  #stopReading(): void {
    this.#body.removeAllListeners('data')
    this.#reader.rest()
    this.#endReading()
    this.#body.resume()
  }

  #endReading(): void {
    this.#sink = undefined
    this.#unfinishedSinceMs = undefined
    this.#isPaused = false
    this.#requestBytes.set(0)
  }

  #close(): void {
    this.#isOver = true
    this.#reader.rest()
    this.#endReading()
    this.#responseBytes.set(0)
    this.#tellDrained()
  }
}

/** The status that gRPC for Go gives to a call of one message that ends before there is one. */
export function endedEarly(isCutOff: boolean): GrpcStatus {
  return { code: grpcStatus.unknown, details: isCutOff ? cutOff.details : 'EOF' }
}

/** The status that it gives to a stream that ends in the middle of a message. */
export const cutOff: GrpcStatus = { code: grpcStatus.internal, details: 'unexpected EOF' }

/** etcd's words for what exceeds a bound of ours. */
export const tooMuch: GrpcStatus = {
  code: grpcStatus.resourceExhausted,
  details: 'etcdserver: too many requests',
}

/** etcd's words for what takes too long. */
const late: GrpcStatus = {
  code: grpcStatus.unavailable,
  details: 'etcdserver: request timed out',
}

const responseHeaders = { 'content-type': 'application/grpc' }

function trailersOf({ code, details }: GrpcStatus): Record<string, string> {
  return details === ''
    ? { 'grpc-status': String(code) }
    : { 'grpc-status': String(code), 'grpc-message': percentEncoded(details) }
}

function sourceTrailer(source: AnswerSource | undefined): Record<string, string> {
  return source === undefined ? {} : { 'watchglass-source': source }
}

/** The status that gRPC for Go gives to a message that exceeds the limit. */
function tooLarge(length: number): GrpcStatus {
  return {
    code: grpcStatus.resourceExhausted,
    details: `grpc: received message larger than max (${length} vs. ${receiveMaxBytes})`,
  }
}

/** Text as `grpc-message` has it: printable ASCII but for the percent sign, everything else as
 *  percent and two digits. */
function percentEncoded(text: string): string {
  let encoded = ''
  for (const byte of Buffer.from(text, 'utf8')) {
    const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25
    encoded += isPlain
      ? String.fromCharCode(byte)
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }
  return encoded
}
