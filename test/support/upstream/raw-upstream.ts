/** An upstream that is a script of bytes, and requests that pass to it over connections as they are
 *  in use. */

import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import * as net from 'node:net'
import type { Test } from 'tap'
import { Client } from 'undici'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import type { Clock } from '../../../lib/base/clock.ts'
import { ConnectionPool } from '../../../lib/proxy/upstream/connection-pool.ts'
import { UpstreamFailure } from '../../../lib/proxy/upstream/failure.ts'
import { Forwarding, type ForwardedRequest } from '../../../lib/proxy/upstream/forwarding.ts'
import type { UpstreamServer } from '../../../lib/proxy/upstream/server.ts'

/** The answers of the server to what has come on a connection so far. */
export type Script = (socket: net.Socket, text: string, connection: number) => void

/** The calls that the receiver of a response gets. */
export interface Told {
  code: number
  headers: IncomingHttpHeaders
  body: string
  trailers?: IncomingHttpHeaders
  /** Failure of the response. */
  failure?: string
}

export interface RawUpstream {
  readonly connections: ConnectionPool
  /** Number of connections that were opened. */
  readonly opened: () => number
  /** Passes a request. */
  readonly send: (request: Partial<ForwardedRequest>, onOver: (told: Told) => void) => Forwarding
  /** A request's answer, as text; or what went wrong. */
  readonly get: (path: string) => Promise<string>
}

export interface RawUpstreamOptions extends Client.Options {
  readonly connectionsMax?: number
  readonly perUserMax?: number
  readonly clock?: Clock
}

export async function startRawUpstream(
  t: Test,
  script: Script,
  options: RawUpstreamOptions = {},
): Promise<RawUpstream> {
  const { connectionsMax = 4, perUserMax = 64, clock = systemClock, ...more } = options
  let opened = 0
  const sockets = new Set<net.Socket>()
  const server = net.createServer(socket => {
    const connection = ++opened
    let text = ''
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', piece => {
      text += piece.toString('latin1')
      if (!text.includes('\r\n\r\n')) return
      script(socket, text, connection)
      text = ''
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as net.AddressInfo
  const connections = new ConnectionPool({
    createClient: () =>
      new Client(`http://127.0.0.1:${port}`, {
        headersTimeout: 5_000,
        bodyTimeout: 5_000,
        maxHeaderSize: 64 * 1024,
        ...more,
      }),
    connectionsMax,
    perUserMax,
    isReused: true,
  })
  t.teardown(() => {
    connections.close()
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const one = { load: 0, connections: () => connections } as unknown as UpstreamServer
  const send: RawUpstream['send'] = (request, onOver) => {
    const told: Told = { code: 0, headers: {}, body: '' }
    const plain = { method: 'GET', path: '/', headers: [], body: undefined, as: 'caller' } as const
    const forwarding = new Forwarding(
      { ...plain, ...request },
      {
        sink: {
          started: (code, headers) => void Object.assign(told, { code, headers }),
          data(piece) {
            told.body += Buffer.from(piece).toString('latin1')
            return true
          },
          ended: trailers => onOver({ ...told, trailers }),
          failed: failure => onOver({ ...told, failure: faultOf(failure) }),
        },
        use: 'short',
      },
      {
        clock,
        choose: () => one,
        areTried: () => true,
        unreachable() {},
        ended() {},
      },
    )
    forwarding.begin()
    return forwarding
  }
  const get = (path: string): Promise<string> =>
    new Promise(resolve => {
      send({ path }, ({ failure, body }) => resolve(failure ?? body))
    })
  return { connections, opened: () => opened, send, get }
}

function faultOf(failure: Error): string {
  return failure instanceof UpstreamFailure
    ? failure.fault
    : String((failure as { code?: string }).code)
}
