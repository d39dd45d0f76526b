/** A separate process: an embedded etcd full of pods, which others can also connect to, and over
 *  it, in the same process, the API server of tests with TLS. It is the fastest possible upstream:
 *  it sends cached bytes from memory. */

import { silentLogger } from '../../test/support/silent-logger.ts'
import { createRandom } from '../../lib/base/random.ts'
import { EngineClient } from '../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../lib/etcd-server/engine/scheduler.ts'
import { startEtcdServer } from '../../lib/etcd-server/server.ts'
import { GeneratedCluster } from '../../lib/simulator/generate/generated-cluster.ts'
import { parsePlan } from '../../lib/simulator/generate/plan.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { TestUpstream, upstreamReady } from '../../test/support/upstream/upstream.ts'

/** The address of the upstream. */
export interface UpstreamReport {
  readonly url: string
  readonly etcd: string
}

async function start(pods: number): Promise<UpstreamReport> {
  const scheduler = createDirectScheduler()
  const engine = new Engine({ clock: systemClock, random: createRandom(1), scheduler })
  const client = new EngineClient({ engine, network: new DirectNetwork(scheduler) })
  const cluster = new GeneratedCluster({
    plan: parsePlan(`pods=${pods}`),
    random: createRandom(1),
    nowMs: Date.UTC(2026, 0, 1),
    prefix: '/registry',
  })
  for (const change of cluster.objects()) {
    if (change.type === 'put') await client.txn({ compares: [], success: [change], failure: [] })
  }
  const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
  const upstream = await TestUpstream.start({
    client,
    tls: true,
    service: { logger: silentLogger },
  })
  await upstreamReady(upstream)
  upstream.forgetSeen()
  return { url: upstream.url, etcd: `http://${server.address}` }
}

process.on('message', (pods: number) => {
  void start(pods).then(report => process.send?.(report))
})
process.on('disconnect', () => process.exit(0))
