/** A process of its own with an etcd, the embedded one over gRPC, that holds so many generated pods
 *  and changes some of them when told to: `source.js PODS`. */

import { keyFromText, singleKey } from '../../lib/base/keys.ts'
import { NotExact } from '../../lib/base/not-exact.ts'
import { createRandom } from '../../lib/base/random.ts'
import { systemClock } from '../../lib/cache/ops/system.ts'
import { giveCollectorRoom } from '../../lib/cli/commands/collector.ts'
import { jsonFromProtobuf, protobufFromJson } from '../../lib/codec/transcode/transcode.ts'
import { EngineClient } from '../../lib/etcd-server/engine/client.ts'
import { Engine } from '../../lib/etcd-server/engine/engine.ts'
import { DirectNetwork } from '../../lib/etcd-server/engine/network.ts'
import { createDirectScheduler } from '../../lib/etcd-server/engine/scheduler.ts'
import { startEtcdServer } from '../../lib/etcd-server/server.ts'
import { GeneratedCluster } from '../../lib/simulator/generate/generated-cluster.ts'
import { parsePlan } from '../../lib/simulator/generate/plan.ts'
import { atRate } from '../watch/at-rate.ts'
import { answerOrders } from '../watch/child.ts'
import type { PodChangeOrder } from './orders.ts'

interface StoredPod {
  readonly key: string
  readonly value: Uint8Array
}

/** Pods that change, in turn: each restarts, and is as it was again the next time. */
const changedMax = 2_000
/** One of so many changes deletes a pod, or makes it again. */
const deletedEvery = 50

giveCollectorRoom()
const scheduler = createDirectScheduler()
const random = createRandom(1)
const engine = new Engine({
  clock: systemClock,
  random,
  scheduler,
  historyMaxBytes: 256 * 1024 * 1024,
})
const client = new EngineClient({ engine, network: new DirectNetwork(scheduler) })
const pods = generatedPods(Number(process.argv[2]))
const changing = pods.slice(0, changedMax).map(pod => ({ pod, other: restarted(pod) }))
const server = await startEtcdServer({ engine, listen: '127.0.0.1:0' })
for (const pod of pods) await put(pod.key, pod.value)
answerOrders(change)
process.send?.(`http://${server.address}`)

function generatedPods(count: number): StoredPod[] {
  const plan = parsePlan(`pods=${count},events=0,configmaps=0,secrets=0`)
  const settings = { plan, random: createRandom(1), nowMs: Date.now(), prefix: '/registry' }
  const found: StoredPod[] = []
  for (const one of new GeneratedCluster(settings).objects()) {
    if (one.type === 'put' && one.key.startsWith('/registry/pods/')) found.push(one)
  }
  return found
}

/** The pod after its container has failed. */
function restarted({ value }: StoredPod): Uint8Array {
  const json = jsonFromProtobuf(value)
  if (json instanceof NotExact) throw new Error(json.reason)
  const pod = JSON.parse(Buffer.from(json).toString()) as {
    status: { containerStatuses?: { restartCount: number; ready: boolean; state: object }[] }
  }
  for (const status of pod.status.containerStatuses ?? []) {
    status.restartCount += 3
    status.ready = false
    status.state = { waiting: { reason: 'CrashLoopBackOff' } }
  }
  const stored = protobufFromJson(Buffer.from(JSON.stringify(pod)))
  if (stored instanceof NotExact) throw new Error(stored.reason)
  return stored
}

async function put(key: string, value: Uint8Array): Promise<void> {
  const success = [{ type: 'put' as const, key: keyFromText(key), value }]
  await client.txn({ compares: [], success, failure: [] })
}

async function remove(key: string): Promise<void> {
  const success = [{ type: 'delete' as const, range: singleKey(keyFromText(key)) }]
  await client.txn({ compares: [], success, failure: [] })
}

async function change({ perSecond, ms }: PodChangeOrder): Promise<object> {
  const writes: Promise<void>[] = []
  const changes = await atRate(perSecond, ms, index => {
    const { pod, other } = changing[index % changing.length]!
    const isOdd = Math.floor(index / changing.length) % 2 === 1
    if (index % deletedEvery === 0 && !isOdd) writes.push(remove(pod.key))
    else writes.push(put(pod.key, isOdd ? pod.value : other))
  })
  await Promise.all(writes)
  return { changes }
}
