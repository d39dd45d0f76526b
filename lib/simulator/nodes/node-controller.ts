/** The loop of nodes: whether one goes away is drawn here (`--fault node-down`), before `nodes.ts`
 *  says what is to be written. */

import { type Clock, type Key, keyFromText } from '@watchglass/base'
import type { ApiClient } from '../runtime/api-client.ts'
import type { ControllerOptions } from '../runtime/controller-runtime.ts'
import type { FactIndex } from '../runtime/fact-index.ts'
import type { NodeFact } from '../runtime/facts.ts'
import type { NodeObject } from '../runtime/objects.ts'
import { nodeStatus } from './node-status.ts'
import {
  leaseNamespace,
  needsNode,
  type NodeParts,
  type NodeWithFact,
  reconcileNode,
} from './nodes.ts'
import type { SimulatedFaults } from './troubles.ts'

export interface NodeControllerOptions {
  readonly api: Pick<ApiClient, 'find' | 'createNew' | 'createIfMissing' | 'resourceOf'>
  readonly nodes: FactIndex<NodeFact>
  /** Prefix of the keys of leases. */
  readonly leases: string
  readonly clock: Clock
  /** A number from a range. */
  readonly draw: (least: number, most: number) => number
  /** The version of Kubernetes that is answered as. */
  readonly version: () => string
  /** Declared stages say how nodes are: here they only renew their leases. */
  readonly isLeft: () => boolean
  readonly faults: () => SimulatedFaults | undefined
}

/** A node that goes away on purpose. */
interface Away {
  readonly sinceMs: number
  readonly untilMs: number
}

export class NodeController {
  readonly loop: ControllerOptions<NodeWithFact, NodeParts>
  readonly #options: NodeControllerOptions
  readonly #away = new Map<Key, Away>()
  /** The next time at which it is drawn if the node goes away. */
  readonly #drawsAtMs = new Map<Key, number>()

  constructor(options: NodeControllerOptions) {
    this.#options = options
    this.loop = {
      name: 'a simulated node',
      source: { component: 'kubelet' },
      find: key => Promise.resolve(this.#find(key)),
      gather: ({ fact }, key) => this.#gather(key, fact),
      reconcile: reconcileNode,
    }
  }

  removed(key: Key): void {
    this.#away.delete(key)
    this.#drawsAtMs.delete(key)
  }

  /** The namespace of the leases, which an etcd that was empty does not have. */
  async makeNamespace(): Promise<void> {
    const { api } = this.#options
    const resource = api.resourceOf('', 'v1', 'namespaces')
    if (resource === undefined) return
    const object = { metadata: { name: leaseNamespace } }
    await api.createIfMissing({ resource, namespace: '', name: '' }, object)
  }

  /** For a cluster that has none. */
  async make(count: number): Promise<void> {
    const { api, version } = this.#options
    for (let i = 1; i <= count; i++) {
      const name = `node-${String(i)}`
      const labels = {
        'kubernetes.io/arch': 'amd64',
        'kubernetes.io/hostname': name,
        'kubernetes.io/os': 'linux',
      }
      const status = nodeStatus([], { name, number: i, version: version() })
      const object = { metadata: { name, labels }, status }
      await api.createNew({ group: '', resource: 'nodes', namespace: '', object })
    }
  }

  #find(key: Key): Awaited<ReturnType<NonNullable<NodeController['loop']['find']>>> {
    const fact = this.#options.nodes.get(key)
    if (fact === undefined) return undefined
    const { name, uid } = fact
    return { object: { metadata: { name, uid }, fact }, about: { apiVersion: 'v1', kind: 'Node' } }
  }

  async #gather(key: Key, fact: NodeFact): Promise<NodeParts> {
    const { api, clock, leases, version, isLeft } = this.#options
    const state = { awaySinceMs: this.#awaySinceMs(fact), isLeft: isLeft() }
    const isNeeded = needsNode(fact, state, clock.wallMs())
    return {
      ...state,
      node: isNeeded ? (await api.find<NodeObject>(key))?.object : undefined,
      leaseKey: keyFromText(`${leases}${leaseNamespace}/${fact.name}`),
      version: version(),
    }
  }

  #awaySinceMs({ key, name, isDeleting }: NodeFact): number | undefined {
    const { faults, clock, draw } = this.#options
    const effect = isDeleting ? undefined : faults()?.simulatedEffect('node-down')
    const nowMs = clock.wallMs()
    const away = effect === undefined ? undefined : this.#away.get(key)
    if (away !== undefined && nowMs < away.untilMs) return away.sinceMs
    this.#away.delete(key)
    if (effect === undefined) return undefined
    const drawsAtMs = this.#drawsAtMs.get(key)
    if (drawsAtMs !== undefined && nowMs < drawsAtMs) return undefined
    // The first time anywhere in the period, so that not all are asked at once.
    const waitMs = drawsAtMs === undefined ? draw(0, effect.everyMs) : effect.everyMs
    this.#drawsAtMs.set(key, nowMs + waitMs)
    if (drawsAtMs === undefined) return undefined
    const met = faults()?.meetSimulated('node-down', { node: name })
    if (met === undefined) return undefined
    this.#away.set(key, { sinceMs: nowMs, untilMs: nowMs + met.effect.forMs })
    return nowMs
  }
}
