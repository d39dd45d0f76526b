/** A watch stream over gRPC: its requests go to a `WatcherStream`, whose responses are encoded and
 *  written as fast as the client reads. */

import type { CacheError } from '@watchglass/base'
import {
  type HeaderMessage,
  headerResponseCodec,
  type Message,
  messagePrefix,
  watchRequestCodec,
  watchResponseCodec,
  type WatchResponseMessage,
  ProtoWriter,
} from '@watchglass/etcd'
import { fieldOf, fieldSize, KeptEvent, writeField } from './engine/watches/kept-event.ts'
import type { WatchConnection, WatcherRoom } from './engine/watches/batch-source.ts'
import type { ResponsePart } from './engine/watches/response-part.ts'
import type { WatcherStream } from './engine/watches/watcher-stream.ts'
import { cutOff, type GrpcCall } from './listen/grpc-call.ts'
import { malformed, statusOf, uncompressed } from './statuses.ts'

export type OpenWatch = (
  connection: WatchConnection,
  options: { requiresLeader: boolean; room: WatcherRoom },
) => WatcherStream

/** Bytes that may wait for a client before its watchers stay behind. To catch up costs more, and
 *  events come in bursts. */
const waitingMaxBytes = 64 * 1024

/** Messages up to this size are sent in one buffer: to copy so little is cheaper than a second
 *  write. */
const joinMaxBytes = 16 * 1024

/** A watch call that is served by a stream. */
export class WatchCall {
  readonly #call: GrpcCall
  readonly #stream: WatcherStream

  /** Serves the call by the stream that `open` opens. The caller hands over the messages. */
  constructor(call: GrpcCall, open: OpenWatch) {
    // The client may want to know that its stream is there before it asks for anything.
    call.start()
    this.#call = call
    const room = call.shareOfWatchers()
    this.#stream = open(connectionOf(call), { requiresLeader: requiresLeader(call), room })
    call.waitingElsewhere = () => this.#stream.heldBytes
    call.onDrain(() => this.#stream.resume())
    call.onClose(() => this.#stream.close())
  }

  take(message: Message): void {
    try {
      const { request } = watchRequestCodec.decode(uncompressed(message))
      if (request === undefined) return
      this.#stream.handle(request)
      if (!this.#stream.takesRequests) this.#call.hold()
    } catch (error) {
      this.#stream.end(malformed(error))
    }
  }
}

/** Serves a watch call by the stream that `open` opens. */
export function serveWatch(call: GrpcCall, open: OpenWatch): void {
  const served = new WatchCall(call, open)
  call.read({
    message: message => served.take(message),
    // A client that has nothing more to ask still wants to hear.
    ended(isCutOff) {
      if (isCutOff) call.finish(cutOff)
    },
  })
}

/** The client wants its stream to end when the member has lost the leader. */
function requiresLeader(call: GrpcCall): boolean {
  return call.metadata('hasleader')?.split(',').includes('true') === true
}

function connectionOf(call: GrpcCall): WatchConnection {
  return {
    send: response => send(call, response),
    sendPart: part => sendPart(call, part),
    sendFirst: response => void send(call, response),
    readOn: () => call.goOn(),
    end: (failure: CacheError) => call.finish(statusOf(failure)),
  }
}

/** Sends a response. False when too much waits for the client: its stream drains some time. */
function send(call: GrpcCall, response: WatchResponseMessage): boolean {
  call.write(...piecesOf(response))
  return call.waitingBytes < waitingMaxBytes
}

/** Sends a part of a response, as `send`. The message begins with the length of all of it. */
function sendPart(call: GrpcCall, part: ResponsePart): boolean {
  const { response, eventBytes, isFirst } = part
  const head = new ProtoWriter()
  if (isFirst) writeHead(head, response, eventBytes)
  call.write(head.finish(), part.bytes())
  return call.waitingBytes < waitingMaxBytes
}

/** The message of a response in pieces, with its prefix: made once for all watchers that are
 *  sent the same. */
function piecesOf(response: WatchResponseMessage): readonly Buffer[] {
  const [first] = response.events
  if (!(first instanceof KeptEvent)) return encode(response)
  const kept = first.response
  if (kept !== undefined && isSame(kept.message, response)) return kept.pieces
  const pieces = encode(response)
  first.response = { message: response, pieces }
  return pieces
}

/** Whether two responses with events say the same: nothing but these fields differs between
 *  them. */
function isSame(some: WatchResponseMessage, other: WatchResponseMessage): boolean {
  return (
    some.header === other.header &&
    some.watchId === other.watchId &&
    some.fragment === other.fragment &&
    some.events.length === other.events.length &&
    some.events.every((event, i) => event === other.events[i])
  )
}

function encode(response: WatchResponseMessage): Buffer[] {
  const { events } = response
  const size = events.reduce((sum, event) => sum + fieldSize(event), headMaxBytes)
  if (size <= joinMaxBytes) {
    const writer = new ProtoWriter(size)
    for (let i = events.length - 1; i >= 0; i--) {
      const event = events[i]!
      if (event instanceof KeptEvent) event.write(writer)
      else writeField(writer, event)
    }
    writeHead(writer, response, writer.length)
    return [writer.finish()]
  }
  const body = events.map(event => (event instanceof KeptEvent ? event.bytes : fieldOf(event)))
  const head = new ProtoWriter()
  writeHead(
    head,
    response,
    body.reduce((sum, piece) => sum + piece.length, 0),
  )
  return [head.finish(), ...body]
}

/** Room for what is before the events, where nothing was refused. */
const headMaxBytes = 128

/** Writes all that is before the events of a response, which take so many bytes. */
function writeHead(writer: ProtoWriter, response: WatchResponseMessage, bodyBytes: number): void {
  const before = writer.length
  watchResponseCodec.write(writer, { ...response, header: undefined, events: noEvents })
  if (response.header !== undefined) writer.raw(headerField(response.header))
  writer.raw(messagePrefix(bodyBytes + writer.length - before))
}

/** The bytes of a header are made once for all who are told of a revision, one after the other. */
function headerField(header: HeaderMessage): Buffer {
  if (lastHeader?.header === header) return lastHeader.bytes
  const bytes = headerResponseCodec.encode({ header })
  lastHeader = { header, bytes }
  return bytes
}

let lastHeader: { readonly header: HeaderMessage; readonly bytes: Buffer } | undefined
const noEvents: WatchResponseMessage['events'] = []
