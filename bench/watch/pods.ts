/** Pods of 4 KB as JSON, each on a node of its own, with the time of their last change in an
 *  annotation. */

import { NotExact } from '../../lib/base/not-exact.ts'
import { jsonFromProtobuf, protobufFromJson } from '../../lib/codec/transcode/transcode.ts'
import { createRandom } from '../../lib/base/random.ts'
import { GeneratedCluster } from '../../lib/simulator/generate/generated-cluster.ts'
import { parsePlan } from '../../lib/simulator/generate/plan.ts'
import { stampOf } from './orders.ts'

/** A thousand pods share one. */
export function namespaceOf(number: number): string {
  return `bench-${Math.floor(number / 1000)}`
}

export function podName(number: number): string {
  return `pod-${String(number).padStart(6, '0')}`
}

export function nodeName(number: number): string {
  return `node-${String(number).padStart(6, '0')}`
}

export interface StampedPod {
  readonly key: string
  /** The stored bytes, with a stamp of now. A copy. */
  value(nowMicroseconds: number): Uint8Array
}

export function stampedPods(count: number, nodes: number = count): StampedPod[] {
  const template = somePod()
  return Array.from({ length: count }, (_, number) => {
    const name = podName(number)
    const metadata = {
      ...template.metadata,
      name,
      namespace: namespaceOf(number),
      annotations: { 'bench/stamp': stampOf(0) },
    }
    const spec = { ...template.spec, nodeName: nodeName(number % nodes) }
    const stored = protobufFromJson(Buffer.from(JSON.stringify({ ...template, metadata, spec })))
    if (stored instanceof NotExact) throw new Error(stored.reason)
    const bytes = Buffer.from(stored)
    const at = bytes.indexOf(stampOf(0))
    return {
      key: `/registry/pods/${namespaceOf(number)}/${name}`,
      value(nowMicroseconds) {
        const copy = Buffer.allocUnsafeSlow(bytes.length)
        bytes.copy(copy)
        copy.write(stampOf(nowMicroseconds), at, 'latin1')
        return copy
      },
    }
  })
}

interface PodObject {
  readonly metadata: { readonly managedFields: readonly object[] }
  readonly spec: object
  readonly status: { readonly phase: string }
}

/** A generated one that runs, without most of its managed fields. */
function somePod(): PodObject {
  const plan = parsePlan('pods=50')
  const random = createRandom(1)
  for (const change of new GeneratedCluster({
    plan,
    random,
    nowMs: 1.7e12,
    prefix: '',
  }).objects()) {
    if (change.type !== 'put' || !change.key.startsWith('/pods/')) continue
    const json = jsonFromProtobuf(change.value)
    if (json instanceof NotExact) continue
    const pod = JSON.parse(Buffer.from(json).toString()) as PodObject
    if (pod.status.phase !== 'Running') continue
    const managedFields = pod.metadata.managedFields.slice(-1)
    return { ...pod, metadata: { ...pod.metadata, managedFields } }
  }
  throw new Error('no pod runs')
}
