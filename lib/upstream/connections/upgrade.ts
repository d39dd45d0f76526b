/** Connections that change their protocol: exec, attach, port-forward, over SPDY/3.1 or WebSocket. Each has a connection of its own to the
 *  upstream, which nothing else ever uses, before or after, and which ends with anything but a 101: what a failed upgrade leaves behind
 *  must not become a tunnel into the upstream (CVE-2018-1002105). */

import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import type { Duplex } from 'node:stream'
import { upstreamFailure } from '../failure.ts'
import type { UpstreamServer } from '../server.ts'

/** As `UpstreamIdentity`. */
type TunnelIdentity = 'caller' | 'ourselves' | 'front-proxy'

/** A request that asks for another protocol. */
export interface TunnelRequest {
  readonly method: string
  readonly path: string
  /** Names and values in turn, with `connection` and `upgrade`. */
  readonly headers: readonly string[]
  readonly as: TunnelIdentity
}

/** What becomes of it: one call of one of these. */
export interface TunnelSink {
  /** 101: from now on bytes mean what the new protocol says. */
  switched(answer: IncomingMessage, socket: Duplex): void
  /** Anything else. The connection ends with the answer's body. */
  refused(answer: IncomingMessage): void
  failed(failure: Error): void
}

export interface TunnelHooks {
  readonly sink: TunnelSink
  /** The connection is over. Once. */
  readonly onEnd: () => void
  readonly onUnreachable: (error: Error) => void
}

/** Asks a server for another protocol, on a fresh connection. */
export function openTunnel(
  server: UpstreamServer,
  { method, path, headers, as }: TunnelRequest,
  { sink, onEnd, onUnreachable }: TunnelHooks,
): { abort(): void } {
  const request = server.request(as, {
    method,
    path,
    headers: [...headers, 'Host', server.url.host] as unknown as OutgoingHttpHeaders,
  })
  let isConnected = false
  let isAnswered = false
  let isOver = false
  const over = (): void => {
    if (!isOver) onEnd()
    isOver = true
  }
  const fail = (error: Error): void => {
    if (isAnswered) return
    isAnswered = true
    over()
    if (!isConnected) onUnreachable(error)
    sink.failed(upstreamFailure(error, isConnected))
  }
  request.once('socket', socket => {
    socket.once(server.url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
      isConnected = true
      request.setTimeout(0)
    })
  })
  request.once('timeout', () => request.destroy(new Error('no connection in time')))
  request.once('upgrade', (answer, socket, head) => {
    isAnswered = true
    socket.once('close', over)
    if (head.length > 0) socket.unshift(head)
    sink.switched(answer, socket)
  })
  request.once('response', answer => {
    isAnswered = true
    answer.once('close', over)
    sink.refused(answer)
  })
  request.on('error', fail)
  request.end()
  return { abort: () => void request.destroy() }
}
