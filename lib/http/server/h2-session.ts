/** Bounds of one HTTP/2 connection: little until its client is authenticated, and then as much as
 *  an aggregator needs (lib/http/server/stream-limits.ts has the number of streams). */

import { constants, type Http2Session, type ServerHttp2Stream } from 'node:http2'
import { isAccepted, noteAccepted } from './accepted.ts'

/** A stream's window: one round trip of 10 ms carries 100 MB/s. */
const streamWindowBytes = 1024 * 1024
const connectionWindowBytes = 16 * 1024 * 1024

/** The client is authenticated: the connection may carry more. */
export function acceptSession(session: Http2Session | undefined): void {
  if (session === undefined || isAccepted(session) || session.destroyed || session.closed) return
  noteAccepted(session)
  session.settings({ initialWindowSize: streamWindowBytes })
  session.setLocalWindowSize(connectionWindowBytes)
}

/** A request was answered with 401. If no client was ever authenticated on the connection, it takes
 *  no more requests, so that each guess of a credential needs a new connection; kube-apiserver does
 *  the same. */
export function refuseSession(session: Http2Session | undefined): void {
  if (session !== undefined && !isAccepted(session)) session.close()
}

/** A client that is not known may take back so many requests before it gets a response to one of
 *  them. */
const strangerResetsMax = 20

/** Closes a connection on which a stranger sends requests only to take them back (CVE-2023-44487):
 *  they never count as open streams, and a thousand of them fit into a packet. Of an authenticated
 *  client nghttp2 takes 1,000, and 33 more a second. Call what is returned with each stream. */
export function limitResets(session: Http2Session): (stream: ServerHttp2Stream) => void {
  let last: ServerHttp2Stream | undefined
  let resets = 0
  return stream => {
    if (last?.closed === true && !last.headersSent) resets++
    last = stream
    if (resets > strangerResetsMax && !isAccepted(session)) {
      session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM)
    }
  }
}
