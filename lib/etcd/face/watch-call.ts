/** A watch stream over gRPC: its requests go to a `WatchStream`, whose responses are encoded and written as fast as the client reads. */

import type { CacheError } from '../../base/errors.ts'
import { sizeOfEvent } from '../engine/fragments.ts'
import type { WatchConnection, WatchStream } from '../engine/watch.ts'
import {
  type WatchResponseMessage,
  watchRequestCodec,
  watchResponseCodec,
} from '../proto/watch-messages.ts'
import type { GrpcCall } from './listen/grpc-call.ts'
import { malformed, statusOf, uncompressed } from './statuses.ts'

type Open = (connection: WatchConnection, options: { requiresLeader: boolean }) => WatchStream

/** Serves a watch call by the stream that `open` opens. */
export function serveWatch(call: GrpcCall, open: Open): void {
  // The client may want to know that its stream is there before it asks for anything.
  call.start()
  const stream = open(connectionOf(call), { requiresLeader: requiresLeader(call) })
  call.stream.on('drain', () => stream.resume())
  call.read({
    message(message) {
      try {
        const { request } = watchRequestCodec.decode(uncompressed(message))
        if (request !== undefined) stream.handle(request)
      } catch (error) {
        stream.end(malformed(error))
      }
    },
    // A client that has nothing more to ask still wants to hear.
    ended: () => undefined,
  })
  call.onClose(() => stream.close())
}

/** The client wants its stream to end when the member has lost the leader. */
export function requiresLeader(call: GrpcCall): boolean {
  return call.metadata('hasleader')?.split(',').includes('true') === true
}

function connectionOf(call: GrpcCall): WatchConnection {
  return {
    send: response => call.send(encodeWatchResponse(response)),
    sendFirst: response => void call.send(encodeWatchResponse(response)),
    end: (failure: CacheError) => call.finish(statusOf(failure)),
  }
}

function encodeWatchResponse(response: WatchResponseMessage): Buffer {
  const bytes = response.events.reduce((sum, event) => sum + sizeOfEvent(event), 64)
  return watchResponseCodec.encode(response, bytes)
}
