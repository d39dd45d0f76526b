/** Whether a node takes a pod: its selector, its required affinity, and the taints of the node. */

import type { NodeFact } from '../runtime/facts.ts'
import type { NodeExpression, Placing, Taint, Toleration } from '../runtime/objects.ts'
import { meetsExpression } from '../runtime/selectors.ts'

/** The facts of a node that matter here. */
export type PlacingNode = Pick<
  NodeFact,
  'name' | 'labels' | 'taints' | 'isReady' | 'isDeleting' | 'isUnschedulable'
>

/** A node that is not to be given pods is tainted so by upstream's controller, too. */
const cordoned = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }

/** The reason why the scheduler would not give the node to the pod; undefined if it would. */
export function refusal(node: PlacingNode, placing: Placing): string | undefined {
  if (!node.isReady || node.isDeleting) return 'node(s) were not ready'
  const { tolerations = [] } = placing
  if (node.isUnschedulable && !isTolerated(cordoned, tolerations)) {
    return 'node(s) were unschedulable'
  }
  if (node.taints.some(taint => repels(taint, tolerations))) {
    return 'node(s) had untolerated taint(s)'
  }
  return fits(node, placing) ? undefined : "node(s) didn't match Pod's node affinity/selector"
}

/** Whether a daemon set is to have a pod there, ready or not. */
export function isWanted(node: PlacingNode, placing: Placing): boolean {
  const { tolerations = [] } = placing
  const starting = ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unschedulable']
  const taints = node.taints.filter(({ key }) => !starting.includes(key))
  return fits(node, placing) && !taints.some(taint => repels(taint, tolerations))
}

function repels(taint: Taint, tolerations: readonly Toleration[]): boolean {
  return taint.effect !== 'PreferNoSchedule' && !isTolerated(taint, tolerations)
}

export function isTolerated(taint: Taint, tolerations: readonly Toleration[]): boolean {
  return tolerations.some(toleration => tolerates(toleration, taint))
}

export function tolerates({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect !== undefined && effect !== '' && effect !== taint.effect) return false
  if (operator === 'Exists') return key === undefined || key === '' || key === taint.key
  return key === taint.key && (value ?? '') === (taint.value ?? '')
}

function fits(node: PlacingNode, { nodeSelector = {}, affinity }: Placing): boolean {
  if (!Object.entries(nodeSelector).every(([name, value]) => node.labels[name] === value)) {
    return false
  }
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution
  if (required === undefined) return true
  return required.nodeSelectorTerms.some(({ matchExpressions = [], matchFields = [] }) => {
    if (matchExpressions.length === 0 && matchFields.length === 0) return false
    return (
      matchExpressions.every(one => meets(node.labels[one.key], one)) &&
      matchFields.every(one => meets(node.name, one))
    )
  })
}

function meets(label: string | undefined, { operator, values = [] }: NodeExpression): boolean {
  switch (operator) {
    case 'Gt':
      return Number(label) > Number(values[0])
    case 'Lt':
      return Number(label) < Number(values[0])
    default:
      return meetsExpression(label, operator, values)
  }
}
