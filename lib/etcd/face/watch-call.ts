/** A watch stream over gRPC: its requests go to a `WatchStream`, whose responses are encoded and written as fast as the client reads. */

import type { CacheError } from '../../base/errors.ts'
import { type HeaderMessage, headerResponseCodec } from '../proto/kv-messages.ts'
import {
  type WatchResponseMessage,
  watchRequestCodec,
  watchResponseCodec,
} from '../proto/watch-messages.ts'
import { fieldOf, KeptEvent } from '../proto/kept-event.ts'
import type { WatchConnection } from '../watch/watch-source.ts'
import type { WatchStream } from '../watch/watch-stream.ts'
import type { GrpcCall } from './listen/grpc-call.ts'
import type { Message } from './listen/message-reader.ts'
import { malformed, statusOf, uncompressed } from './statuses.ts'

export type OpenWatch = (
  connection: WatchConnection,
  options: { requiresLeader: boolean },
) => WatchStream

/** A watch call that is served by a stream. */
export class WatchCall {
  readonly #stream: WatchStream

  /** Serves the call by the stream that `open` opens. The caller hands over the messages. */
  constructor(call: GrpcCall, open: OpenWatch) {
    // The client may want to know that its stream is there before it asks for anything.
    call.start()
    this.#stream = open(connectionOf(call), { requiresLeader: requiresLeader(call) })
    call.stream.on('drain', () => this.#stream.resume())
    call.onClose(() => this.#stream.close())
  }

  take(message: Message): void {
    try {
      const { request } = watchRequestCodec.decode(uncompressed(message))
      if (request !== undefined) this.#stream.handle(request)
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
    ended: () => undefined,
  })
}

/** The client wants its stream to end when the member has lost the leader. */
function requiresLeader(call: GrpcCall): boolean {
  return call.metadata('hasleader')?.split(',').includes('true') === true
}

function connectionOf(call: GrpcCall): WatchConnection {
  return {
    send: response => call.send(...piecesOf(response)),
    sendFirst: response => void call.send(...piecesOf(response)),
    end: (failure: CacheError) => call.finish(statusOf(failure)),
  }
}

/** The response in pieces: what it begins with, and its events, whose bytes are made once for all watchers. */
function piecesOf(response: WatchResponseMessage): Buffer[] {
  const { events, header } = response
  const pieces = [
    headerField(header),
    watchResponseCodec.encode({ ...response, header: undefined, events: noEvents }),
  ]
  for (const event of events) {
    pieces.push(event instanceof KeptEvent ? event.bytes : fieldOf(event))
  }
  return pieces
}

/** The bytes of a header are made once for all who are told of a revision. */
function headerField(header: HeaderMessage | undefined): Buffer {
  if (header === undefined) return noBytes
  const known = headerFields.get(header)
  if (known !== undefined) return known
  const bytes = headerResponseCodec.encode({ header })
  headerFields.set(header, bytes)
  return bytes
}

const headerFields = new WeakMap<HeaderMessage, Buffer>()
const noBytes = Buffer.alloc(0)
const noEvents: WatchResponseMessage['events'] = []
