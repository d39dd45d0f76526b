/** Sends bodies with back-pressure: only what the socket buffers is in memory, and waiting for a
 *  client has a time limit. */

import { type CancelTimer, type Clock, Slice } from '@watchglass/base'
import type { HttpRequest, ResponseHeaders, ResponseStream } from './http-request.ts'

export interface Response {
  readonly status: number
  readonly headers: ResponseHeaders
}

/** The pieces of a body, made or received while it is sent. */
export type Pieces = Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** Ends of a response: whole, cut off by the client, or cut off by us because the client did not
 *  read. */
export type Outcome = 'sent' | 'left' | 'slow'

/** A client that reads nothing for this long is cut off. Even a phone on a bad line reads something
 *  in a minute. */
export const slowReaderTimeoutMs = 60_000

/** A client that reads what it has asked for takes something within this time, wherever it is. */
const stallMs = 100

/** A client that has not read a whole response after this long is cut off, however steadily it
 *  reads. kube-apiserver allows 60 s for a whole request; a list of a gigabyte over a line of 20
 *  Mbit/s takes 7 minutes. */
export const answerMaxMs = 600_000

/** A body up to this is sent in one piece, with its length, as Go's server does. */
const wholeMaxBytes = 2_048

/** Sends a body that is complete, in one or more pieces. Does not wait for the client. */
export function sendWhole(
  request: HttpRequest,
  { status, headers }: Response,
  ...body: readonly Uint8Array[]
): void {
  let bytes = 0
  for (const piece of body) bytes += piece.length
  request.respond(status, headers, bytes)
  if (request.method === 'HEAD') {
    request.end()
    return
  }
  request.sentBytes = bytes
  request.endWith(body)
}

/** Sends a body as its pieces are made. The pieces' iterator is closed when the client leaves, so
 *  that no more are made. */
export async function sendPieces(
  request: HttpRequest,
  { status, headers }: Response,
  pieces: Pieces,
  clock: Clock,
): Promise<Outcome> {
  const first: Uint8Array[] = []
  let bytes = 0
  let isStarted = false
  const endMs = clock.monotonicMs() + answerMaxMs
  const slice = new Slice(clock)
  for await (const piece of pieces) {
    bytes += piece.length
    if (!isStarted) {
      first.push(piece)
      if (bytes <= wholeMaxBytes) continue
      isStarted = true
      request.respond(status, headers)
    }
    if (request.isClosed) return 'left'
    request.sentBytes = bytes
    const isFull = first.length > 0 ? !writeFirst(request, first) : !request.write(piece)
    if (isFull) {
      const outcome = await writable(request, clock, endMs)
      if (outcome !== 'sent') return outcome
      // Many sockets may be drained at once: each goes on in its turn.
      await slice.next()
    } else if (slice.isOver) await slice.next()
  }
  if (isStarted) request.end()
  else sendWhole(request, { status, headers }, Buffer.concat(first))
  return 'sent'
}

/** Writes the pieces and empties the list: all but the last are small. The last one is not copied,
 *  which takes ten times as long for one in memory that threads share (Node 20). False if the
 *  request is full. */
function writeFirst(request: HttpRequest, pieces: Uint8Array[]): boolean {
  const last = pieces.pop()!
  const before = pieces.splice(0)
  if (before.length > 0) request.write(Buffer.concat(before))
  return request.write(last)
}

/** Waits until the request can be written to. A client that reads nothing in time, or not before
 *  `endMs`, is cut off. */
export function writable(
  request: ResponseStream,
  clock: Clock,
  endMs: number = Infinity,
): Promise<Outcome> {
  const startMs = clock.monotonicMs()
  const leftMs = Math.max(0, endMs - startMs)
  return new Promise(resolve => {
    let cancel: CancelTimer = () => {}
    let ignoreClose = (): void => {}
    const { stalled } = request
    const cancelStall = stalled && clock.setTimer(stallMs, stalled)
    let isSettled = false
    const settle = (outcome: Outcome): void => {
      if (isSettled) return
      isSettled = true
      request.socketMs = (request.socketMs ?? 0) + clock.monotonicMs() - startMs
      cancel()
      cancelStall?.()
      ignoreClose()
      resolve(outcome)
    }
    cancel = clock.setTimer(Math.min(slowReaderTimeoutMs, leftMs), () => {
      settle('slow')
      request.abort()
    })
    request.onDrain(() => settle('sent'))
    ignoreClose = request.onClose(() => settle('left'))
  })
}
