/** Ends of connections over HTTP/1.1 whose client may still be sending. To close such a connection
 *  at once would reset it, and the client might lose its answer: so our side is closed first, and
 *  all of it a moment later (RFC 9112, 9.6). */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Clock } from '@watchglass/base'

type Timers = Pick<Clock, 'setTimer'>

/** As Go's server (`rstAvoidanceDelay`). */
const lingerMs = 500
/** The bytes of a body that are read once its request is answered, as Go's server does it
 *  (`maxPostHandlerReadBytes`). */
export const restMaxBytes: number = 256 * 1024
/** A client that takes longer may be holding the connection on purpose. */
const restMaxMs = 30_000

/** Closes our side of a connection now, and all of it soon. */
export function partWith(socket: Duplex, clock: Timers): void {
  socket.end()
  const cancel = clock.setTimer(lingerMs, () => socket.destroy())
  socket.once('close', cancel)
}

/** Once the response is sent, the rest of the body is read and thrown away: the next request comes
 *  behind it. A client that sends much more, or slowly, is cut off. */
export function passOver(body: IncomingMessage, response: ServerResponse, clock: Timers): void {
  // Before Node's own listener, which would read all of it, and close a last connection at once.
  response.prependOnceListener('finish', () => readRest(body, clock))
}

function readRest(body: IncomingMessage, clock: Timers): void {
  const { socket } = body
  let bytes = 0
  let isLast = false
  const cancel = clock.setTimer(restMaxMs, () => socket.destroy())
  const end = (): void => {
    isLast = true
    socket.end()
  }
  const done = (): void => {
    cancel()
    socket.off('close', done)
    Reflect.deleteProperty(socket, 'destroySoon')
    if (isLast) socket.destroySoon()
  }
  Object.assign(socket, { destroySoon: end })
  socket.once('close', done)
  body.removeAllListeners('readable')
  body.once('end', done)
  body.on('data', (piece: Buffer) => {
    bytes += piece.length
    if (bytes <= restMaxBytes) return
    body.pause()
    partWith(socket, clock)
  })
  // Node takes it for read from here on.
  body.read(0)
  body.resume()
}
