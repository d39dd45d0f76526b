/** One call of a client: its metadata, its messages as bytes, and the answer, which ends with a status exactly once. */

import {
  constants,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { TLSSocket } from 'node:tls'
import { grpcStatus } from '../../etcd/proto/failures.ts'
import { type Message, MessageReader, messagePrefix } from './message-reader.ts'

/** How a call ends. */
export interface GrpcStatus {
  readonly code: number
  readonly details: string
}

/** Where an answer comes from, as the trailer `watchglass-source` says. */
export type AnswerSource = 'mirror' | 'etcd'

/** Takes what the client sends. */
export interface MessageSink {
  message(message: Message): void
  /** The client has nothing more to send. */
  ended(): void
  /** A message has more bytes than are taken. The call ends with gRPC's status for that if this is left out. */
  tooLarge?(): void
}

/** etcd accepts its request limit, and half a megabyte for what gRPC adds. */
export const receiveMaxBytes: number = 2 * 1024 * 1024

/** Messages up to this size are sent in one buffer with their prefix: to copy so little is cheaper than a second write. */
const joinMaxBytes = 4096

export class GrpcCall {
  /** Such as `/etcdserverpb.KV/Range`. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly stream: ServerHttp2Stream
  /** Said in a trailer, if it is known. */
  source: AnswerSource | undefined = undefined
  /** With what it ended; undefined as long as it has not, and for one that its client has given up. */
  statusCode: number | undefined = undefined
  readonly #reader = new MessageReader(receiveMaxBytes)
  readonly #onSend: () => void
  readonly #closed: (() => void)[] = []
  #isStarted = false
  #isReading = true
  #isOver = false

  /** `onSend` is called whenever something is sent. */
  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, onSend: () => void) {
    this.stream = stream
    this.#onSend = onSend
    this.headers = headers
    this.path = headers[':path'] ?? ''
    // Whatever goes wrong with a stream ends with `close`.
    stream.on('error', () => undefined)
    stream.once('close', () => this.#close())
  }

  /** The answer is complete, or nobody waits for it any more. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** The value of a header that the client sent. */
  metadata(name: string): string | undefined {
    const value = this.headers[name]
    return Array.isArray(value) ? value.join(',') : value
  }

  /** The common name of the client's certificate, which has been verified. */
  get certificateName(): string | undefined {
    const socket = this.stream.session?.socket as TLSSocket | undefined
    if (socket?.authorized !== true) return undefined
    const { subject } = socket.getPeerCertificate()
    const name: unknown = subject?.CN
    return typeof name === 'string' ? name : undefined
  }

  /** Hands over the client's messages. One that is too large ends the call. */
  read(sink: MessageSink): void {
    this.stream.on('data', (chunk: Buffer) => {
      this.#reader.push(chunk)
      for (;;) {
        if (this.#isOver) return
        const next = this.#reader.next()
        if (next === undefined) return
        if (typeof next === 'number') {
          if (sink.tooLarge === undefined) this.finish(tooLarge(next))
          else sink.tooLarge()
          return
        }
        sink.message(next)
        if (!this.#isReading) return
      }
    })
    this.stream.once('end', () => {
      if (!this.#isOver && this.#isReading) sink.ended()
    })
  }

  /** Ends `read`, and returns the bytes that it has not handed over. What follows comes from the stream, once it is resumed. */
  detach(): Buffer {
    this.#isReading = false
    this.stream.pause()
    this.stream.removeAllListeners('data')
    return this.#reader.rest()
  }

  /** Sends a message that consists of these pieces. False when the client should read first: `drain` of the stream follows. */
  send(...pieces: readonly Buffer[]): boolean {
    if (this.#isOver) return true
    this.start()
    this.#onSend()
    const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
    const prefix = messagePrefix(length)
    if (length <= joinMaxBytes) return this.stream.write(Buffer.concat([prefix, ...pieces]))
    this.stream.cork()
    let mayGoOn = this.stream.write(prefix)
    for (const piece of pieces) mayGoOn = this.stream.write(piece)
    this.stream.uncork()
    return mayGoOn
  }

  /** Sends bytes that are part of messages, with their prefixes. */
  write(bytes: Buffer): boolean {
    if (this.#isOver) return true
    this.start()
    this.#onSend()
    return this.stream.write(bytes)
  }

  /** Sends the headers of an answer: these, or the ones that every answer has. */
  start(headers: OutgoingHttpHeaders = responseHeaders): void {
    if (this.#isStarted || this.#isOver) return
    this.#isStarted = true
    this.stream.respond(headers, { ...answerOptions, waitForTrailers: true })
  }

  /** Ends the call. Nothing can be sent after it. */
  finish(status: GrpcStatus = { code: 0, details: '' }): void {
    this.finishWith(trailersOf(status))
  }

  /** The same with these trailers. */
  finishWith(given: OutgoingHttpHeaders): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#onSend()
    const { stream } = this
    const trailers = { ...given, ...sourceTrailer(this.source) }
    this.statusCode = Number(given['grpc-status'])
    if (this.#isStarted) {
      stream.once('wantTrailers', () => stream.sendTrailers(trailers))
      stream.end()
    } else {
      const headers = { ...responseHeaders, ...trailers }
      stream.respond(headers, { ...answerOptions, endStream: true })
    }
    this.#stopReading()
  }

  /** Calls `task` once, when the call is over in whatever way; at once if it is. */
  onClose(task: () => void): void {
    if (this.stream.closed) task()
    else this.#closed.push(task)
  }

  /** The rest of what the client sends is of no use. */
  #stopReading(): void {
    this.stream.removeAllListeners('data')
    this.stream.resume()
  }

  #close(): void {
    this.#isOver = true
    for (const task of this.#closed.splice(0)) task()
  }
}

/** etcd sends no date. */
const answerOptions = { sendDate: false }

const responseHeaders = {
  [constants.HTTP2_HEADER_STATUS]: 200,
  [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc',
}

function trailersOf({ code, details }: GrpcStatus): Record<string, string> {
  return details === ''
    ? { 'grpc-status': String(code) }
    : { 'grpc-status': String(code), 'grpc-message': percentEncoded(details) }
}

function sourceTrailer(source: AnswerSource | undefined): Record<string, string> {
  return source === undefined ? {} : { 'watchglass-source': source }
}

/** What gRPC for Go says of a message that exceeds the limit. */
function tooLarge(length: number): GrpcStatus {
  return {
    code: grpcStatus.resourceExhausted,
    details: `grpc: received message larger than max (${length} vs. ${receiveMaxBytes})`,
  }
}

/** Text as `grpc-message` has it: printable ASCII but for the percent sign, everything else as percent and two digits. */
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
