/** The client's side of a connection that changes its protocol. Bytes go both ways unseen once the upstream has agreed; before that, and
 *  whatever else it says, the two connections have nothing to do with each other, and both end with the answer. */

import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Exchange } from '../server/exchange.ts'
import { answerHeaders } from './forwarded-headers.ts'
import type { RequestContext } from '../api/request-context.ts'
import { UpstreamFailure } from '../../upstream/failure.ts'
import type { ForwardRequest, Upstream } from '../../upstream/upstream.ts'

/** The protocols that an API server speaks. Others are not asked for, as if the client had not. */
const protocols: ReadonlySet<string> = new Set(['spdy/3.1', 'websocket'])

/** True if the client wants a protocol that is passed on. */
export function wantsTunnel({ takeover, headers }: Exchange): boolean {
  return takeover !== undefined && protocols.has((headers.upgrade ?? '').toLowerCase())
}

/** Asks the upstream for the protocol. Resolves when the connections have ended. */
export function passTunnel(
  { exchange, reply }: RequestContext,
  upstream: Upstream,
  { method, path, headers, as }: ForwardRequest,
): Promise<void> {
  const { takeover } = exchange
  if (takeover === undefined) throw new TypeError('there is no connection to hand over')
  const protocol = exchange.headers.upgrade ?? ''
  const all = [...headers, 'Connection', 'Upgrade', 'Upgrade', protocol]
  // Or else Node would send an empty body in chunks, whose end would be the first bytes in the tunnel.
  if (method !== 'GET') all.push('Content-Length', '0')
  return new Promise((resolve, reject) => {
    let ignoreClose = (): void => {}
    const tunnel = upstream.tunnel(
      { method, path, headers: all, as },
      {
        switched(answer, socket) {
          ignoreClose()
          reply.passed(101, {})
          join(takeover.socket, socket, headOf(answer, reply.origin), resolve)
          if (takeover.head.length > 0) socket.write(takeover.head)
        },
        refused(answer) {
          ignoreClose()
          const { statusCode: code = 502 } = answer
          if (code >= 300 && code < 400) {
            // Whoever follows would take the credentials along (CVE-2020-8559).
            answer.destroy()
            reject(new UpstreamFailure('broken', 'the upstream redirects a connection'))
            return
          }
          const passed = answerHeaders(code, method, answer.headers)
          exchange.respond(code, { ...reply.passed(code, passed), connection: 'close' })
          relay(answer, exchange, resolve)
        },
        failed(failure) {
          ignoreClose()
          reject(failure)
        },
      },
    )
    ignoreClose = exchange.onClose(() => {
      tunnel.abort()
      resolve()
    })
  })
}

/** The answer's head as the upstream wrote it. */
function headOf(
  { rawHeaders, statusMessage = '' }: IncomingMessage,
  origin: string | undefined,
): string {
  const lines = [`HTTP/1.1 101 ${statusMessage}`]
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    lines.push(`${rawHeaders[i] ?? ''}: ${rawHeaders[i + 1] ?? ''}`)
  }
  if (origin !== undefined) lines.push(`X-Watchglass: ${origin}`)
  return `${lines.join('\r\n')}\r\n\r\n`
}

/** Bytes both ways. An end on one side is an end on the other; a failure ends both. */
function join(client: Duplex, upstream: Duplex, head: string, onOver: () => void): void {
  const over = (): void => {
    client.destroy()
    upstream.destroy()
    onOver()
  }
  for (const socket of [client, upstream]) {
    socket.on('error', over)
    socket.on('close', over)
  }
  client.write(head, 'latin1')
  client.pipe(upstream)
  upstream.pipe(client)
}

/** The body of a refusal. */
function relay(answer: IncomingMessage, exchange: Exchange, onOver: () => void): void {
  let isWhole = false
  answer.on('data', (piece: Buffer) => {
    if (exchange.write(piece)) return
    answer.pause()
    exchange.onDrain(() => answer.resume())
  })
  answer.once('end', () => {
    isWhole = true
    exchange.end()
  })
  answer.once('close', () => {
    if (!isWhole) exchange.abort()
    onOver()
  })
  exchange.onClose(() => answer.destroy())
}
