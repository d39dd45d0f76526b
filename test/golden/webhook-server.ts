/** A webhook that answers what was recorded, and notes what it received. */

import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { createAuthority } from '../../lib/simulator/authority/authority.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import type { AskedExchange } from './asked.ts'
import { convertedAt } from './conversion-webhook.ts'

export interface WebhookCall {
  readonly path: string
  readonly request: { readonly method: string; readonly body: string }
  readonly response?: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
    readonly delay_ms?: number
  } | null
  readonly dropped?: boolean
}

export interface HookedExchange extends AskedExchange {
  readonly webhook_calls?: readonly WebhookCall[]
}

export interface WebhookServer {
  /** HOST:PORT */
  readonly address: string
  /** The certificate of who signed its own: PEM. */
  readonly authority: string
  /** Answers with what was recorded, whatever the order. */
  expect(calls: readonly WebhookCall[]): void
  /** Bodies that came, by path and in their order. */
  readonly received: readonly { readonly path: string; readonly body: string }[]
}

export async function startWebhookServer(t: Test): Promise<WebhookServer> {
  const authority = createAuthority(systemClock.wallMs())
  const { cert, key } = authority.issue(['127.0.0.1'])
  let expected: WebhookCall[] = []
  let received: { path: string; body: string }[] = []
  const server = createServer({ cert, key }, (request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const body = Buffer.concat(pieces).toString()
      const path = request.url ?? ''
      received.push({ path, body })
      if (path.startsWith('/convert')) {
        const made = convertedAt(path, body)
        response.writeHead(made.status, { 'content-type': 'application/json' })
        response.end(made.body)
        return
      }
      const place = expected.findIndex(call => call.path === path)
      const call = place < 0 ? undefined : expected.splice(place, 1)[0]
      const answer = call?.response
      if (call?.dropped === true || answer === undefined || answer === null) {
        request.socket.destroy()
        return
      }
      const uid = /"uid":"([^"]+)"/.exec(body)?.[1] ?? ''
      const recorded = /"uid":"([^"]+)"/.exec(call?.request.body ?? '')?.[1] ?? 'none'
      // A hook that is too slow never answers.
      if ((answer.delay_ms ?? 0) > 0) return
      response.writeHead(answer.status, answer.headers)
      response.end(answer.body.replaceAll(recorded, uid))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    authority: authority.cert,
    expect(calls) {
      expected = [...calls]
      received = []
    },
    get received() {
      return received
    },
  }
}
