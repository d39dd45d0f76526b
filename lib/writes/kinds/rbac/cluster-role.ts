/** ClusterRoles, which may be made of others that labels select. */

import type { Place } from '../../validation/place.ts'
import { checkLabelSelector, isWrongSelector } from '../../validation/selectors.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { checkRules, rulesOf } from './shared/rules.ts'

export const clusterRole: BuiltInKind = kind({
  group: 'rbac.authorization.k8s.io',
  kind: 'ClusterRole',
  plural: 'clusterroles',
  createsOnUpdate: true,
  ...rulesOf(checkClusterRole, false),
})

function checkClusterRole(object: Place, old?: Place): void {
  checkRules(object, false)
  const aggregation = object.in('aggregationRule')
  if (!aggregation.isSet) return
  const selectors = aggregation.in('clusterRoleSelectors')
  if (selectors.size === 0) {
    selectors.required('at least one clusterRoleSelector required if aggregationRule is non-nil')
  }
  const known = old?.in('aggregationRule', 'clusterRoleSelectors').items ?? []
  const areValuesFree = known.some(isWrongSelector)
  for (const selector of selectors.items) {
    const before = selector.errors.length
    checkLabelSelector(selector, { areValuesFree })
    // A selector that is none is shown as the one that it became: nothing.
    if (selector.errors.length > before) selector.invalid('invalid label selector.', null)
  }
}
