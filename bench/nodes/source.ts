/** A process of its own with an etcd, the embedded one over gRPC, that holds the objects of a
 *  cluster of so many nodes and changes them when told to: `source.js NODES PODS`. */

import { keyFromText } from '../../lib/base/keys.ts'
import { createRandom } from '../../lib/base/random.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { giveCollectorRoom } from '../../lib/cli/commands/collector.ts'
import { EngineClient } from '../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../lib/etcd-server/engine/scheduler.ts'
import { startEtcdServer } from '../../lib/etcd-server/server.ts'
import { atRate } from '../watch/at-rate.ts'
import { answerOrders } from '../watch/child.ts'
import { nowMicroseconds } from '../watch/orders.ts'
import { stampedPods } from '../watch/pods.ts'
import { stampedSlices, quietObjects, leasesOf, type StampedObject } from './objects.ts'
import type { ChurnOrder, ChurnReport } from './orders.ts'

giveCollectorRoom()
const scheduler = createDirectScheduler()
const engine = new Engine({
  clock: systemClock,
  random: createRandom(1),
  scheduler,
  historyMaxBytes: 256 * 1024 * 1024,
})
const client = new EngineClient({ engine, network: new DirectNetwork(scheduler) })
const [nodes, podCount] = process.argv.slice(2).map(Number) as [number, number]
const pods = stampedPods(podCount, nodes)
const slices = stampedSlices()
const leases = leasesOf(nodes)
const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
for (const { key, value } of quietObjects(nodes)) await put(key, value)
await Promise.all([...pods, ...slices, ...leases].map(change))
answerOrders(churn)
process.send?.(`http://${server.address}`)

async function put(key: string, value: Uint8Array): Promise<void> {
  const success = [{ type: 'put' as const, key: keyFromText(key), value }]
  await client.txn({ compares: [], success, failure: [] })
}

function change(object: StampedObject): Promise<void> {
  return put(object.key, object.value(nowMicroseconds()))
}

async function churn(order: ChurnOrder): Promise<ChurnReport> {
  const writes: Promise<void>[] = []
  const changing = (objects: readonly StampedObject[], perSecond: number): Promise<number> =>
    atRate(perSecond, order.ms, index => {
      writes.push(change(objects[index % objects.length]!))
    })
  const [ofPods, ofSlices, ofLeases] = await Promise.all([
    changing(pods, order.podsPerSecond),
    changing(slices, order.slicesPerSecond),
    changing(leases, order.leasesPerSecond),
  ])
  await Promise.all(writes)
  return { pods: ofPods, slices: ofSlices, leases: ofLeases }
}
