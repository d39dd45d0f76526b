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

  nodeChanged(node: NodeFact): void {
    this.#nodes.set(node.name, node)
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
      if (count >= fewest || !takes(node, pod)) continue
      best = node
      fewest = count
    }
    return best
  }
}

function takes(node: NodeFact, { spec }: Pod): boolean {
  if (node.isDeleting || node.isUnschedulable || !node.isReady) return false
  const { nodeSelector = {}, tolerations = [] } = spec
  return (
    Object.entries(nodeSelector).every(([name, value]) => node.labels[name] === value) &&
    node.taints.every(
      taint =>
        taint.effect === 'PreferNoSchedule' ||
        tolerations.some(toleration => tolerates(toleration, taint)),
    )
  )
}

function tolerates({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== '' && effect !== taint.effect) return false
  if (operator === 'Exists') return key === undefined || key === '' || key === taint.key
  return key === taint.key && (value ?? '') === (taint.value ?? '')
}
