/** The connections that carry SPDY: one that was upgraded to it, or the messages of a WebSocket. */

import type { HttpRequest } from '@watchglass/cache'
import { type ClientEvents, ClientSide, type Upgraded } from './client-side.ts'
import type { StreamServices } from './stream-frames.ts'
import { acceptance, WebSocketServer } from './web-socket.ts'

/** Bytes to the client, in frames of SPDY. */
export interface Carrier {
  readonly client: ClientSide
  send(bytes: Buffer): void
  /** Ends the connection when all that was sent is written. */
  close(): void
}

/** The texts of a header that lists some. */
export function listedIn({ headers }: HttpRequest, name: string): readonly string[] {
  return String(headers[name] ?? '')
    .split(',')
    .map(one => one.trim())
}

/** The upgrade that is asked for, in lower case. */
export function upgradeOf({ headers }: HttpRequest): string {
  return (headers.upgrade ?? '').toLowerCase()
}

/** Agrees to a WebSocket. */
export function webSocketOf(request: HttpRequest, protocol: string): Upgraded {
  return upgraded(request, acceptance(String(request.headers['sec-websocket-key']), protocol))
}

/** Agrees to a WebSocket in whose messages SPDY is spoken. */
export function tunnelOf(
  agreed: Upgraded,
  services: StreamServices,
  { bytes, drained, over }: ClientEvents,
): Carrier {
  return new WebSocketServer(agreed, services, { message: bytes, drained, over })
}

/** Agrees to speak SPDY on the connection itself. */
export function spdyOf(request: HttpRequest, protocol: string): Upgraded {
  const head = [
    'HTTP/1.1 101 Switching Protocols',
    'Connection: Upgrade',
    'Upgrade: SPDY/3.1',
    `X-Stream-Protocol-Version: ${protocol}`,
    '\r\n',
  ]
  return upgraded(request, head.join('\r\n'))
}

export function plainOf(agreed: Upgraded, { held }: StreamServices, events: ClientEvents): Carrier {
  const client = new ClientSide(agreed, held, events)
  return { client, send: bytes => client.write(bytes), close: () => client.end() }
}

function upgraded({ takeover }: HttpRequest, head: string): Upgraded {
  if (takeover === undefined) throw new TypeError('there is no connection to take over')
  return { socket: takeover.socket, head, early: takeover.take() }
}
