/** The scopes of resource quotas: which pods and claims a quota is about. */

import { itemsOf, type JsonObject, memberOf } from '@watchglass/go'
import { numberOf, textOf } from '../../metadata.ts'
import { isSet, partOf, partsOf } from '../pod-parts.ts'
import { qualityOf } from '../../kinds/shared/quality-of-service.ts'

export interface ScopeSelector {
  readonly scope: string
  readonly operator: string
  readonly values: readonly string[]
}

export function selectorsOf(quota: JsonObject): ScopeSelector[] {
  const spec = partOf(quota, 'spec')
  const named = itemsOf(spec.get('scopes')).map(scope => ({
    scope: textOf(scope),
    operator: 'Exists',
    values: [],
  }))
  const chosen = partsOf(spec.get('scopeSelector'), 'matchExpressions').map(one => ({
    scope: textOf(one.get('scopeName')),
    operator: textOf(one.get('operator')),
    values: itemsOf(one.get('values')).map(textOf),
  }))
  return [...named, ...chosen]
}

/** True for a pod with a deadline. */
export function isTerminating(pod: JsonObject): boolean {
  const deadline = numberOf(partOf(pod, 'spec').get('activeDeadlineSeconds'))
  return deadline !== undefined && deadline >= 0
}

export function isPodInScope(selector: ScopeSelector, pod: JsonObject): boolean {
  switch (selector.scope) {
    case 'Terminating':
      return isTerminating(pod)
    case 'NotTerminating':
      return !isTerminating(pod)
    case 'BestEffort':
      return qualityOf(pod.get('spec')) === 'BestEffort'
    case 'NotBestEffort':
      return qualityOf(pod.get('spec')) !== 'BestEffort'
    case 'PriorityClass':
      return selects(selector, [textOf(partOf(pod, 'spec').get('priorityClassName'))])
    case 'CrossNamespacePodAffinity':
      return hasAffinityElsewhere(pod)
    default:
      return false
  }
}

export function isClaimInScope(selector: ScopeSelector, claim: JsonObject): boolean {
  if (selector.scope !== 'VolumeAttributesClass') return false
  const status = claim.get('status')
  return selects(selector, [
    textOf(partOf(claim, 'spec').get('volumeAttributesClassName')),
    textOf(memberOf(status, 'currentVolumeAttributesClassName')),
    textOf(memberOf(memberOf(status, 'modifyVolumeStatus'), 'targetVolumeAttributesClassName')),
  ])
}

/** Whether one of the names, of which the empty ones do not count, is selected. */
function selects({ operator, values }: ScopeSelector, names: readonly string[]): boolean {
  const known = names.filter(name => name !== '')
  switch (operator) {
    case 'Exists':
      return known.length > 0
    case 'DoesNotExist':
      return known.length === 0
    case 'In':
      return known.some(name => values.includes(name))
    case 'NotIn':
      return known.length === 0 || known.some(name => !values.includes(name))
    default:
      return false
  }
}

function hasAffinityElsewhere(pod: JsonObject): boolean {
  const affinity = partOf(partOf(pod, 'spec'), 'affinity')
  return ['podAffinity', 'podAntiAffinity'].some(side => {
    const terms = partOf(affinity, side)
    const preferred = partsOf(terms, 'preferredDuringSchedulingIgnoredDuringExecution')
    return [
      ...partsOf(terms, 'requiredDuringSchedulingIgnoredDuringExecution'),
      ...preferred.map(term => partOf(term, 'podAffinityTerm')),
    ].some(
      term => itemsOf(term.get('namespaces')).length > 0 || isSet(term.get('namespaceSelector')),
    )
  })
}
