/** The client's side of a connection that changes its protocol. Bytes go both ways unseen once the upstream has agreed; before that, and
 *  whatever else it says, the two connections have nothing to do with each other, and both end with the answer. */

import type { Duplex } from 'node:stream'
import type { Clock } from '../../base/clock.ts'
import { UpstreamFailure } from '../../upstream/failure.ts'
import type { ForwardRequest, Upstream } from '../../upstream/upstream.ts'
import type { RequestContext } from '../api/request-context.ts'
import type { Exchange } from '../server/exchange.ts'
import { slowReaderTimeoutMs } from '../server/respond.ts'
import { answerHeaders } from './forwarded-headers.ts'
import { Relay, type RelayHooks } from './relay.ts'

/** The protocols that an API server speaks. Others are not asked for, as if the client had not. */
const protocols: ReadonlySet<string> = new Set(['spdy/3.1', 'websocket'])

/** True if the client wants a protocol that is passed on. */
export function wantsTunnel({ takeover, headers }: Exchange): boolean {
  return takeover !== undefined && protocols.has((headers.upgrade ?? '').toLowerCase())
}

/** Asks the upstream for the protocol. Resolves when the connections have ended. */
export function passTunnel(
  context: RequestContext,
  { upstream, clock }: { readonly upstream: Upstream; readonly clock: Clock },
  { method, path, headers, as }: ForwardRequest,
): Promise<void> {
  const { exchange, reply } = context
  const protocol = exchange.headers.upgrade ?? ''
  const all = [...headers, 'Connection', 'Upgrade', 'Upgrade', protocol]
  return new Promise((resolve, reject) => {
    let ignoreClose = (): void => {}
    const relay = new TunnelRelay(context, clock, {
      started(code, answer) {
        if (code >= 300 && code < 400) {
          // Whoever follows would take the credentials along (CVE-2020-8559).
          throw new UpstreamFailure('broken', 'the upstream redirects a connection')
        }
        const passed = answerHeaders(code, answer, { method, canHaveTrailers: false })
        exchange.respond(code, { ...reply.passed(code, passed), connection: 'close' })
      },
      over: failure => {
        ignoreClose()
        if (failure === undefined) resolve()
        else reject(failure)
      },
    })
    const tunnel = upstream.tunnel({ method, path, headers: all, as }, relay)
    relay.control = tunnel
    ignoreClose = exchange.onClose(() => {
      tunnel.abort()
      relay.over(undefined)
    })
  })
}

/** What becomes of the request for another protocol: a refusal is passed on as any answer is. */
class TunnelRelay extends Relay {
  readonly #context: RequestContext
  readonly #clock: Clock

  constructor(context: RequestContext, clock: Clock, hooks: RelayHooks) {
    super(context.exchange, clock, hooks)
    this.#context = context
    this.#clock = clock
  }

  switched(head: string, socket: Duplex): void {
    this.guarded(() => {
      const { exchange, reply } = this.#context
      const { takeover } = exchange
      if (takeover === undefined) throw new TypeError('there is no connection to hand over')
      reply.passed(101, {})
      const early = takeover.take()
      const origin = reply.origin === undefined ? '' : `X-Watchglass: ${reply.origin}\r\n`
      join([takeover.socket, socket], this.#clock, () => this.over(undefined))
      takeover.socket.write(`${head}\r\n${origin}\r\n`, 'latin1')
      if (early.length > 0) socket.write(early)
    })
  }
}

/** Bytes both ways. An end on one side is an end on the other; a failure ends both, and so does a side that takes nothing of what waits for
 *  it. A tunnel that is idle may be so for hours. */
function join(
  ends: readonly [client: Duplex, upstream: Duplex],
  clock: Clock,
  onOver: () => void,
): void {
  const [client, upstream] = ends
  const over = (): void => {
    client.destroy()
    upstream.destroy()
    onOver()
  }
  for (const socket of ends) {
    socket.on('error', over)
    socket.on('close', over)
  }
  pump(client, upstream, { clock, onStalled: over })
  pump(upstream, client, { clock, onStalled: over })
}

interface Pumping {
  readonly clock: Clock
  readonly onStalled: () => void
}

function pump(from: Duplex, to: Duplex, { clock, onStalled }: Pumping): void {
  from.on('data', (piece: Buffer) => {
    if (to.write(piece)) return
    from.pause()
    const cancel = clock.setTimer(slowReaderTimeoutMs, onStalled)
    to.once('drain', () => {
      cancel()
      from.resume()
    })
    to.once('close', cancel)
  })
  from.on('end', () => to.end())
  from.resume()
}
