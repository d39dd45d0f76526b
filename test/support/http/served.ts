/** A whole service in this process, on an embedded store that the test writes to, asked over a real
 *  socket. */

import { once } from 'node:events'
import * as http from 'node:http'
import * as http2 from 'node:http2'
import type { Test } from 'tap'
import type { Clock } from '../../../lib/base/clock.ts'
import { createRandom } from '../../../lib/base/random.ts'
import { KubeService } from '../../../lib/cli/compose/kube-service.ts'
import type { Client } from '../../../lib/etcd/client.ts'
import { EngineClient } from '../../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { moment } from './moment.ts'
import { serviceOptions, type TestOptions } from './service-options.ts'

export interface Served {
  readonly client: Client
  readonly service: KubeService
  /** The wall clock of the service stands still where the test says; it is the real one
   *  otherwise. */
  readonly clock: Clock & { stoppedAtMs: number | undefined }
}

/** Starts it; it ends with the test. */
export async function startServed(t: Test, options: TestOptions = {}): Promise<Served> {
  const scheduler = createDirectScheduler()
  const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler })
  const network = new DirectNetwork(scheduler)
  const client = new EngineClient({ engine, network })
  const clock: Served['clock'] = {
    ...systemClock,
    stoppedAtMs: undefined,
    wallMs: () => clock.stoppedAtMs ?? systemClock.wallMs(),
  }
  const own = { client: new EngineClient({ engine, network }), clock }
  const service = await KubeService.start(serviceOptions({ ...own, ...options }))
  t.teardown(async () => {
    await service.stop()
    engine.close()
  })
  return { client, service, clock }
}

/** Resolves when everything is mirrored up to a revision, and so are the keyspaces of all
 *  definitions. */
export async function caughtUp({ service }: Served, revision: number): Promise<void> {
  // It is there after a few turns, unless it comes from another process.
  for (let looks = 0; !service.isReady || service.revision < revision; looks++) {
    await (looks < 20 ? systemClock.yield() : moment())
  }
}

export interface SentRequest {
  readonly method?: string | undefined
  readonly path: string
  readonly headers?: http.OutgoingHttpHeaders | undefined
  readonly body?: string | Uint8Array | undefined
  /** Leaves once the answer has begun: for what may be a watch, which does not end by itself. */
  readonly leavesEarly?: boolean | undefined
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: Buffer
}

/** Connections that stay: one for each request costs as much as a quarter of the answers. */
const connections = new http.Agent({ keepAlive: true })

/** Sends one request over a connection of the agent. */
export function ask(
  port: number,
  request: SentRequest,
  agent: http.Agent = connections,
): Promise<HttpAnswer> {
  const { method = 'GET', path, headers = {}, body } = request
  return new Promise((resolve, reject) => {
    const sent = http.request(
      {
        host: '127.0.0.1',
        port,
        method,
        path,
        headers,
        agent,
        setHost: !Object.hasOwn(headers, 'Host'),
      },
      response => {
        const { statusCode = 0, headers: got } = response
        if (request.leavesEarly === true && statusCode === 200) {
          sent.destroy()
          resolve({ status: statusCode, headers: got, body: Buffer.alloc(0) })
          return
        }
        const pieces: Buffer[] = []
        response.on('data', (piece: Buffer) => pieces.push(piece))
        response.on('error', reject)
        response.on('end', () => {
          resolve({ status: statusCode, headers: got, body: Buffer.concat(pieces) })
        })
      },
    )
    sent.on('error', reject)
    sent.end(body)
  })
}

/** Sends one request over HTTP/2, on a connection of its own. */
export async function askOver2(port: number, request: SentRequest): Promise<HttpAnswer> {
  const { method = 'GET', path, headers = {}, body } = request
  const session = http2.connect(`http://127.0.0.1:${port}`)
  try {
    const stream = session.request({ ...over2(headers), ':method': method, ':path': path })
    stream.end(body)
    const [got] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders]
    const pieces: Buffer[] = []
    for await (const piece of stream as AsyncIterable<Buffer>) pieces.push(piece)
    const { ':status': status, ...rest } = got
    return { status: Number(status), headers: rest, body: Buffer.concat(pieces) }
  } finally {
    session.destroy()
  }
}

/** Headers without those of a connection, which HTTP/2 does not have. */
function over2(headers: http.OutgoingHttpHeaders): http.OutgoingHttpHeaders {
  const own: http.OutgoingHttpHeaders = {}
  for (const [name, value] of Object.entries(headers)) {
    if (/^(?:host|connection|keep-alive|transfer-encoding|upgrade)$/i.test(name)) continue
    // Of a name that may be there once, HTTP/1.1 takes the first.
    own[name] = Array.isArray(value) && /^user-agent$/i.test(name) ? value[0] : value
  }
  return own
}
