/** ResourceQuotas: what objects of a namespace may ask for together. */

import { quantityNanos } from '@watchglass/go'
import { internalValue } from '../../validation/internal-types.ts'
import type { Place } from '../../validation/place.ts'
import {
  checkQuantity,
  checkResourceName,
  quotaResources,
} from '../../validation/pods/resources.ts'
import { type BuiltInKind, kind } from '../kind.ts'

export const resourceQuota: BuiltInKind = kind({
  group: '',
  kind: 'ResourceQuota',
  plural: 'resourcequotas',
  hasStatus: true,
  returnsDeleted: true,
  validateCreate: object => {
    checkQuota(object.in('spec'))
    checkAmounts(object.in('status', 'hard'))
    checkAmounts(object.in('status', 'used'))
  },
  validateUpdate: (object, old) => {
    checkQuota(object.in('spec'))
    const scopes = object.in('spec', 'scopes')
    const [now, before] = [scopes, old.in('spec', 'scopes')].map(place => {
      return [...new Set(place.texts)].sort().join(' ')
    })
    if (now !== before) scopes.invalid('field is immutable', scopes.shown)
  },
  warn: (object, old) => (old === undefined ? ofQuota(object) : []),
  subresources: {
    status: {
      validate: object => {
        checkAmounts(object.in('status', 'hard'))
        checkAmounts(object.in('status', 'used'))
      },
    },
  },
})

function isQuotaResource(name: string): boolean {
  return quotaResources.has(name) || /^(?:requests\.)?hugepages-/.test(name)
}

function checkAmounts(amounts: Place): void {
  for (const [name, amount] of amounts.entries) {
    checkResourceName(amount, name)
    if (!name.includes('/') && !isQuotaResource(name)) {
      amount.invalidName('must be a standard resource for quota', name)
    }
    checkQuantity(amount, name)
  }
}

const scopes = [
  'Terminating',
  'NotTerminating',
  'BestEffort',
  'NotBestEffort',
  'PriorityClass',
  'CrossNamespacePodAffinity',
  'VolumeAttributesClass',
]

const podResources = ['pods', 'cpu', 'memory', 'requests.cpu', 'requests.memory']

const limitResources = ['limits.cpu', 'limits.memory']

function isScopeOf(scope: string, resource: string): boolean {
  switch (scope) {
    case 'BestEffort':
      return resource === 'pods'
    case 'VolumeAttributesClass':
      return resource === 'persistentvolumeclaims' || resource === 'requests.storage'
    case 'Terminating':
    case 'NotTerminating':
    case 'NotBestEffort':
    case 'PriorityClass':
    case 'CrossNamespacePodAffinity':
      return podResources.includes(resource) || limitResources.includes(resource)
    default:
      return true
  }
}

const exclusive = [
  ['BestEffort', 'NotBestEffort'],
  ['NotTerminating', 'Terminating'],
]

function checkQuota(spec: Place): void {
  checkAmounts(spec.in('hard'))
  const names = [...(spec.in('hard').object?.keys() ?? [])].filter(isQuotaResource)
  const list = spec.in('scopes')
  for (const scope of list.texts) {
    if (!scopes.includes(scope)) list.invalid('unsupported scope')
    for (const name of names) {
      if (!isScopeOf(scope, name)) list.invalid('unsupported scope applied to resource')
    }
  }
  checkConflicts(list.texts, list)
  const selector = spec.in('scopeSelector')
  if (!selector.isSet) return
  const expressions = selector.in('matchExpressions')
  for (const item of expressions.items) {
    const scope = item.in('scopeName').as(`${expressions.path}.scopeName`)
    if (!scopes.includes(scope.text)) scope.invalidName('unsupported scope')
    for (const name of names) {
      if (isScopeOf(item.in('scopeName').text, name)) continue
      const shown = internalValue('*ScopeSelector', selector.value)
      expressions.invalid('unsupported scope applied to resource', shown)
    }
    checkScopeExpression(item, expressions)
  }
  const chosen = expressions.items.map(item => item.in('scopeName').text)
  checkConflicts(chosen, expressions.as(expressions.path, list.value ?? null))
}

function checkConflicts(chosen: readonly string[], place: Place): void {
  for (const pair of exclusive) {
    if (!pair.every(scope => chosen.includes(scope))) continue
    place.invalid('conflicting scopes', place.value ?? null)
  }
}

/** Errors name the whole list of expressions. */
function checkScopeExpression(item: Place, expressions: Place): void {
  const scope = expressions
    .in('scopeName')
    .as(`${expressions.path}.scopeName`, item.in('scopeName').value ?? null)
  const operator = scope.as(`${expressions.path}.operator`, item.in('operator').value ?? null)
  const values = scope.as(`${expressions.path}.values`, item.in('values').value ?? null)
  const isPlain =
    scopes.includes(scope.text) && !/^(?:Priority|VolumeAttributes)Class$/.test(scope.text)
  if (isPlain && operator.text !== 'Exists') {
    operator.invalid(
      "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
      operator.text,
    )
  }
  if (operator.text === 'In' || operator.text === 'NotIn') {
    if (values.size === 0) {
      values.required(
        "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
      )
    }
  } else if (operator.text === 'Exists' || operator.text === 'DoesNotExist') {
    if (values.size > 0) {
      values.invalid(
        "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
      )
    }
  } else operator.invalidName('not a valid selector operator')
}

/** A quota that allows more to be asked for than to be used. */
function ofQuota(object: Place): string[] {
  const hard = object.in('spec', 'hard')
  return ['cpu', 'memory', 'ephemeral-storage'].flatMap(name => {
    const bare = name === 'ephemeral-storage' ? [] : [name]
    const asked = [`requests.${name}`, ...bare].find(one => hard.in(one).isSet)
    const [request, limit] = [hard.in(asked ?? ''), hard.in(`limits.${name}`)]
    if (asked === undefined || !limit.isSet) return []
    if (quantityNanos(request.text) <= quantityNanos(limit.text)) return []
    return [
      `ResourceQuota ${asked} (${request.text}) should be less than limits.${name} (${limit.text})`,
    ]
  })
}
