/** Nodes renew their leases and say that they are ready. */

import { type Clock, type Key, keyFromText } from '@watchglass/base'
import { microTimeText } from '@watchglass/go'
import { healthyNodeConditions } from '../node-conditions.ts'
import { KeyedTimers } from '../controllers/keyed-timers.ts'
import type { ActorApi } from './actor-api.ts'
import type { EventRecorder } from './event-recorder.ts'
import type { FactIndex } from './fact-index.ts'
import type { NodeFact } from './facts.ts'
import type { Condition, Node } from './objects.ts'
import type { ActorFaults } from './troubles.ts'
import { isOfState, taintsOf } from './reconcilers/node-taints.ts'

const renewMs = 10_000
const heartbeatMs = 5 * 60_000
const leaseNamespace = 'kube-node-lease'

export interface NodesOptions {
  readonly api: ActorApi
  readonly nodes: FactIndex<NodeFact>
  /** Prefix of the keys of leases. */
  readonly leases: string
  readonly clock: Clock
  /** The version of Kubernetes that is answered as. */
  readonly version: () => string
  readonly lookAt: (key: Key) => void
  /** Declared stages say how nodes are: they only renew their leases here. */
  readonly isLeft: () => boolean
  readonly faults: () => ActorFaults | undefined
  readonly events: Pick<EventRecorder, 'tell'>
}

/** A node that goes away on purpose. */
interface Away {
  readonly sinceMs: number
  readonly untilMs: number
}

/** Nobody notices before, as in Kubernetes. */
const graceMs = 40_000

export class Nodes {
  readonly #options: NodesOptions
  readonly #timers: KeyedTimers
  readonly #away = new Map<Key, Away>()
  /** The next time at which it is drawn if the node goes away. */
  readonly #drawsAtMs = new Map<Key, number>()

  constructor(options: NodesOptions) {
    this.#options = options
    this.#timers = new KeyedTimers(options.clock)
  }

  changed({ key, isReady, taints }: NodeFact): void {
    // Either it is to say how it is, or its taints follow from that.
    if (!isReady || taints.some(isOfState)) this.#options.lookAt(key)
    // At some time of the period, so that not all renew at once.
    if (!this.#timers.has(key)) this.#wait(key, this.#options.api.draw(0, renewMs))
  }

  removed(key: Key): void {
    this.#timers.cancel(key)
    this.#away.delete(key)
    this.#drawsAtMs.delete(key)
  }

  async work(key: Key): Promise<void> {
    const { nodes, clock } = this.#options
    const node = nodes.get(key)
    if (node === undefined || node.isDeleting) return
    if (this.#isAway(node)) return this.#lose(node)
    const isDue = !node.isReady || clock.wallMs() - node.heartbeatMs >= heartbeatMs
    if (isDue && !this.#options.isLeft()) await this.#report(key)
    if (!node.isReady || node.taints.some(isOfState)) await this.#taint(key)
    await this.#renew(node)
  }

  /** The namespace of the leases, which an etcd that was empty does not have. */
  makeNamespace(): Promise<void> {
    const object = { metadata: { name: leaseNamespace } }
    const place = { group: '', resource: 'namespaces', namespace: '' }
    return this.#options.api.createIfMissing({ ...place, object })
  }

  /** For a cluster that has none. */
  async make(count: number): Promise<void> {
    for (let i = 1; i <= count; i++) {
      const name = `node-${String(i)}`
      const labels = {
        'kubernetes.io/arch': 'amd64',
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
      }
      const object = {
        metadata: { name, labels },
        status: statusOf([], { name, number: i, version: this.#options.version() }),
      }
      await this.#options.api.create({ group: '', resource: 'nodes', namespace: '', object })
    }
  }

  stop(): void {
    this.#timers.stop()
  }

  #wait(key: Key, delayMs: number): void {
    this.#timers.set(key, delayMs, () => {
      this.#wait(key, renewMs)
      this.#options.lookAt(key)
    })
  }

  async #renew({ name, uid }: NodeFact): Promise<void> {
    const { api, leases } = this.#options
    const renewTime = microTimeText(this.#options.clock.wallMs())
    const key = keyFromText(`${leases}${leaseNamespace}/${name}`)
    if (await api.patch(key, { spec: { renewTime } })) return
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name, uid }]
    const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime }
    await api.create({
      group: 'coordination.k8s.io',
      resource: 'leases',
      namespace: leaseNamespace,
      object: { metadata: { name, namespace: leaseNamespace, ownerReferences }, spec },
    })
  }

  async #report(key: Key): Promise<void> {
    const { api } = this.#options
    const found = await api.read<Node>(key)
    if (found === undefined) return
    const { metadata, status } = found.object
    const conditions = conditionsOf(status?.conditions, api.now)
    const hasSize = status?.addresses !== undefined
    const about = { name: metadata.name, number: 1, version: this.#options.version() }
    const whole = hasSize ? { conditions } : statusOf(conditions, about)
    await api.patch(key, { status: { ...whole, conditions } }, 'status')
  }

  #isAway({ key, name }: NodeFact): boolean {
    const { faults, clock, api } = this.#options
    const effect = faults()?.actorEffect('node-down')
    const nowMs = clock.wallMs()
    const away = effect === undefined ? undefined : this.#away.get(key)
    if (away !== undefined && nowMs < away.untilMs) return true
    this.#away.delete(key)
    if (effect === undefined) return false
    const drawsAtMs = this.#drawsAtMs.get(key)
    if (drawsAtMs !== undefined && nowMs < drawsAtMs) return false
    // The first time anywhere in the period, so that not all are asked at once.
    const waitMs = drawsAtMs === undefined ? api.draw(0, effect.everyMs) : effect.everyMs
    this.#drawsAtMs.set(key, nowMs + waitMs)
    if (drawsAtMs === undefined) return false
    const met = faults()?.meetActor('node-down', { node: name })
    if (met === undefined) return false
    this.#away.set(key, { sinceMs: nowMs, untilMs: nowMs + met.effect.forMs })
    return true
  }

  /** It does not renew its lease, and after a while that is noticed. */
  async #lose({ key, isReady, name }: NodeFact): Promise<void> {
    const { api, clock, events } = this.#options
    const { sinceMs } = this.#away.get(key) ?? { sinceMs: 0 }
    if (isReady && clock.wallMs() - sinceMs >= graceMs) {
      const found = await api.read<Node>(key)
      if (found === undefined) return
      const { metadata, status } = found.object
      const conditions = unknownConditions(status?.conditions, api.now)
      await api.patch(key, { status: { conditions } }, 'status')
      const about = { apiVersion: 'v1', kind: 'Node', metadata }
      const message = `Node ${name} status is now: NodeNotReady`
      events.tell({ component: 'node-controller' }, about, { reason: 'NodeNotReady', message })
    }
    await this.#taint(key)
  }

  async #taint(key: Key): Promise<void> {
    const { api } = this.#options
    const found = await api.read<Node>(key)
    const taints = found && taintsOf(found.object, api.now)
    if (taints === undefined) return
    await api.patch(key, { spec: { taints: taints.length === 0 ? null : taints } })
  }
}

function conditionsOf(known: readonly Condition[] = [], now: string): Condition[] {
  return healthyNodeConditions.map(({ type, status, reason, message }) => {
    const before = known.find(one => one.type === type && one.status === status)
    const lastTransitionTime = before?.lastTransitionTime ?? now
    return { type, status, lastHeartbeatTime: now, lastTransitionTime, reason, message }
  })
}

/** Nobody knows how the node is. */
function unknownConditions(known: readonly Condition[] = [], now: string): object[] {
  return known.map(one => ({
    ...one,
    status: 'Unknown',
    reason: 'NodeStatusUnknown',
    message: 'Kubelet stopped posting node status.',
    lastTransitionTime: one.status === 'Unknown' ? one.lastTransitionTime : now,
  }))
}

interface About {
  readonly name: string
  readonly number: number
  readonly version: string
}

function statusOf(
  conditions: readonly Condition[],
  { name, number, version: kubeletVersion }: About,
): object {
  const size = { cpu: '16', memory: '65841552Ki', pods: '110' }
  return {
    capacity: size,
    allocatable: size,
    conditions,
    addresses: [
      { type: 'InternalIP', address: `10.0.${String(number >> 8)}.${String(number & 0xff)}` },
      { type: 'Hostname', address: name },
    ],
    nodeInfo: {
      machineID: '',
      systemUUID: '',
      bootID: '',
      kernelVersion: '6.12.30',
      osImage: 'Debian GNU/Linux 13 (trixie)',
      containerRuntimeVersion: 'containerd://2.1.4',
      kubeletVersion,
      kubeProxyVersion: '',
      operatingSystem: 'linux',
      architecture: 'amd64',
    },
  }
}
