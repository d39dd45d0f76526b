/** Agrees to the WebSockets of watches, or refuses them, as kube-apiserver does: its handler of
 *  watches hands the connection to golang.org/x/net/websocket, which answers without any header of
 *  the API. */

import { STATUS_CODES } from 'node:http'
import type { Clock } from '@watchglass/base'
import {
  badRequest,
  type Handshake,
  type HandshakeRefusal,
  isWebSocket,
  readHandshake,
} from '@watchglass/kube'
import type { RequestContext } from '../request/request-context.ts'
import { partWith } from '../server/parting.ts'
import { acceptOf } from '../server/web-socket/messages.ts'
import { WebSocketStream } from '../server/web-socket/stream.ts'

type Timers = Pick<Clock, 'setTimer'>

/** The handshake of a watch; undefined if it is asked for over plain HTTP. */
export function handshakeOf({
  request: { takeover, headers, hasBody },
}: RequestContext): Handshake | HandshakeRefusal | undefined {
  if (takeover === undefined || !isWebSocket(headers)) return undefined
  if (hasBody) throw badRequest('a request that upgrades its connection must not have a body')
  return readHandshake(headers)
}

/** Begins the WebSocket. */
export function openWebSocket(
  { request, reply }: RequestContext,
  { key, protocol }: Handshake,
  clock: Timers,
): WebSocketStream {
  reply.switched()
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Accept: ${acceptOf(key)}`,
    ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
    ...(reply.origin === undefined ? [] : [`X-Watchglass: ${reply.origin}`]),
  ]
  return new WebSocketStream(request, `${lines.join('\r\n')}\r\n\r\n`, clock)
}

/** Answers a handshake that is none, and closes the connection. */
export function refuseHandshake(
  { request: { takeover }, reply }: RequestContext,
  { refusal, text, version }: HandshakeRefusal,
  clock: Timers,
): undefined {
  if (takeover === undefined) throw new TypeError('there is no connection to take over')
  reply.code = refusal
  const { socket } = takeover
  takeover.take()
  const versionLine = version === undefined ? '' : `Sec-WebSocket-Version: ${version}\r\n`
  socket.resume()
  socket.write(`HTTP/1.1 ${refusal} ${STATUS_CODES[refusal]}\r\n${versionLine}\r\n${text}`)
  partWith(socket, clock)
  return undefined
}
