/** Passes a call to etcd and its answer back: headers, messages and trailers as they are, in
 *  both directions, as fast as each side reads. Nothing is repeated: a call may have changed
 *  something. */

import { constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2'
import { CacheError } from '@watchglass/base'
import type { ResponseHeaders } from '@watchglass/cache'
import { asSent, grpcStatus, type Message, MessageReader, ofConnection } from '@watchglass/etcd'
import type { EtcdSessions, SessionKind } from './etcd-sessions.ts'
import type { GrpcCall } from '../listen/grpc-call.ts'

/** Looks at an answer that passes. */
export interface PassObserver {
  /** The first bytes of the answer's messages. */
  answered?(bytes: Buffer): void
  /** All bytes of the answer's messages, in order. */
  passed?(bytes: Buffer): void
  /** etcd has ended the call with this status. */
  finished?(code: number): void
}

/** Calls that stay open. */
const streamPaths = new Set([
  '/etcdserverpb.Watch/Watch',
  '/etcdserverpb.Lease/LeaseKeepAlive',
  '/etcdserverpb.Maintenance/Snapshot',
  '/v3electionpb.Election/Observe',
])

export function kindOf(path: string): SessionKind {
  return streamPaths.has(path) ? 'streams' : 'calls'
}

/** Whether a call is known to be of one message each way. */
function isUnary(path: string): boolean {
  return /^\/(?:etcdserverpb|v3lockpb|v3electionpb)\./.test(path) && !streamPaths.has(path)
}

/** Passes a call. `head` is what has been taken of the client's bytes already. */
export function passCall(
  sessions: EtcdSessions,
  call: GrpcCall,
  head: Buffer,
  observer: PassObserver = {},
): void {
  call.hold()
  withStream(sessions, call, there => {
    sendThere(call, there, head)
    sendBack(call, there, { observer, forward: chunk => call.write(chunk) })
  })
}

/** Decides whether a message goes on. It ends the call by itself if it must. */
export type MessageGate = (message: Message) => Promise<boolean>

/** Passes a call of small messages, each of which `gate` lets through or not, one after the
 *  other. What comes back is written message by message, so that others can be sent between. */
export function passThroughGate(sessions: EtcdSessions, call: GrpcCall, gate: MessageGate): void {
  withStream(sessions, call, there => {
    const mayGoOn = (): void => {
      if (!there.writableNeedDrain) call.goOn()
    }
    call.read({
      message: message => {
        call.hold()
        void gate(message).then(isPassed => {
          if (isPassed && !there.closed) there.write(asSent(message))
          mayGoOn()
        })
      },
      ended: () => there.end(),
    })
    call.waitingToGo = () => there.writableLength
    there.on('drain', mayGoOn)
    endWith(call, there)
    const reader = new MessageReader(answerMaxBytes)
    sendBack(call, there, { observer: {}, forward: chunk => writeWhole(call, reader, chunk) })
  })
}

/** Far above what such an answer takes. */
const answerMaxBytes = 64 * 1024

/** Writes the messages that are whole with this chunk. */
function writeWhole(call: GrpcCall, reader: MessageReader, chunk: Buffer): boolean {
  reader.push(chunk)
  let mayGoOn = true
  for (let next = reader.next(); next !== undefined; next = reader.next()) {
    if (typeof next === 'number') {
      call.finish(unreachable(`etcd has answered with a message of ${next} bytes`))
      break
    }
    mayGoOn = call.write(asSent(next))
  }
  reader.settle()
  return mayGoOn
}

/** Calls `task` with a stream to etcd, as soon as there is a connection. */
function withStream(
  sessions: EtcdSessions,
  call: GrpcCall,
  task: (there: ClientHttp2Stream) => void,
): void {
  call.source = 'etcd'
  const begin = (session: ClientHttp2Session): void => {
    const there = call.isOver ? undefined : request(session, call)
    if (there !== undefined) task(there)
  }
  const kind = kindOf(call.path)
  const ready = sessions.ready(kind)
  if (ready !== undefined) {
    begin(ready)
    return
  }
  sessions
    .connect(kind)
    .then(begin, (error: unknown) =>
      call.finish(unreachable(CacheError.from(error, 'source_failed').message)),
    )
}

/** A stream for the call, which ends if there is none: etcd may have said that it ends the
 *  connection as soon as there was one. */
function request(session: ClientHttp2Session, call: GrpcCall): ClientHttp2Stream | undefined {
  try {
    return session.request(requestHeaders(call), { endStream: false })
  } catch (error) {
    call.finish(unreachable(CacheError.from(error, 'source_failed').message))
    return undefined
  }
}

function endWith(call: GrpcCall, there: ClientHttp2Stream): void {
  call.onClose(() => {
    if (!there.closed) there.close(constants.NGHTTP2_CANCEL)
  })
}

function sendThere(call: GrpcCall, there: ClientHttp2Stream, head: Buffer): void {
  const begun = Buffer.concat([head, call.detach()])
  call.waitingToGo = () => there.writableLength
  // etcd keeps a message that is not whole, and its stream.
  if (isUnary(call.path) && !call.hasEnded) call.expectOne()
  if (begun.length > 0) there.write(begun)
  there.on('drain', () => call.resume())
  call.readBytes(
    chunk => {
      if (!there.write(chunk)) call.pause()
    },
    () => {
      call.hasCome()
      there.end()
    },
  )
  endWith(call, there)
}

interface WayBack {
  readonly observer: PassObserver
  /** Writes bytes of the answer. False when the client should read first. */
  readonly forward: (chunk: Buffer) => boolean
}

function sendBack(call: GrpcCall, there: ClientHttp2Stream, way: WayBack): void {
  const { observer, forward } = way
  let trailers: IncomingHttpHeaders | undefined
  let isFirst = true
  let reason = 'the connection was lost'
  call.waitingElsewhere = () => there.readableLength
  there.on('response', (headers, flags) => {
    if (headers[':status'] !== 200) {
      reason = `HTTP status ${headers[':status']}`
      there.close(constants.NGHTTP2_CANCEL)
    } else if ((flags & constants.NGHTTP2_FLAG_END_STREAM) === 0) {
      call.start(passedHeaders(headers))
    } else {
      // There is no message: the headers are the trailers.
      trailers = headers
    }
  })
  there.on('data', (chunk: Buffer) => {
    if (isFirst) observer.answered?.(chunk)
    isFirst = false
    observer.passed?.(chunk)
    if (!forward(chunk)) there.pause()
  })
  call.onDrain(() => there.resume())
  there.on('trailers', given => {
    trailers = given
  })
  there.on('error', error => {
    reason = error.message
  })
  there.once('end', () => {
    if (trailers?.['grpc-status'] === undefined) return
    observer.finished?.(Number(trailers['grpc-status']))
    call.finishWith(passedHeaders(trailers))
  })
  there.once('close', () => call.finish(unreachable(`etcd has not answered: ${reason}`)))
}

function unreachable(details: string): { code: number; details: string } {
  return { code: grpcStatus.unavailable, details }
}

/** The client's headers. Which member answers is not for the client to say. */
function requestHeaders({ headers, path }: GrpcCall): OutgoingHttpHeaders {
  return { ...passedHeaders(headers), ':method': 'POST', ':path': path, te: 'trailers' }
}

/** Headers of a connection, which each of the two has for itself. */
const ofOneSide: ReadonlySet<string> = new Set([...ofConnection, 'host', 'http2-settings', 'te'])

/** Headers without those of HTTP itself. */
function passedHeaders(headers: IncomingHttpHeaders): ResponseHeaders {
  const passed: Record<string, string | readonly string[]> = {}
  for (const [name, value] of Object.entries(headers)) {
    const isPassed = !name.startsWith(':') && !ofOneSide.has(name)
    if (isPassed && value !== undefined) passed[name] = value
  }
  return passed
}
