/** Passes a call to etcd and its answer back: headers, messages and trailers as they are, in
 *  both directions, as fast as each side reads. Nothing is repeated: a call may have changed
 *  something. */

import { constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http2'
import { CacheError } from '../../base/errors.ts'
import { grpcStatus } from '../../etcd/proto/failures.ts'
import type { EtcdSessions, SessionKind } from './etcd-sessions.ts'
import type { GrpcCall } from '../listen/grpc-call.ts'

/** Looks at an answer that passes. */
export interface PassObserver {
  /** The first bytes of the answer's messages. */
  answered?(bytes: Buffer): void
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

/** Passes a call. `head` is what has been taken of the client's bytes already. */
export function passCall(
  sessions: EtcdSessions,
  call: GrpcCall,
  head: Buffer,
  observer: PassObserver = {},
): void {
  call.source = 'etcd'
  call.hold()
  const kind = kindOf(call.path)
  const ready = sessions.ready(kind)
  if (ready !== undefined) {
    relay(ready, call, head, observer)
    return
  }
  sessions.connect(kind).then(
    session => relay(session, call, head, observer),
    (error: unknown) => call.finish(unreachable(CacheError.from(error, 'source_failed').message)),
  )
}

function relay(
  session: ClientHttp2Session,
  call: GrpcCall,
  head: Buffer,
  observer: PassObserver,
): void {
  if (call.isOver) return
  const there = session.request(requestHeaders(call), { endStream: false })
  sendThere(call, there, head)
  sendBack(call, there, observer)
}

function sendThere(call: GrpcCall, there: ClientHttp2Stream, head: Buffer): void {
  const { stream } = call
  const begun = Buffer.concat([head, call.detach()])
  if (begun.length > 0) there.write(begun)
  stream.on('data', (chunk: Buffer) => {
    if (!there.write(chunk)) call.pause()
  })
  there.on('drain', () => call.resume())
  if (stream.readableEnded) there.end()
  else stream.once('end', () => there.end())
  stream.resume()
  call.onClose(() => {
    if (!there.closed) there.close(constants.NGHTTP2_CANCEL)
  })
}

function sendBack(call: GrpcCall, there: ClientHttp2Stream, observer: PassObserver): void {
  let trailers: IncomingHttpHeaders | undefined
  let isFirst = true
  let reason = 'the connection was lost'
  call.waitingElsewhere = () => there.readableLength
  there.on('response', (headers, flags) => {
    if (headers[':status'] !== 200) {
      reason = `HTTP status ${headers[':status']}`
      there.close(constants.NGHTTP2_CANCEL)
    } else if ((flags & constants.NGHTTP2_FLAG_END_STREAM) === 0) {
      call.start(withoutPseudo(headers, { ':status': 200 }))
    } else {
      // There is no message: the headers are the trailers.
      trailers = headers
    }
  })
  there.on('data', (chunk: Buffer) => {
    if (isFirst) observer.answered?.(chunk)
    isFirst = false
    if (!call.write(chunk)) there.pause()
  })
  call.stream.on('drain', () => there.resume())
  there.on('trailers', given => {
    trailers = given
  })
  there.on('error', error => {
    reason = error.message
  })
  there.once('end', () => {
    if (trailers?.['grpc-status'] === undefined) return
    observer.finished?.(Number(trailers['grpc-status']))
    call.finishWith(withoutPseudo(trailers, {}))
  })
  there.once('close', () => call.finish(unreachable(`etcd has not answered: ${reason}`)))
}

function unreachable(details: string): { code: number; details: string } {
  return { code: grpcStatus.unavailable, details }
}

/** The client's headers. Which member answers is not for the client to say. */
function requestHeaders({ headers, path }: GrpcCall): OutgoingHttpHeaders {
  return withoutPseudo(headers, { ':method': 'POST', ':path': path })
}

/** Headers without those of HTTP itself. */
function withoutPseudo(
  headers: IncomingHttpHeaders,
  others: OutgoingHttpHeaders,
): OutgoingHttpHeaders {
  const kept: OutgoingHttpHeaders = others
  for (const [name, value] of Object.entries(headers)) {
    if (!name.startsWith(':') && name !== 'host' && value !== undefined) kept[name] = value
  }
  return kept
}
