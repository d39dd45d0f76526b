/** How much one HTTP/2 connection may hold: little until its client is authenticated, and then as much as an aggregator needs. */

import type { Http2Session } from 'node:http2'

/** The streams that kube-apiserver allows. */
export const strangerStreams = 100
/** An aggregator sends all of its watches over one connection (kubernetes issue 60042). */
const acceptedStreams = 2_000
/** A stream's window: one round trip of 10 ms carries 100 MB/s. */
const streamWindowBytes = 1024 * 1024
const connectionWindowBytes = 16 * 1024 * 1024

const accepted = new WeakSet<Http2Session>()

/** The client is authenticated: the connection may carry more. */
export function acceptSession(session: Http2Session | undefined): void {
  if (session === undefined || accepted.has(session) || session.destroyed || session.closed) return
  accepted.add(session)
  session.settings({
    maxConcurrentStreams: acceptedStreams,
    initialWindowSize: streamWindowBytes,
  })
  session.setLocalWindowSize(connectionWindowBytes)
}

/** A request was answered with 401. If no client was ever authenticated on the connection, it takes no more requests, so that each
 *  guess of a credential needs a new connection; kube-apiserver does the same. */
export function refuseSession(session: Http2Session | undefined): void {
  if (session !== undefined && !accepted.has(session)) session.close()
}
