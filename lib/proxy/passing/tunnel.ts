/** The client's side of an upgrade. After the upstream has agreed, bytes are copied both ways.
 *  Before that, or if it answers anything else, the two connections are not joined, and both end
 *  with the response. */

import type { Duplex } from 'node:stream'
import type { Clock } from '@watchglass/base'
import { UpstreamFailure } from '../upstream/failure.ts'
import type { ForwardRequest, Upstream } from '../upstream/upstream.ts'
import { type RequestContext, slowReaderTimeoutMs } from '@watchglass/cache'
import { answerHeaders } from './forwarded-headers.ts'
import { Relay, type RelayHooks } from './relay.ts'

/** The protocols that an API server upgrades to. A request for any other is treated as an ordinary
 *  request. */
const protocols: ReadonlySet<string> = new Set(['spdy/3.1', 'websocket'])

/** True for one of them. */
export function isTunnel(protocol: string | undefined): boolean {
  return protocols.has((protocol ?? '').toLowerCase())
}

export interface TunnelServices {
  readonly upstream: Upstream
  readonly clock: Clock
  /** Called when the answer begins; with 101 once the connection is another protocol's. */
  readonly onAnswered: (code: number) => void
}

interface TunnelHooks extends RelayHooks {
  readonly switched: () => void
}

/** Asks the upstream for the upgrade. Resolves when the connections have ended. */
export function passTunnel(
  context: RequestContext,
  { upstream, clock, onAnswered }: TunnelServices,
  { method, path, headers, as }: ForwardRequest,
): Promise<void> {
  const { request, reply } = context
  const protocol = request.headers.upgrade ?? ''
  return new Promise((resolve, reject) => {
    let ignoreClose = (): void => {}
    const relay = new TunnelRelay(context, clock, {
      started(code, answer) {
        if (code >= 300 && code < 400) {
          // A client that followed the redirect would send its credentials along (CVE-2020-8559).
          throw new UpstreamFailure('broken', 'the upstream answered an upgrade with a redirect')
        }
        const passed = answerHeaders(code, answer, { method, canHaveTrailers: false })
        onAnswered(code)
        request.respond(code, { ...reply.passed(code, passed), connection: 'close' })
      },
      switched: () => onAnswered(101),
      over: failure => {
        ignoreClose()
        if (failure === undefined) resolve()
        else reject(failure)
      },
    })
    const tunnel = upstream.tunnel({ method, path, headers, as, protocol }, relay)
    relay.control = tunnel
    ignoreClose = request.onClose(() => {
      tunnel.abort()
      relay.over(undefined)
    })
  })
}

/** Receives the upstream's answer to the upgrade. A refusal is passed on like any response. */
class TunnelRelay extends Relay {
  readonly #context: RequestContext
  readonly #clock: Clock
  readonly #switched: () => void

  constructor(context: RequestContext, clock: Clock, hooks: TunnelHooks) {
    super(context.request, clock, hooks)
    this.#context = context
    this.#clock = clock
    this.#switched = hooks.switched
  }

  switched(head: string, socket: Duplex): void {
    this.guarded(() => {
      const { request, reply } = this.#context
      const { takeover } = request
      if (takeover === undefined) throw new TypeError('there is no connection to hand over')
      reply.passed(101, {})
      this.#switched()
      const early = takeover.take()
      const origin = reply.origin === undefined ? '' : `X-Watchglass: ${reply.origin}\r\n`
      join([takeover.socket, socket], this.#clock, () => this.over(undefined))
      takeover.socket.write(`${head}\r\n${origin}\r\n`, 'latin1')
      if (early.length > 0) socket.write(early)
    })
  }
}

/** Copies bytes both ways. When one side ends, the other is ended. A failure closes both, and so
 *  does a side that does not read what waits for it. A tunnel may be idle for hours. */
export function join(
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
  let cancel = (): void => {}
  from.on('data', (piece: Buffer) => {
    if (to.write(piece)) return
    from.pause()
    cancel()
    cancel = clock.setTimer(slowReaderTimeoutMs, onStalled)
  })
  to.on('drain', () => {
    cancel()
    from.resume()
  })
  to.on('close', () => cancel())
  from.on('end', () => to.end())
  from.resume()
}
