/** A process of its own with an etcd, the embedded one over gRPC, that holds so many pods and
 *  changes them when told to: `source.js PODS`. */

import { keyFromText } from '../../lib/base/keys.ts'
import { createRandom } from '../../lib/base/random.ts'
import { EngineClient } from '../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../lib/etcd-server/engine/scheduler.ts'
import { startEtcdServer } from '../../lib/etcd-server/server.ts'
import { giveCollectorRoom } from '../../lib/cli/commands/collector.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { answerOrders } from './child.ts'
import { atRate } from './at-rate.ts'
import { type ChangeOrder, type ChangeReport, nowMicroseconds } from './orders.ts'
import { type StampedPod, stampedPods } from './pods.ts'

giveCollectorRoom()
const scheduler = createDirectScheduler()
const engine = new Engine({
  clock: systemClock,
  random: createRandom(1),
  scheduler,
  historyMaxBytes: 256 * 1024 * 1024,
})
const client = new EngineClient({ engine, network: new DirectNetwork(scheduler) })
const pods = stampedPods(Number(process.argv[2]))
const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
await Promise.all(pods.map(put))
answerOrders(change)
process.send?.(`http://${server.address}`)

async function put(pod: StampedPod): Promise<void> {
  const value = pod.value(nowMicroseconds())
  const success = [{ type: 'put' as const, key: keyFromText(pod.key), value }]
  await client.txn({ compares: [], success, failure: [] })
}

async function change(order: ChangeOrder): Promise<ChangeReport> {
  const writes: Promise<void>[] = []
  const changes = await atRate(order.perSecond, order.ms, index => {
    writes.push(put(pods[index % order.pods]!))
  })
  await Promise.all(writes)
  return { changes }
}
