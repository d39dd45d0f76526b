/** Which node has how many pods, and which one a pod may go to. */

import type { Key } from '@watchglass/base'
import type { NodeFact, PodFact } from '../runtime/facts.ts'
import type { Pod } from '../runtime/objects.ts'
import { refusal } from './placing.ts'
import {
  insufficient,
  noRequests,
  type ResourceAmounts,
  requestsOf,
  sumOf,
} from '../containers/requests.ts'
import { leavesAfterMs } from './taints.ts'

const goneMax = 10_000

export interface PlacesOptions {
  /** Nodes take only pods whose requests they have left. */
  readonly countsRequests?: boolean | undefined
}

export class Places {
  readonly countsRequests: boolean
  /** The names of nodes that were deleted, the oldest first. */
  readonly #gone = new Set<string>()
  readonly #nodes = new Map<string, NodeFact>()
  readonly #pods = new Map<string, Set<Key>>()
  readonly #nodeOf = new Map<Key, string>()
  /** The requests of the pods on nodes; none are kept where they do not count. */
  readonly #requests = new Map<Key, ResourceAmounts>()

  constructor({ countsRequests = false }: PlacesOptions = {}) {
    this.countsRequests = countsRequests
  }

  node(name: string): NodeFact | undefined {
    return this.#nodes.get(name)
  }

  get size(): number {
    return this.#nodes.size
  }

  /** Whether other pods may be given it than before. */
  nodeChanged(node: NodeFact): boolean {
    const before = this.#nodes.get(node.name)
    this.#nodes.set(node.name, node)
    return before === undefined || placingText(before) !== placingText(node)
  }

  nodeRemoved(name: string): void {
    this.#nodes.delete(name)
    this.#gone.add(name)
    const [oldest] = this.#gone
    if (this.#gone.size > goneMax && oldest !== undefined) this.#gone.delete(oldest)
  }

  /** Whether a node was deleted. One that was never there is not taken for deleted: recordings and
   *  made-up data leave nodes out, and their pods must stay. */
  isGone(node: string): boolean {
    return this.#gone.has(node) && !this.#nodes.has(node)
  }

  /** Its node is gone, or has a taint that it does not tolerate for ever. */
  repels({ node, tolerations }: PodFact): boolean {
    const known = this.#nodes.get(node)
    if (known === undefined) return this.isGone(node)
    return leavesAfterMs(known.taints, tolerations) !== undefined
  }

  podsOn(node: string): Iterable<Key> {
    return this.#pods.get(node) ?? []
  }

  /** A pod that has been given a node stays there. */
  put(pod: Key, node: string, requests: ResourceAmounts = noRequests): void {
    if (node === '') return
    if (this.countsRequests) this.#requests.set(pod, requests)
    if (this.#nodeOf.get(pod) === node) return
    this.remove(pod)
    if (this.countsRequests) this.#requests.set(pod, requests)
    this.#nodeOf.set(pod, node)
    const pods = this.#pods.get(node)
    if (pods === undefined) this.#pods.set(node, new Set([pod]))
    else pods.add(pod)
  }

  remove(pod: Key): void {
    const node = this.#nodeOf.get(pod)
    this.#requests.delete(pod)
    if (node === undefined) return
    this.#nodeOf.delete(pod)
    const pods = this.#pods.get(node)
    pods?.delete(pod)
    if (pods?.size === 0) this.#pods.delete(node)
  }

  /** The node with the fewest pods of those that take it. Affinity between pods is not looked at,
   *  and requests only where they count. */
  choose(pod: Pod): NodeFact | undefined {
    let best: NodeFact | undefined
    let fewest = Infinity
    const requests = this.countsRequests ? requestsOf(pod) : noRequests
    for (const node of this.#nodes.values()) {
      const count = this.#pods.get(node.name)?.size ?? 0
      if (count >= fewest || refusal(node, pod.spec) !== undefined) continue
      if (this.#lacks(node, requests).length > 0) continue
      best = node
      fewest = count
    }
    return best
  }

  /** The reasons why no node takes the pod, in the scheduler's words (FitError), and why nothing is
   *  gained by evicting others for it. */
  refusals(pod: Pod): string {
    const [reasons, preemption] = [new Map<string, number>(), new Map<string, number>()]
    const requests = this.countsRequests ? requestsOf(pod) : noRequests
    for (const node of this.#nodes.values()) {
      const reason = refusal(node, pod.spec)
      const lacks = reason === undefined ? this.#lacks(node, requests) : []
      for (const one of reason === undefined ? lacks.map(lack => lack.reason) : [reason]) {
        reasons.set(one, (reasons.get(one) ?? 0) + 1)
      }
      const isHopeless = reason !== undefined || lacks.some(lack => lack.isHopeless)
      const vain = isHopeless ? helpless : noVictims
      preemption.set(vain, (preemption.get(vain) ?? 0) + 1)
    }
    if (reasons.size === 0) return 'no nodes available to schedule pods'
    const about = (counts: ReadonlyMap<string, number>): string => {
      const texts = [...counts].map(([reason, count]) => `${String(count)} ${reason}`).sort()
      return `0/${String(this.#nodes.size)} nodes are available: ${texts.join(', ')}.`
    }
    return `${about(reasons)} no new claims to deallocate, preemption: ${about(preemption)}`
  }

  #lacks(node: NodeFact, requests: ResourceAmounts): ReturnType<typeof insufficient> {
    if (!this.countsRequests) return []
    const pods = this.#pods.get(node.name) ?? new Set<Key>()
    const used = sumOf(Array.from(pods, pod => this.#requests.get(pod) ?? noRequests))
    return insufficient(requests, { allocatable: node.allocatable ?? {}, used, pods: pods.size })
  }
}

const helpless = 'Preemption is not helpful for scheduling'
const noVictims = 'No preemption victims found for incoming pod'

function placingText(node: NodeFact): string {
  const { isReady, isDeleting, isUnschedulable, labels, taints, allocatable } = node
  return JSON.stringify([isReady, isDeleting, isUnschedulable, labels, taints, allocatable])
}
