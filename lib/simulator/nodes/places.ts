/** Which node has how many pods, and which one a pod may go to. */

import type { Key } from '@watchglass/base'
import type { NodeFact, PodFact } from '../runtime/facts.ts'
import type { Pod } from '../runtime/objects.ts'
import { refusal } from './placing.ts'
import { leavesAfterMs } from './taints.ts'

const goneMax = 10_000

export class Places {
  /** The names of nodes that were deleted, the oldest first. */
  readonly #gone = new Set<string>()
  readonly #nodes = new Map<string, NodeFact>()
  readonly #pods = new Map<string, Set<Key>>()
  readonly #nodeOf = new Map<Key, string>()

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
  put(pod: Key, node: string): void {
    if (node === '' || this.#nodeOf.get(pod) === node) return
    this.remove(pod)
    this.#nodeOf.set(pod, node)
    const pods = this.#pods.get(node)
    if (pods === undefined) this.#pods.set(node, new Set([pod]))
    else pods.add(pod)
  }

  remove(pod: Key): void {
    const node = this.#nodeOf.get(pod)
    if (node === undefined) return
    this.#nodeOf.delete(pod)
    const pods = this.#pods.get(node)
    pods?.delete(pod)
    if (pods?.size === 0) this.#pods.delete(node)
  }

  /** The node with the fewest pods of those that take it. Requests for resources and affinity are
   *  not looked at. */
  choose(pod: Pod): NodeFact | undefined {
    let best: NodeFact | undefined
    let fewest = Infinity
    for (const node of this.#nodes.values()) {
      const count = this.#pods.get(node.name)?.size ?? 0
      if (count >= fewest || refusal(node, pod.spec) !== undefined) continue
      best = node
      fewest = count
    }
    return best
  }

  /** The reasons why no node takes the pod, in the scheduler's words. */
  refusals(pod: Pod): string {
    const counts = new Map<string, number>()
    for (const node of this.#nodes.values()) {
      const reason = refusal(node, pod.spec)
      if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1)
    }
    const reasons = [...counts].map(([reason, count]) => `${String(count)} ${reason}`).sort()
    if (reasons.length === 0) return 'no nodes available to schedule pods'
    return `0/${String(this.#nodes.size)} nodes are available: ${reasons.join(', ')}.`
  }
}

function placingText({ isReady, isDeleting, isUnschedulable, labels, taints }: NodeFact): string {
  return JSON.stringify([isReady, isDeleting, isUnschedulable, labels, taints])
}
