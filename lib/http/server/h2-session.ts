/** How much one HTTP/2 connection may hold: little until its client is authenticated, and then as much as an aggregator needs. */

import { constants, type Http2Session, type ServerHttp2Stream } from 'node:http2'
import { isAccepted, noteAccepted } from './accepted.ts'

/** The streams that kube-apiserver allows. */
const strangerStreamsMax = 100
/** While more streams come than the event loop reads in a turn. Beyond them nghttp2 refuses, before Node makes any object; clients send such a
 *  request again (RFC 9113, 8.7). */
const crowdedStreams = 8

/** How many streams a connection may have until its client is authenticated. */
export function strangerStreams(isCrowded: boolean): number {
  return isCrowded ? crowdedStreams : strangerStreamsMax
}
/** An aggregator sends all of its watches over one connection (kubernetes issue 60042). */
const acceptedStreams = 2_000
/** A stream's window: one round trip of 10 ms carries 100 MB/s. */
const streamWindowBytes = 1024 * 1024
const connectionWindowBytes = 16 * 1024 * 1024

/** The client is authenticated: the connection may carry more. */
export function acceptSession(session: Http2Session | undefined): void {
  if (session === undefined || isAccepted(session) || session.destroyed || session.closed) return
  noteAccepted(session)
  session.settings({
    maxConcurrentStreams: acceptedStreams,
    initialWindowSize: streamWindowBytes,
  })
  session.setLocalWindowSize(connectionWindowBytes)
}

/** A request was answered with 401. If no client was ever authenticated on the connection, it takes no more requests, so that each
 *  guess of a credential needs a new connection; kube-apiserver does the same. */
export function refuseSession(session: Http2Session | undefined): void {
  if (session !== undefined && !isAccepted(session)) session.close()
}

/** A client that is not known may take back so many requests before it gets a response to one of them. */
const strangerResetsMax = 20

/** Closes a connection on which a stranger sends requests only to take them back (CVE-2023-44487): they never count as open streams, and a
 *  thousand of them fit into a packet. Of an authenticated client nghttp2 takes 1,000, and 33 more a second. */
export function limitResets(session: Http2Session): void {
  let last: ServerHttp2Stream | undefined
  let resets = 0
  session.on('stream', (stream: ServerHttp2Stream) => {
    if (last?.closed === true && !last.headersSent) resets++
    last = stream
    if (resets > strangerResetsMax && !isAccepted(session)) {
      session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
    }
  })
}
