/** Label selectors, over plain values. */

import type { Labels, ReplicaSet, Selector } from './objects.ts'

/** An empty selector matches nothing here: nobody's controller asks for everything. */
export function selects(
  { matchLabels = {}, matchExpressions = [] }: Selector,
  labels: Labels,
): boolean {
  const pairs = Object.entries(matchLabels)
  if (pairs.length === 0 && matchExpressions.length === 0) return false
  return (
    pairs.every(([name, value]) => labels[name] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) =>
      meetsExpression(labels[key], operator, values),
    )
  )
}

/** True if a label meets one of the operators that selectors of labels and of nodes share. */
export function meetsExpression(
  label: string | undefined,
  operator: string,
  values: readonly string[],
): boolean {
  switch (operator) {
    case 'In':
      return label !== undefined && values.includes(label)
    case 'NotIn':
      return label === undefined || !values.includes(label)
    case 'Exists':
      return label !== undefined
    case 'DoesNotExist':
      return label === undefined
    default:
      return false
  }
}

/** A replication controller has labels where a replica set has a selector. */
export function selectorOf({ selector = {}, template }: ReplicaSet['spec']): Selector {
  const isEmpty = Object.keys(selector).length === 0
  return isEmpty ? { matchLabels: template.metadata?.labels ?? {} } : asSelector(selector)
}

export function asSelector(selector: Selector | Labels): Selector {
  const isSelector = Object.values(selector).every(value => typeof value === 'object')
  return isSelector ? (selector as Selector) : { matchLabels: selector as Labels }
}
