/** Pod failure policies and success policies of Jobs. */

import { goQuote } from '@watchglass/go'
import { qualifiedName } from '../../../validation/formats.ts'
import { internalValue } from '../../../validation/internal-types.ts'
import type { Place } from '../../../validation/place.ts'

const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore']
const conditionStatuses = ['False', 'True', 'Unknown']

/** One of some values, which the error names if the value is missing. */
function checkChoice(place: Place, values: readonly string[]): void {
  if (place.text === '') place.required(`valid values: [${values.map(goQuote).join(' ')}]`)
  else if (!values.includes(place.text)) place.notSupported(values)
}

export function checkFailurePolicy(policy: Place, spec: Place): void {
  const rules = policy.in('rules')
  if (rules.size > 20) rules.tooMany(20)
  const pod = spec.in('template', 'spec')
  const containers = [...pod.in('containers').items, ...pod.in('initContainers').items]
  const names = new Set(containers.map(container => container.in('name').text))
  for (const rule of rules.items) {
    const [action, codes, conditions] = [
      rule.in('action'),
      rule.in('onExitCodes'),
      rule.in('onPodConditions'),
    ]
    if (action.text !== 'FailIndex') checkChoice(action, actions)
    else if (!spec.in('backoffLimitPerIndex').isSet) {
      action.invalid('requires the backoffLimitPerIndex to be set')
    }
    if (codes.isSet) checkExitCodes(codes, names)
    if (conditions.size > 20) conditions.tooMany(20)
    for (const condition of conditions.items) {
      const type = condition.in('type')
      type.mustBe(qualifiedName)
      checkChoice(condition.in('status'), conditionStatuses)
    }
    const count = (codes.isSet ? 1 : 0) + (conditions.size > 0 ? 1 : 0)
    if (count === 1) continue
    const detail = count === 2 ? 'specifying both' : 'specifying one of'
    const end = count === 2 ? 'is not supported' : 'is required'
    rule.invalidPlainly(`${detail} OnExitCodes and OnPodConditions ${end}`)
  }
}

function checkExitCodes(codes: Place, containers: ReadonlySet<string>): void {
  const [operator, container, values] = [
    codes.in('operator'),
    codes.in('containerName'),
    codes.in('values'),
  ]
  checkChoice(operator, ['In', 'NotIn'])
  if (container.isSet && !containers.has(container.text)) {
    container.invalid('must be one of the container or initContainer names in the pod template')
  }
  if (values.size === 0) values.invalid('at least one value is required', values.shown)
  else if (values.size > 255) values.tooMany(255)
  const seen = new Set<number>()
  let isOrdered = true
  let last: number | undefined
  for (const value of values.items) {
    const { number } = value
    if (operator.text === 'In' && number === 0) {
      value.invalid('must not be 0 for the In operator')
    }
    if (seen.has(number)) value.duplicate()
    seen.add(number)
    if (last !== undefined && last > number) isOrdered = false
    last = number
  }
  if (!isOrdered) values.invalid('must be ordered')
}

export function checkSuccessPolicy(policy: Place, spec: Place): void {
  if (spec.in('completionMode').text !== 'Indexed') {
    const shown = internalValue('SuccessPolicy', policy.value)
    policy.invalid('requires indexed completion mode', shown)
    return
  }
  const rules = policy.in('rules')
  if (rules.size === 0) {
    rules.required('at least one rules must be specified when the successPolicy is specified')
  }
  if (rules.size > 20) rules.tooMany(20)
  for (const rule of rules.items) checkSuccessRule(rule, spec.in('completions').number)
}

function checkSuccessRule(rule: Place, completions: number): void {
  const [count, indexes] = [rule.in('succeededCount'), rule.in('succeededIndexes')]
  if (!count.isSet && !indexes.isSet) {
    rule.required('at least one of succeededCount or succeededIndexes must be specified')
  }
  let total = 0
  if (indexes.isSet) {
    if (indexes.text.length > 65536) indexes.tooLong(65536)
    const counted = countIndexes(indexes.text, completions)
    if (typeof counted === 'number') total = counted
    else indexes.invalid(`error parsing succeededIndexes: ${counted}`)
  }
  if (!count.isSet) return
  count.notNegative()
  const limits = [[completions, 'specified completions']] as [number, string][]
  if (indexes.isSet) limits.push([total, 'indexes in the specified succeededIndexes field'])
  for (const [limit, words] of limits) {
    if (count.number <= limit) continue
    count.invalid(`must be less than or equal to ${limit} (the number of ${words})`)
  }
}

/** The number of indexes that `1,3-5` names, or its problem. */
function countIndexes(text: string, completions: number): number | string {
  let [total, last] = [0, -Infinity]
  for (const interval of text === '' ? [] : text.split(',')) {
    const limits = interval.split('-')
    if (limits.length > 2) {
      return `the fragment ${goQuote(interval)} violates the requirement that an index interval can have at most two parts separated by '-'`
    }
    for (const limit of limits) {
      if (!/^[-+]?\d+$/.test(limit)) {
        return `cannot convert string to integer for index: ${goQuote(limit)}`
      }
      if (Number(limit) >= completions) return `too large index: ${goQuote(limit)}`
    }
    const [x = 0, y = x] = limits.map(Number)
    if (limits.length > 1 && x >= y) return unordered(x, y)
    if (last >= x) return unordered(last, x)
    total += y - x + 1
    last = y
  }
  return total
}

function unordered(previous: number, current: number): string {
  return `non-increasing order, previous: ${previous}, current: ${current}`
}
