/** Labels of nodes that were renamed. */

import { labelValue } from '../validation/formats.ts'
import type { Place } from '../validation/place.ts'

const oldLabels: ReadonlyMap<string, string> = new Map([
  ['beta.kubernetes.io/arch', 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ['beta.kubernetes.io/os', 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  [
    'failure-domain.beta.kubernetes.io/region',
    'deprecated since v1.17; use "topology.kubernetes.io/region" instead',
  ],
  [
    'failure-domain.beta.kubernetes.io/zone',
    'deprecated since v1.17; use "topology.kubernetes.io/zone" instead',
  ],
  [
    'beta.kubernetes.io/instance-type',
    'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead',
  ],
  ['app.kubernetes.io/created-by', 'deprecated since v1.9'],
  [
    'scheduler.alpha.kubernetes.io/preferAvoidPods',
    'deprecated since v1.22; use Taints and Tolerations instead',
  ],
  ['node-role.kubernetes.io/master', 'use "node-role.kubernetes.io/control-plane" instead'],
])

/** A label that stands at the path. */
export function ofOldLabel(label: string, path: string): string[] {
  const word = oldLabels.get(label)
  return word === undefined ? [] : [`${path}: ${word}`]
}

/** A place that names a label. */
export function ofLabel({ path, text }: Place): string[] {
  const word = oldLabels.get(text)
  return word === undefined ? [] : [`${path}: ${text} is ${word}`]
}

/** A term by which nodes are selected. */
export function ofTerm(term: Place, areValuesChecked: boolean): string[] {
  return term
    .in('matchExpressions')
    .items.flatMap(expression => [
      ...ofLabel(expression.in('key')),
      ...(areValuesChecked ? expression.in('values').items : []).flatMap(({ path, text }) =>
        labelValue(text).map(problem => `${path}: ${text} is invalid, ${problem}`),
      ),
    ])
}

export function ofLabelSelector(selector: Place): string[] {
  return [
    ...selector.in('matchExpressions').items.flatMap(expression => ofLabel(expression.in('key'))),
    ...selector
      .in('matchLabels')
      .entries.flatMap(([label]) => ofOldLabel(label, `${selector.path}.matchLabels.${label}`)),
  ]
}
