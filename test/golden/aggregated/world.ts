/** A sidecar before a stand-in for the recorded server, over an embedded etcd that is written to as
 *  the recording says. */

import type { Test } from 'tap'
import { createRandom } from '../../../lib/base/random.ts'
import { serviceOptions } from '../../support/http/service-options.ts'
import { KubeService } from '../../../lib/cli/compose/kube-service.ts'
import { EngineClient } from '../../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import { defaultLimits } from '../../../lib/cache/mirror/limits.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { BalancedUpstream } from '../../../lib/proxy/upstream/balanced-upstream.ts'
import { defaultUpstreamTimeouts, UpstreamServer } from '../../../lib/proxy/upstream/server.ts'
import { type WardleOptions, WardleServer } from '../../support/aggregated/wardle-server.ts'
import type { Served } from '../../support/http/served.ts'
import { silentLogger } from '../../support/silent-logger.ts'
import type { Exchange, RecordedResponse, RecordedWatch } from '../load.ts'
import { type Recording, RecordedWriter } from './recording.ts'
import { moment } from '../../support/http/moment.ts'
import { patient } from '../../support/patience.ts'

export interface World {
  readonly service: KubeService
  readonly server: WardleServer
  readonly writer: RecordedWriter
  readonly clock: Served['clock']
  readonly client: EngineClient
}

/** Starts both; they end with the test. */
export async function startWorld(
  t: Test,
  recording: Recording,
  options: Pick<WardleOptions, 'prefix' | 'hasWatchCache' | 'before'> & {
    readonly hasShards?: boolean
  },
): Promise<World> {
  const scheduler = createDirectScheduler()
  const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler })
  const network = new DirectNetwork(scheduler)
  const client = new EngineClient({ engine, network })
  const byId = new Map<string, RecordedResponse>()
  for (const { id, response } of [...recording.exchanges, ...recording.watches.map(asExchange)]) {
    byId.set(id, response)
  }
  const server = new WardleServer({
    client,
    prefix: options.prefix,
    document: documentsIn(recording.exchanges),
    recorded: id => byId.get(id),
    hasWatchCache: options.hasWatchCache,
    before: options.before,
  })
  await server.listen()
  const clock: Served['clock'] = {
    ...systemClock,
    stoppedAtMs: undefined,
    wallMs: () => clock.stoppedAtMs ?? systemClock.wallMs(),
  }
  const timeouts = defaultUpstreamTimeouts
  const url = new URL(server.url)
  const service = await KubeService.start(
    serviceOptions({
      client: new EngineClient({ engine, network }),
      clock,
      // A revision that never comes is waited for: not as long as in earnest.
      limits: { ...defaultLimits, readWaitMaxMs: patient(100) },
      hasShards: options.hasShards,
      upstream: {
        // What is asked for here would be compared over minutes otherwise.
        evidencePace: { perSecond: 1_000, bytesPerSecond: 2 ** 30 },
        servers: new BalancedUpstream({
          servers: [new UpstreamServer({ url, timeouts })],
          timeouts,
          clock: systemClock,
          logger: silentLogger,
        }),
      },
    }),
  )
  t.teardown(async () => {
    await service.stop()
    await server.close()
    engine.close()
  })
  const writer = new RecordedWriter(client, recording.history)
  return { service, server, writer, clock, client }
}

/** Those who may read everything. */
const readers = new Set(['front-admin', 'anonymous'])

/** The documents of the server about itself, as it was recorded for whoever may read everything. */
export function documentsIn(
  exchanges: readonly Exchange[],
): (path: string, accept: string) => RecordedResponse | undefined {
  const areas = new Set(['discovery', 'openapi', 'version', 'health'])
  const documents = new Map<string, RecordedResponse>()
  for (const { area, user, request, response } of exchanges) {
    const isPlain = request.method === 'GET' && request.headers['If-None-Match'] === undefined
    if (!areas.has(area) || !readers.has(user) || !isPlain) continue
    documents.set(`${request.path} ${String(request.headers['Accept'] ?? '')}`, response)
  }
  return (path, accept) => documents.get(`${path} ${accept}`)
}

/** The frames of a watch as one body. */
function asExchange({ id, response, frames }: RecordedWatch): {
  id: string
  response: RecordedResponse
} {
  const bytes = frames.map(({ raw, raw_base64: base64 }) =>
    base64 === undefined ? Buffer.from(raw ?? '') : Buffer.from(base64, 'base64'),
  )
  const body = Buffer.concat(bytes).toString('base64')
  const isStream = response.status === 200 && response.body === undefined
  return { id, response: isStream ? { ...response, body_base64: body } : response }
}

/** Resolves when the stored version of both resources is answered here. */
export async function learnt({ service }: World, names: readonly string[]): Promise<void> {
  for (const name of names) {
    for (;;) {
      const { registry } = service.registry.state
      const found = registry.find('wardle.example.com', 'v1alpha1', name)
      if (found !== undefined && service.knowledge?.objection(found) === undefined) break
      await moment()
    }
  }
}
