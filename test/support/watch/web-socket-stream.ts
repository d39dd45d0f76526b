/** The WebSocket of a watch, on a connection whose client sends what the test says. */

import type { Clock } from '../../../lib/base/clock.ts'
import type { HttpRequest } from '../../../lib/cache/http/server/http-request.ts'
import { WebSocketStream } from '../../../lib/cache/http/server/web-socket/stream.ts'
import type { StreamWire } from '../http/stream-wire.ts'

/** The head that it begins with. */
export const webSocketHead = 'HTTP/1.1 101 Switching Protocols\r\n\r\n'

/** Takes the connection over; `early` came with the request. */
export function webSocketOn(
  wire: StreamWire,
  clock: Pick<Clock, 'setTimer'>,
  early: Buffer = Buffer.alloc(0),
): WebSocketStream {
  const takeover = {
    socket: wire,
    take: () => early,
    onFault: (error: unknown) => {
      throw error
    },
  }
  const request = {
    headers: {},
    takeover,
    abort: () => wire.destroy(),
    onClose: (task: () => void) => {
      wire.on('close', task)
      return () => wire.off('close', task)
    },
  } as unknown as HttpRequest
  return new WebSocketStream(request, webSocketHead, clock)
}
