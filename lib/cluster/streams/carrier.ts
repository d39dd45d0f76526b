/** The connections that carry SPDY: one that was upgraded to it, or the messages of a WebSocket. */

import type { Duplex } from 'node:stream'
import type { Exchange } from '../../http/server/exchange.ts'
import { acceptance, WebSocketServer } from './web-socket.ts'

/** Bytes for a slow client; beyond, whoever sends them is not read. */
const waitingMaxBytes = 1024 * 1024

/** Bytes to the client and back. */
export interface Carrier {
  send(bytes: Buffer): void
  /** The client reads slowly. */
  readonly isFull: boolean
  pause(): void
  resume(): void
  /** Ends the connection when all that was sent is written. */
  close(): void
  destroy(): void
}

export interface CarrierEvents {
  readonly bytes: (bytes: Buffer) => void
  readonly drained: () => void
  readonly over: () => void
}

/** The texts of a header that lists some. */
export function listedIn({ headers }: Exchange, name: string): readonly string[] {
  return String(headers[name] ?? '')
    .split(',')
    .map(one => one.trim())
}

/** The upgrade that is asked for, in lower case. */
export function upgradeOf({ headers }: Exchange): string {
  return (headers.upgrade ?? '').toLowerCase()
}

/** Agrees to a WebSocket in whose messages SPDY is spoken. */
export function tunnelOf(exchange: Exchange, protocol: string, events: CarrierEvents): Carrier {
  const { socket, early } = takenFrom(exchange)
  const key = String(exchange.headers['sec-websocket-key'])
  socket.write(acceptance(key, protocol), 'latin1')
  socket.on('drain', events.drained)
  const connection = new WebSocketServer(socket, early, {
    message: events.bytes,
    over: events.over,
  })
  return carrierOf(socket, {
    send: bytes => connection.send(bytes),
    close: () => connection.close(),
  })
}

/** Agrees to speak SPDY on the connection itself. */
export function plainOf(exchange: Exchange, protocol: string, events: CarrierEvents): Carrier {
  const { socket, early } = takenFrom(exchange)
  const head = [
    'HTTP/1.1 101 Switching Protocols',
    'Connection: Upgrade',
    'Upgrade: SPDY/3.1',
    `X-Stream-Protocol-Version: ${protocol}`,
    '\r\n',
  ]
  socket.write(head.join('\r\n'), 'latin1')
  socket.on('data', events.bytes)
  socket.on('drain', events.drained)
  socket.on('error', () => socket.destroy())
  socket.on('end', () => socket.destroy())
  socket.on('close', events.over)
  socket.resume()
  queueMicrotask(() => events.bytes(early))
  return carrierOf(socket, {
    send: bytes => socket.write(bytes),
    close: () => socket.end(),
  })
}

function takenFrom({ takeover }: Exchange): { readonly socket: Duplex; readonly early: Buffer } {
  if (takeover === undefined) throw new TypeError('there is no connection to take over')
  return { socket: takeover.socket, early: Buffer.from(takeover.take()) }
}

function carrierOf(socket: Duplex, does: Pick<Carrier, 'send' | 'close'>): Carrier {
  return {
    ...does,
    get isFull() {
      return socket.writableLength > waitingMaxBytes
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    destroy: () => socket.destroy(),
  }
}
