/** ResourceQuotas and LimitRanges. */

import { quantityNanos } from '@watchglass/go'
import { qualifiedName } from '../formats.ts'
import type { KindRules } from '../kind-rules.ts'
import { internalValue } from '../internal-types.ts'
import { NamedText } from '../../field-errors.ts'
import type { Place } from '../place.ts'
import {
  checkContainerResourceName,
  checkQuantity,
  checkResourceName,
  isHugePages,
  isNative,
  quotaResources,
} from '../pods/resources.ts'

export const quotaRules: Readonly<Record<string, KindRules>> = {
  ResourceQuota: {
    create: object => {
      checkQuota(object.in('spec'))
      checkAmounts(object.in('status', 'hard'))
      checkAmounts(object.in('status', 'used'))
    },
    update: (object, old) => {
      checkQuota(object.in('spec'))
      const scopes = object.in('spec', 'scopes')
      const [now, before] = [scopes, old.in('spec', 'scopes')].map(place => {
        return [...new Set(place.texts)].sort().join(' ')
      })
      if (now !== before) scopes.invalid('field is immutable', scopes.shown)
    },
    subresources: {
      status: object => {
        checkAmounts(object.in('status', 'hard'))
        checkAmounts(object.in('status', 'used'))
      },
    },
  },
  LimitRange: {
    hasFreeUpdate: true,
    isCheckedAsNew: true,
    create: checkLimits,
    update: checkLimits,
  },
}

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

const limitTypes = ['Pod', 'Container', 'PersistentVolumeClaim']

function checkLimits(object: Place): void {
  const types = new Set<string>()
  for (const limit of object.in('spec', 'limits').items) {
    const type = limit.in('type')
    const problems = qualifiedName(type.text)
    type.invalidFor(problems, new NamedText(type.text))
    if (problems.length === 0 && !type.text.includes('/') && !limitTypes.includes(type.text)) {
      type.invalidName('must be a standard limit type or fully qualified')
    }
    if (types.has(type.text)) type.duplicate(type.text)
    types.add(type.text)
    checkLimitNames(limit, type.text)
    const names = ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio']
    const keys = new Set(names.flatMap(name => [...(limit.in(name).object?.keys() ?? [])]))
    for (const key of keys) checkLimit(limit, key, type.text)
  }
}

function checkLimitNames(limit: Place, type: string): void {
  const check = (name: string): void => {
    for (const [key, amount] of limit.in(name).entries) {
      if (type === 'Pod' || type === 'Container') checkContainerResourceName(amount, key)
      else checkResourceName(amount, key)
    }
  }
  check('max')
  check('min')
  for (const name of ['default', 'defaultRequest']) {
    if (type !== 'Pod') check(name)
    else if (limit.in(name).size > 0) {
      limit.in(name).forbidden("may not be specified when `type` is 'Pod'")
    }
  }
  const hasStorage = limit.in('min', 'storage').isSet || limit.in('max', 'storage').isSet
  if (type === 'PersistentVolumeClaim' && !hasStorage) {
    limit
      .in('limits')
      .required('either minimum or maximum storage value is required, but neither was provided')
  }
  check('maxLimitRequestRatio')
}

/** The amounts of one resource must fit together. */
function checkLimit(limit: Place, key: string, type: string): void {
  const of = (name: string): Place => {
    const isUsed = type !== 'Pod' || !name.startsWith('default')
    const map = limit.in(name)
    return map.in(key).as(`${map.path}[${key}]`, isUsed ? (map.in(key).value ?? null) : null)
  }
  const [min, max, usual, request] = [of('min'), of('max'), of('default'), of('defaultRequest')]
  const compare = (low: Place, high: Place, told: Place, words: readonly string[]): void => {
    if (!low.isSet || !high.isSet) return
    if (quantityNanos(low.text) <= quantityNanos(high.text)) return
    told.invalid(`${words[0]} value ${low.text} is greater than ${words[1]} value ${high.text}`)
  }
  compare(min, max, min, ['min', 'max'])
  compare(min, request, request, ['min', 'default request'])
  compare(request, max, request, ['default request', 'max'])
  compare(request, usual, request, ['default request', 'default limit'])
  const path = usual.path
  compare(min, usual, min.as(path), ['min', 'default'])
  compare(usual, max, max.as(path), ['default', 'max'])
  checkRatio(of('maxLimitRequestRatio'), min, max)
  const mayOvercommit = isNative(key) && !isHugePages(key)
  if (mayOvercommit || !usual.isSet || !request.isSet) return
  if (quantityNanos(usual.text) === quantityNanos(request.text)) return
  request.invalid(
    `default value ${usual.text} must equal to defaultRequest value ${request.text} in ${key}`,
  )
}

function checkRatio(ratio: Place, min: Place, max: Place): void {
  if (!ratio.isSet) return
  const nanos = quantityNanos(ratio.text)
  if (nanos < whole) ratio.invalid(`ratio ${ratio.text} is less than 1`)
  if (!min.isSet || !max.isSet) return
  const all = [nanos, quantityNanos(min.text), quantityNanos(max.text)]
  // Large amounts are compared as whole numbers, others by thousandths, all rounded up.
  const isLarge = all.some(amount => roundedUp(amount, whole) >= largest)
  const unit = isLarge ? whole : thousandth
  const [most, low, high] = all.map(amount => Number(roundedUp(amount, unit))) as [
    number,
    number,
    number,
  ]
  const limit = high / low
  // Nothing is greater than what is no number.
  if (!((isLarge ? most : most / 1000) > limit)) return
  ratio.invalid(`ratio ${ratio.text} is greater than max/min = ${goFixed(limit)}`)
}

const whole = 1_000_000_000n
const thousandth = 1_000_000n
/** The largest number whose thousandths a number of 64 bits holds. */
const largest = 9_223_372_036_854_775n

/** The number of units in an amount, rounded away from zero. */
function roundedUp(nanos: bigint, unit: bigint): bigint {
  return nanos < 0n ? -roundedUp(-nanos, unit) : (nanos + unit - 1n) / unit
}

function goFixed(number: number): string {
  if (Number.isFinite(number)) return number.toFixed(6)
  return Number.isNaN(number) ? 'NaN' : number > 0 ? '+Inf' : '-Inf'
}
