/** What an HTTP/2 connection may hold: little as long as nobody knows who is at its other end, as much as an aggregator needs afterwards. */

import type { Http2Session } from 'node:http2'

/** As many as kube-apiserver allows. */
export const strangerStreams = 100
/** An aggregator sends all of its watches over one connection (kubernetes issue 60042). */
const acceptedStreams = 2_000
/** A stream's window: one round trip of 10 ms carries 100 MB/s. */
const streamWindowBytes = 1024 * 1024
const connectionWindowBytes = 16 * 1024 * 1024

const accepted = new WeakSet<Http2Session>()

/** The caller is known: the connection may carry more. */
export function acceptSession(session: Http2Session | undefined): void {
  if (session === undefined || accepted.has(session) || session.destroyed || session.closed) return
  accepted.add(session)
  session.settings({
    maxConcurrentStreams: acceptedStreams,
    initialWindowSize: streamWindowBytes,
  })
  session.setLocalWindowSize(connectionWindowBytes)
}

/** Somebody was told that they are not known. A connection on which nobody ever was takes no more requests, so that each guess costs a
 *  new one; kube-apiserver does the same. */
export function refuseSession(session: Http2Session | undefined): void {
  if (session !== undefined && !accepted.has(session)) session.close()
}
