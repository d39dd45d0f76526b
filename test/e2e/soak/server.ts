/** A process of its own that serves a generated cluster out of an etcd in memory, and changes it
 *  when told to: `server.js PODS`. Told `start RATE`, `stop`; answers each. */

import { silentLogger } from '../../support/silent-logger.ts'
import { singleKey } from '../../../lib/base/keys.ts'
import { createRandom } from '../../../lib/base/random.ts'
import { KubeService } from '../../../lib/cli/compose/kube-service.ts'
import type { Operation } from '../../../lib/etcd/client.ts'
import { EngineClient } from '../../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../../lib/etcd-server/engine/scheduler.ts'
import { startChurn } from '../../../lib/simulator/generate/churn.ts'
import {
  GeneratedCluster,
  type GeneratedChange,
} from '../../../lib/simulator/generate/generated-cluster.ts'
import { parsePlan } from '../../../lib/simulator/generate/plan.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'

let changes = 0
let writing = Promise.resolve()
let stop = (): void => {}

const scheduler = createDirectScheduler()
const engine = new Engine({
  clock: systemClock,
  random: createRandom(1),
  scheduler,
  historyMaxBytes: 512 * 1024 * 1024,
})
const network = new DirectNetwork(scheduler)
const client = new EngineClient({ engine, network })
const cluster = new GeneratedCluster({
  plan: parsePlan(`pods=${process.argv[2]}`),
  random: createRandom(1),
  nowMs: Date.now(),
  prefix: '/registry',
})
for (const change of cluster.objects()) await write([change])
const service = await KubeService.start({
  etcd: { client: new EngineClient({ engine, network }), prefix: '/registry' },
  listening: { listen: { protocol: 'http', host: '127.0.0.1', port: 0 } },
  logger: silentLogger,
})
await service.ready

/** Changes that belong together; one key may change more than once, which etcd allows in no
 *  transaction. */
async function write(together: readonly GeneratedChange[]): Promise<void> {
  for (const change of together) {
    const operation: Operation =
      change.type === 'put'
        ? { type: 'put', key: change.key, value: change.value }
        : { type: 'delete', range: singleKey(change.key) }
    await client.txn({ compares: [], success: [operation], failure: [] })
    changes++
  }
}

process.on('message', (order: string) => {
  const [name, rate = ''] = order.split(' ')
  if (name === 'start') {
    changes = 0
    stop = startChurn({
      cluster,
      changesPerSecond: Number(rate),
      clock: systemClock,
      write: step => (writing = write(step.changes)),
      onFailure: failure => {
        throw failure
      },
    })
    process.send?.('started')
  } else {
    stop()
    void writing.then(() => process.send?.(changes))
  }
})
process.on('disconnect', () => process.exit(0))
process.send?.(service.port)
