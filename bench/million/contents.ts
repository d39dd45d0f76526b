/** A million objects as kube-apiserver stores them: mostly config maps of a kilobyte, a generated
 *  cluster of pods and what belongs to them, and pods that are changed with the time of their
 *  change. */

import { type Key, keyFromText } from '../../lib/base/keys.ts'
import { createRandom } from '../../lib/base/random.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { GeneratedCluster } from '../../lib/simulator/generate/generated-cluster.ts'
import { parsePlan } from '../../lib/simulator/generate/plan.ts'
import { Stamp } from '../../lib/simulator/stamps/stamp.ts'
import { storedBytes } from '../../lib/simulator/generate/stored.ts'
import { nowMicroseconds } from '../watch/orders.ts'
import { type StampedPod, stampedPods } from '../watch/pods.ts'

/** One of so many objects is there first, so that a start with a tenth can be compared with a start
 *  with all. */
export const tenth = 10

export interface Contents {
  readonly objects: number
  readonly stamped: readonly StampedPod[]
  /** Values of the label `app`, each on as many config maps. */
  readonly apps: number
}

export function contentsOf(objects: number): Contents {
  const stamped = stampedPods(Math.ceil(objects / 100))
  return { objects, stamped, apps: Math.ceil(objects / 500) }
}

export function appName(number: number): string {
  return `app-${String(number).padStart(5, '0')}`
}

export interface Stored {
  readonly key: Key
  readonly value: Uint8Array
}

function* storedObjects({ objects, stamped, apps }: Contents): Generator<Stored> {
  let made = 0
  for (const pod of stamped) {
    made++
    yield { key: keyFromText(pod.key), value: pod.value(nowMicroseconds()) }
  }
  const plan = parsePlan(`pods=${Math.ceil(objects / 20)}`)
  const cluster = new GeneratedCluster({
    plan,
    random: createRandom(1),
    nowMs: 1.7e12,
    prefix: '/registry',
  })
  for (const change of cluster.objects()) {
    if (change.type !== 'put') continue
    made++
    yield change
  }
  for (let i = 0; made < objects; i++, made++) yield configMap(i, apps)
}

const marks = ['@name@', '@namespace@', '@uid@', '@app@', '@text@']

const stamp = new Stamp(
  storedBytes({
    kind: 'ConfigMap',
    apiVersion: 'v1',
    metadata: {
      name: '@name@',
      namespace: '@namespace@',
      uid: '@uid@',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { app: '@app@', 'app.kubernetes.io/managed-by': 'bench' },
    },
    data: { 'application.properties': '@text@', 'log-level': 'info' },
  }),
  'core/v1.ConfigMap',
  { texts: marks, numbers: [] },
)

/** The settings of an object: 300 to 1,500 bytes. */
const settings = Array.from({ length: 64 }, (_, i) => `setting.${i}.value=${(i * 7919) % 1e4}\n`)
const text = settings.join('')

function configMap(number: number, apps: number): Stored {
  const name = `config-${String(number).padStart(7, '0')}`
  const namespace = `team-${String(number % 400).padStart(3, '0')}`
  const uid = `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`
  const bytes = 300 + ((number * 7919) % 1_200)
  const texts = [name, namespace, uid, appName(number % apps), text.slice(0, bytes)]
  return {
    key: keyFromText(`/registry/configmaps/${namespace}/${name}`),
    value: stamp.fill({ texts, numbers: [] }),
  }
}

/** Far above etcd's bounds, which the bench raises: large transactions are written several times as
 *  fast. */
const writeMaxOperations = 500
const writesInFlight = 2

/** Flags of an etcd that takes these transactions, and lets go of what it has of them soon. */
export const etcdFlags: readonly string[] = [
  '--quota-backend-bytes=8589934592',
  '--max-txn-ops=2000',
  '--max-request-bytes=33554432',
  '--snapshot-count=100',
]

/** Writes a tenth of the objects, or the others; how many. */
export async function fill(
  endpoint: string,
  contents: Contents,
  which: 'a tenth' | 'the others',
): Promise<number> {
  const chosen = function* (): Generator<Stored> {
    let number = 0
    for (const object of storedObjects(contents)) {
      const isOfTenth = number++ % tenth === 0
      if (isOfTenth === (which === 'a tenth')) yield object
    }
  }
  return (await writeObjects(endpoint, chosen())).objects
}

/** Writes objects in transactions of so many, which have at most about so many bytes; how many
 *  objects, and the bytes of their values. */
export async function writeObjects(
  endpoint: string,
  objects: Iterable<Stored>,
  transactionBytes: number = Infinity,
): Promise<{ readonly objects: number; readonly bytes: number }> {
  // A transaction of a megabyte may take seconds while etcd makes room.
  const client = new GrpcClient({ endpoints: [endpoint], timeouts: { answerMs: 60_000 } })
  const writing = new Set<Promise<unknown>>()
  let puts: { type: 'put'; key: Key; value: Uint8Array }[] = []
  let putBytes = 0
  const written = { objects: 0, bytes: 0 }
  const write = async (): Promise<void> => {
    const task: Promise<unknown> = client
      .txn({ compares: [], success: puts, failure: [] })
      .finally(() => writing.delete(task))
    writing.add(task)
    written.objects += puts.length
    written.bytes += putBytes
    puts = []
    putBytes = 0
    if (writing.size >= writesInFlight) await Promise.race(writing)
  }
  for (const object of objects) {
    puts.push({ type: 'put', ...object })
    putBytes += object.value.length
    if (puts.length >= writeMaxOperations || putBytes >= transactionBytes) await write()
  }
  await write()
  await Promise.all(writing)
  await client.close()
  return written
}
