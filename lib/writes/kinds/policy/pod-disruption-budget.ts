/** PodDisruptionBudgets: how many pods must stay, or may go, by number or percentage. */

import { checkConditions } from '../../validation/conditions.ts'
import type { Place } from '../../validation/place.ts'
import { checkLabelSelector, isWrongSelector } from '../../validation/selectors.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkAtMostAll, checkPercent } from '../shared/percents.ts'

export const podDisruptionBudget: BuiltInKind = kind({
  group: 'policy',
  kind: 'PodDisruptionBudget',
  plural: 'poddisruptionbudgets',
  hasStatus: true,
  needsVersion: true,
  counted: ['spec'],
  hasOwnMetadata: true,
  validateCreate: object => checkBudget(object.in('spec')),
  validateUpdate: (object, old) => checkBudget(object.in('spec'), old.in('spec', 'selector')),
  subresources: {
    status: {
      validate: object => {
        checkConditions(object.in('status', 'conditions'))
        for (const name of counts) object.in('status', name).notNegative()
      },
    },
  },
})

/** Numbers in the status of a budget. */
const counts = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods']

function checkBudget(spec: Place, oldSelector?: Place): void {
  const [least, most, policy] = [
    spec.in('minAvailable'),
    spec.in('maxUnavailable'),
    spec.in('unhealthyPodEvictionPolicy'),
  ]
  if (least.isSet && most.isSet) {
    spec.invalid('minAvailable and maxUnavailable cannot be both set', shownBudget(spec))
  }
  for (const place of [least, most]) {
    if (!place.isSet) continue
    checkPercent(place)
    checkAtMostAll(place)
  }
  const areValuesFree = isWrongSelector(oldSelector)
  checkLabelSelector(spec.in('selector'), { areValuesFree })
  if (policy.isSet) policy.oneOf(['AlwaysAllow', 'IfHealthyBudget'], 'unsupported')
}

/** The server's own type. */
function shownBudget(spec: Place): Map<string, ReturnType<typeof valueOf>> {
  return new Map([
    ['MinAvailable', valueOf(spec, 'minAvailable')],
    ['Selector', valueOf(spec, 'selector')],
    ['MaxUnavailable', valueOf(spec, 'maxUnavailable')],
    ['UnhealthyPodEvictionPolicy', valueOf(spec, 'unhealthyPodEvictionPolicy')],
  ])
}

function valueOf(spec: Place, name: string): NonNullable<Place['value']> | null {
  return spec.in(name).value ?? null
}
