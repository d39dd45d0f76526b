/** LimitRanges: one that comes without a name is named by its uid. */

import { type JsonObject, quantityNanos } from '@watchglass/go'
import { NamedText } from '../../field-errors.ts'
import { metadataOf, textOf } from '../../metadata.ts'
import { qualifiedName } from '../../validation/formats.ts'
import type { Place } from '../../validation/place.ts'
import {
  checkContainerResourceName,
  checkResourceName,
  isHugePages,
  isNative,
} from '../../validation/pods/resources.ts'
import { type BuiltInKind, kind } from '../kind.ts'

export const limitRange: BuiltInKind = kind({
  group: '',
  kind: 'LimitRange',
  plural: 'limitranges',
  createsOnUpdate: true,
  prepareCreate: nameByUid,
  hasFreeUpdate: true,
  isCheckedAsNew: true,
  validateCreate: checkLimits,
  validateUpdate: checkLimits,
})

/** A limit range needs no name of its own. */
function nameByUid(object: JsonObject): void {
  const metadata = metadataOf(object)
  if (textOf(metadata.get('name')) === '') metadata.set('name', textOf(metadata.get('uid')))
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
