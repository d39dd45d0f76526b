/** A generated cluster as stored objects, and its changes: keys and bytes as kube-apiserver would
 *  write them. Only the topology is kept; bodies are made when they are needed. */

import { type Key, keyFromText, type Random, randomInt, randomItem } from '@watchglass/base'
import type { MadeObject } from './managed-fields.ts'
import { uid } from './names.ts'
import { nodeLeaseObject, nodeObject } from './nodes.ts'
import type { Plan } from './plan.ts'
import { storedPod } from './pods.ts'
import { endpointSliceObjects, type ServiceRecord, serviceObject } from './services.ts'
import {
  configMapObject,
  eventObject,
  type SmallObjectName,
  namespaceObject,
  secretObject,
  serviceAccountObject,
} from './small-objects.ts'
import { storedBytes } from './stored.ts'
import {
  type NodeRecord,
  type PodRecord,
  Topology,
  type Workload,
  type WrittenRecord,
} from './topology.ts'
import { storedDeployment, storedReplicaSet } from './workloads.ts'

/** A change to make in etcd. */
export type GeneratedChange =
  | {
      readonly type: 'put'
      readonly key: Key
      readonly value: Uint8Array
      /** The record that is told the revision. */
      readonly of?: WrittenRecord
    }
  | { readonly type: 'delete'; readonly key: Key }

/** Changes that belong together. */
export interface GeneratedStep {
  readonly changes: readonly GeneratedChange[]
  /** Objects that must be as we wrote them, and others that must be there; else nothing changes. */
  readonly unchanged: readonly { readonly key: Key; readonly record: WrittenRecord }[]
  readonly present: readonly Key[]
  /** Somebody else has changed one of them, or deleted it: it is theirs from now on. */
  letGo(): void
}

export interface ClusterOptions {
  readonly plan: Plan
  readonly random: Random
  readonly nowMs: number
  /** As kube-apiserver's `--etcd-prefix`, without a slash at its end. */
  readonly prefix: string
}

/** Folders under the prefix, where they are not the plural of the kind. */
const folders = { nodes: 'minions', services: 'services/specs' } as const

const nothing: GeneratedStep = { changes: [], unchanged: [], present: [], letGo: () => {} }

/** Bounds the events, so that churn can run for ever. */
const eventsKeptOfChurn = 1_000

export class GeneratedCluster {
  readonly #options: ClusterOptions
  readonly #topology: Topology
  readonly #services = new Map<Workload, ServiceRecord>()
  /** The records that nobody else has changed. */
  readonly #workloads: Workload[]
  readonly #nodes: NodeRecord[]
  /** Keys of the events that churn has made, oldest first. */
  readonly #events: Key[] = []

  constructor(options: ClusterOptions) {
    const { plan, random, nowMs } = options
    this.#options = options
    this.#topology = new Topology(plan, random, nowMs)
    this.#workloads = [...this.#topology.workloads]
    this.#nodes = [...this.#topology.nodes]
    for (const [number, workload] of this.#topology.workloads.slice(0, plan.services).entries()) {
      this.#services.set(workload, { workload, number, uid: uid(random), sliceUids: [] })
    }
  }

  /** The approximate number of objects: large services have more than one endpoint slice. */
  get size(): number {
    const { plan } = this.#options
    const { namespaces, nodes, workloads } = this.#topology
    const derived = namespaces.length + 2 + nodes.length + workloads.length + this.#services.size
    const planned = plan.nodes + plan.deployments + plan.pods + plan.services + plan.configmaps
    return derived + planned + plan.secrets + plan.serviceaccounts + plan.events
  }

  /** Every object, owners before what they own, made one by one. */
  *objects(): Generator<GeneratedChange> {
    yield* this.#namespacedBasics()
    const { nowMs } = this.#options
    for (const node of this.#topology.nodes) {
      yield this.#node(node, nowMs)
      yield this.#put(`leases/kube-node-lease/${node.name}`, nodeLeaseObject(node, nowMs))
    }
    for (const workload of this.#topology.workloads) {
      yield this.#deployment(workload, nowMs)
      yield this.#replicaSet(workload, nowMs)
      for (const pod of workload.pods) yield this.#pod(pod)
    }
    for (const service of this.#services.values()) {
      yield this.#put(this.#nameIn(folders.services, service.workload), serviceObject(service))
      yield* this.#endpointSlices(service)
    }
    yield* this.#firstEvents(this.#options.plan.events, nowMs)
  }

  /** The next changes: one, or a few that belong together, as long as nobody else has changed what
   *  they are about: a made-up change would undo theirs. Most are lease renewals and status
   *  updates, as in a real cluster. Never empty if the cluster has a node or a pod. */
  step(nowMs: number): GeneratedStep {
    const { random } = this.#options
    const [nodes, workloads] = [this.#nodes, this.#workloads]
    const busy = workloads.length > 0 ? randomItem(random, workloads) : undefined
    const pod =
      busy !== undefined && busy.pods.length > 0 ? randomItem(random, busy.pods) : undefined
    const chance = random.next()
    if (nodes.length > 0 && (chance < 0.4 || pod === undefined)) {
      const node = randomItem(random, nodes)
      return chance < 0.02 && !node.isLetGo
        ? this.#updateNode(node, nowMs)
        : this.#renewLease(node, nowMs)
    }
    if (pod === undefined || busy === undefined) return nothing
    // Before the change, which may make others of them.
    const unchanged = [this.#unchangedPod(pod), this.#unchangedWorkload(busy)]
    return {
      changes: this.#changesOf(pod, chance, nowMs),
      unchanged,
      present: this.#serviceKeys(busy),
      letGo: () => remove(this.#workloads, busy),
    }
  }

  #changesOf(pod: PodRecord, chance: number, nowMs: number): GeneratedChange[] {
    if (chance < 0.8) return this.#updateStatus(pod, nowMs)
    if (chance < 0.95) return this.#replacePod(pod, nowMs)
    return this.#rollOut(pod.workload, nowMs)
  }

  #updateNode(node: NodeRecord, nowMs: number): GeneratedStep {
    const change = this.#node(node, nowMs)
    return {
      changes: [change],
      unchanged: [{ key: change.key, record: node }],
      present: [],
      letGo: () => (node.isLetGo = true),
    }
  }

  #renewLease(node: NodeRecord, nowMs: number): GeneratedStep {
    const path = `leases/kube-node-lease/${node.name}`
    return {
      changes: [this.#put(path, nodeLeaseObject(node, nowMs))],
      unchanged: [],
      present: [this.#key(`${folders.nodes}/${node.name}`)],
      letGo: () => remove(this.#nodes, node),
    }
  }

  #unchangedPod(pod: PodRecord): GeneratedStep['unchanged'][number] {
    const named = { namespace: pod.workload.namespace, name: pod.name }
    return { key: this.#key(this.#nameIn('pods', named)), record: pod }
  }

  #unchangedWorkload(workload: Workload): GeneratedStep['unchanged'][number] {
    return { key: this.#key(this.#nameIn('deployments', workload)), record: workload }
  }

  #serviceKeys(workload: Workload): Key[] {
    if (!this.#services.has(workload)) return []
    return [this.#key(this.#nameIn(folders.services, workload))]
  }

  *#namespacedBasics(): Generator<GeneratedChange> {
    const { plan, random, nowMs } = this.#options
    const { namespaces, workloads } = this.#topology
    const createdMs = nowMs - 100 * 86_400_000
    const named = (name: string, i: number): SmallObjectName => ({
      namespace: namespaces[i % namespaces.length] ?? 'default',
      name,
      createdMs,
    })
    for (const name of [...namespaces, 'kube-node-lease', 'kube-system']) {
      yield this.#put(`namespaces/${name}`, namespaceObject(name, random, createdMs))
    }
    for (let i = 0; i < plan.serviceaccounts; i++) {
      const account = named(i < namespaces.length ? 'default' : `account-${i}`, i)
      yield this.#put(
        this.#nameIn('serviceaccounts', account),
        serviceAccountObject(account, random),
      )
    }
    for (let i = 0; i < plan.configmaps; i++) {
      const workload = workloads[i]
      const owner =
        workload === undefined
          ? named(`config-${i}`, i)
          : { ...workload, name: `${workload.name}-config` }
      yield this.#put(this.#nameIn('configmaps', owner), configMapObject(owner, random))
    }
    for (let i = 0; i < plan.secrets; i++) {
      const workload = workloads[i]
      const owner =
        workload === undefined
          ? named(`secret-${i}`, i)
          : { ...workload, name: `${workload.name}-secret` }
      yield this.#put(this.#nameIn('secrets', owner), secretObject(owner, random))
    }
  }

  *#firstEvents(count: number, nowMs: number): Generator<GeneratedChange> {
    const { random } = this.#options
    const workloads = this.#topology.workloads.filter(({ pods }) => pods.length > 0)
    for (let i = 0; i < count && workloads.length > 0; i++) {
      yield this.#event(randomItem(random, randomItem(random, workloads).pods), nowMs)
    }
  }

  #updateStatus(pod: PodRecord, nowMs: number): GeneratedChange[] {
    pod.updatedMs = nowMs
    if (pod.health === 'pending') pod.health = 'running'
    else if (pod.health !== 'evicted' && this.#options.random.next() < 0.1) {
      pod.restarts++
      pod.health = pod.health === 'running' ? 'crashing' : 'running'
      return [this.#pod(pod), ...this.#churnedEvents(pod, nowMs)]
    }
    return [this.#pod(pod)]
  }

  /** An eviction: the pod is deleted, a new one is created on another node, and the endpoint slices
   *  are updated. */
  #replacePod(pod: PodRecord, nowMs: number): GeneratedChange[] {
    const { workload } = pod
    this.#topology.removePod(pod)
    const successor = this.#topology.addPod(workload, nowMs)
    const isLastOfItsTemplate = !workload.pods.some(({ template }) => template === pod.template)
    return [
      this.#delete(this.#nameIn('pods', { ...workload, name: pod.name })),
      ...(isLastOfItsTemplate
        ? [
            this.#delete(
              this.#nameIn('replicasets', {
                ...workload,
                name: `${workload.name}-${pod.template.hash}`,
              }),
            ),
          ]
        : []),
      this.#pod(successor),
      this.#replicaSet(workload, nowMs),
      ...this.#slicesOf(workload),
    ]
  }

  /** A new template and the first pods of it: the rest follow as pods are replaced. */
  #rollOut(workload: Workload, nowMs: number): GeneratedChange[] {
    const [first] = workload.pods
    this.#topology.rollOut(workload)
    return [
      this.#deployment(workload, nowMs),
      this.#replicaSet(workload, nowMs),
      ...(first === undefined ? [] : this.#replacePod(first, nowMs)),
    ]
  }

  #deployment(workload: Workload, nowMs: number): GeneratedChange {
    const key = this.#key(this.#nameIn('deployments', workload))
    return { type: 'put', key, value: storedDeployment(workload, nowMs), of: workload }
  }

  #replicaSet(workload: Workload, nowMs: number): GeneratedChange {
    const named = { ...workload, name: `${workload.name}-${workload.template.hash}` }
    const key = this.#key(this.#nameIn('replicasets', named))
    return { type: 'put', key, value: storedReplicaSet(workload, nowMs) }
  }

  #pod(pod: PodRecord): GeneratedChange {
    const named = { namespace: pod.workload.namespace, name: pod.name }
    const key = this.#key(this.#nameIn('pods', named))
    return { type: 'put', key, value: storedPod(pod), of: pod }
  }

  #node(node: NodeRecord, nowMs: number): GeneratedChange {
    const key = this.#key(`${folders.nodes}/${node.name}`)
    return { type: 'put', key, value: storedBytes(nodeObject(node, nowMs)), of: node }
  }

  /** An event, and the end of the oldest one from churn: in a real cluster events expire after an
   *  hour. */
  #churnedEvents(pod: PodRecord, nowMs: number): GeneratedChange[] {
    const event = this.#event(pod, nowMs)
    this.#events.push(event.key)
    const oldest = this.#events.length > eventsKeptOfChurn ? this.#events.shift() : undefined
    return oldest === undefined ? [event] : [event, { type: 'delete', key: oldest }]
  }

  #event(pod: PodRecord, nowMs: number): GeneratedChange {
    const { random } = this.#options
    const { namespace } = pod.workload
    const name = `${pod.name}.${randomInt(random, 0, 2 ** 48)
      .toString(16)
      .padStart(16, '1')}`
    return this.#put(
      this.#nameIn('events', { namespace, name }),
      eventObject({ pod, name, random, nowMs }),
    )
  }

  #slicesOf(workload: Workload): GeneratedChange[] {
    const service = this.#services.get(workload)
    return service === undefined ? [] : [...this.#endpointSlices(service)]
  }

  *#endpointSlices(service: ServiceRecord): Generator<GeneratedChange> {
    for (const { name, object } of endpointSliceObjects(service, () => uid(this.#options.random))) {
      yield this.#put(this.#nameIn('endpointslices', { ...service.workload, name }), object)
    }
  }

  #nameIn(
    folder: string,
    { namespace, name }: { readonly namespace: string; readonly name: string },
  ): string {
    return `${folder}/${namespace}/${name}`
  }

  #put(path: string, object: MadeObject): GeneratedChange {
    return { type: 'put', key: this.#key(path), value: storedBytes(object) }
  }

  #delete(path: string): GeneratedChange {
    return { type: 'delete', key: this.#key(path) }
  }

  #key(path: string): Key {
    return keyFromText(`${this.#options.prefix}/${path}`)
  }
}

/** The order of the others does not matter. */
function remove<T>(items: T[], item: T): void {
  const at = items.indexOf(item)
  const last = at < 0 ? undefined : items.pop()
  if (last !== undefined && last !== item) items[at] = last
}
