/** A process of its own with an etcd, the embedded one over gRPC, whose objects are all made, and
 *  all deleted in one transaction, when it is told to. */

import { keyFromText, prefixRange } from '../../lib/base/keys.ts'
import { createRandom } from '../../lib/base/random.ts'
import { NotExact } from '../../lib/base/not-exact.ts'
import { protobufFromJson } from '../../lib/codec/transcode/transcode.ts'
import { giveCollectorRoom } from '../../lib/cli/commands/collector.ts'
import { EngineClient } from '../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../lib/etcd-server/engine/scheduler.ts'
import { startEtcdServer } from '../../lib/etcd-server/server.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { answerOrders } from './child.ts'
import type { DeleteAllOrder, MakeOrder } from './orders.ts'
import { stampedPods } from './pods.ts'

giveCollectorRoom()
const scheduler = createDirectScheduler()
const engine = new Engine({
  clock: systemClock,
  random: createRandom(1),
  scheduler,
  historyMaxBytes: 256 * 1024 * 1024,
})
const client = new EngineClient({ engine, network: new DirectNetwork(scheduler) })
const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
const folder = '/registry/configmaps/'

async function put(key: string, value: Uint8Array): Promise<void> {
  const success = [{ type: 'put' as const, key: keyFromText(key), value }]
  await client.txn({ compares: [], success, failure: [] })
}

function configMap(number: number): Uint8Array {
  const name = `map-${String(number).padStart(6, '0')}`
  const metadata = {
    name,
    namespace: 'bench',
    uid: `5f0c1b9a-0000-4000-8000-${String(number).padStart(12, '0')}`,
    creationTimestamp: '2026-01-01T00:00:00Z',
  }
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { key: 'value' } }
  const stored = protobufFromJson(Buffer.from(JSON.stringify(object)))
  if (stored instanceof NotExact) throw new Error(stored.reason)
  // A copy: the writer's memory is used again.
  return Buffer.from(stored)
}

async function make({ objects }: MakeOrder): Promise<void> {
  const writes: Promise<void>[] = []
  for (let i = 0; i < objects; i++) {
    writes.push(put(`${folder}bench/map-${String(i).padStart(6, '0')}`, configMap(i)))
    if (i % 1_000 === 0) await Promise.all(writes.splice(0))
  }
  await Promise.all(writes)
}

async function deleteAll(): Promise<void> {
  const success = [{ type: 'delete' as const, range: prefixRange(keyFromText(folder)) }]
  await client.txn({ compares: [], success, failure: [] })
}

const [pod] = stampedPods(1)
await put(pod!.key, pod!.value(0))
answerOrders((order: MakeOrder | DeleteAllOrder) =>
  order.type === 'make' ? make(order) : deleteAll(),
)
process.send?.(`http://${server.address}`)
