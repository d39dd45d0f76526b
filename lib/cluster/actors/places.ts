/** Which node has how many pods, and which one a pod may go to. */

import type { Key } from '../../base/keys.ts'
import type { NodeFact } from './facts.ts'
import type { Pod, Taint, Toleration } from './objects.ts'

export class Places {
  readonly #nodes = new Map<string, NodeFact>()
  readonly #counts = new Map<string, number>()
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
  }

  /** A pod that has been given a node stays there. */
  put(pod: Key, node: string): void {
    if (node === '' || this.#nodeOf.get(pod) === node) return
    this.remove(pod)
    this.#nodeOf.set(pod, node)
    this.#counts.set(node, (this.#counts.get(node) ?? 0) + 1)
  }

  remove(pod: Key): void {
    const node = this.#nodeOf.get(pod)
    if (node === undefined) return
    this.#nodeOf.delete(pod)
    const left = (this.#counts.get(node) ?? 1) - 1
    if (left === 0) this.#counts.delete(node)
    else this.#counts.set(node, left)
  }

  /** The node with the fewest pods of those that take it. Requests for resources and affinity are
   *  not looked at. */
  choose(pod: Pod): NodeFact | undefined {
    let best: NodeFact | undefined
    let fewest = Infinity
    for (const node of this.#nodes.values()) {
      const count = this.#counts.get(node.name) ?? 0
      if (count >= fewest || refusal(node, pod) !== undefined) continue
      best = node
      fewest = count
    }
    return best
  }

  /** The reasons why no node takes the pod, in the scheduler's words. */
  refusals(pod: Pod): string {
    const counts = new Map<string, number>()
    for (const node of this.#nodes.values()) {
      const reason = refusal(node, pod)
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

/** The reason why the scheduler would not give the node to the pod; undefined if it would. */
function refusal(node: NodeFact, { spec }: Pod): string | undefined {
  if (!node.isReady || node.isDeleting) return 'node(s) were not ready'
  if (node.isUnschedulable) return 'node(s) were unschedulable'
  const { nodeSelector = {}, tolerations = [] } = spec
  const taint = node.taints.find(
    one =>
      one.effect !== 'PreferNoSchedule' &&
      !tolerations.some(toleration => tolerates(toleration, one)),
  )
  if (taint !== undefined) return `node(s) had untolerated taint(s)`
  const fits = Object.entries(nodeSelector).every(([name, value]) => node.labels[name] === value)
  return fits ? undefined : "node(s) didn't match Pod's node affinity/selector"
}

export function tolerates({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== '' && effect !== taint.effect) return false
  if (operator === 'Exists') return key === undefined || key === '' || key === taint.key
  return key === taint.key && (value ?? '') === (taint.value ?? '')
}
