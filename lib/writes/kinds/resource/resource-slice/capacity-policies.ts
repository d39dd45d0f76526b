/** The policies by which a device's capacity is given out in parts. */

import { canonicalQuantity, quantityNanos, sumOfQuantities } from '@watchglass/go'
import type { Place } from '../../../validation/place.ts'

/** A policy of a capacity that has so much. */
export function checkRequestPolicy(policy: Place, capacity: string): void {
  const [values, range, preset] = [
    policy.in('validValues'),
    policy.in('validRange'),
    policy.in('default'),
  ]
  if (values.size > 0 && range.isSet) {
    policy.forbidden(
      'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time',
    )
    return
  }
  const [name, place] = values.size > 0 ? ['validValues', values] : ['validRange', range]
  if (!place.isSet || (place === values && values.size === 0)) return
  if (!preset.isSet) preset.required(`required when ${name} is defined`)
  else if (place === values) checkValues(values, preset.text, capacity)
  else checkRange(range, preset.text, capacity)
}

function checkValues(values: Place, preset: string, capacity: string): void {
  const { items } = values
  for (const [i, item] of items.entries()) {
    const before = items[i - 1]
    if (before === undefined || compare(before.text, item.text) <= 0) continue
    item.invalid('values must be sorted in ascending order', shown(item.text))
  }
  if (items.length > 10) values.tooMany(10)
  else checkOptions(items, capacity)
  const isPreset = items.length <= 10 && items.some(item => compare(item.text, preset) === 0)
  if (!isPreset) {
    values.invalid('default value is not valid according to the requestPolicy', shown(preset))
  }
}

function checkOptions(items: readonly Place[], capacity: string): void {
  for (const item of items) {
    if (compare(item.text, capacity) <= 0) continue
    const detail = `option is larger than capacity value: ${shown(capacity)}`
    item.invalid(detail, shown(item.text))
  }
  const seen = new Set<bigint>()
  for (const item of items) {
    const whole = wholeOf(item.text)
    if (seen.has(whole)) item.duplicate(String(whole))
    seen.add(whole)
  }
}

function checkRange(range: Place, preset: string, capacity: string): void {
  const [min, max, step] = [range.in('min'), range.in('max'), range.in('step')]
  const limit = `capacity value: ${shown(capacity)}`
  if (!min.isSet) {
    min.required('required when validRange is defined')
    return
  }
  if (compare(min.text, capacity) > 0) {
    min.invalid(`min is larger than ${limit}`, shown(min.text))
  }
  if (compare(preset, min.text) < 0) {
    min.invalid(`default is less than min: ${shown(min.text)}`, shown(preset))
  }
  if (max.isSet) {
    const most = shown(max.text)
    if (compare(min.text, max.text) > 0) {
      max.invalid(`min is larger than max: ${most}`, shown(min.text))
    }
    if (compare(max.text, capacity) > 0) max.invalid(`max is larger than ${limit}`, most)
    if (compare(preset, max.text) > 0) {
      max.invalid(`default is more than max: ${most}`, shown(preset))
    }
  }
  if (!step.isSet) return
  const first = sumOfQuantities([min.text, step.text])
  if (compare(first, capacity) > 0) {
    step.invalid(`one step ${first} is larger than ${limit}`, shown(step.text))
  }
  checkStep(step, preset, min.text)
  if (max.isSet) checkStep(step, max.text, min.text)
}

/** The value must be the least one and a number of steps. No value is steps of nothing. */
function checkStep(step: Place, value: string, min: string): void {
  const size = wholeOf(step.text)
  if (size !== 0n && (wholeOf(value) - wholeOf(min)) % size === 0n) return
  step.invalid(
    `value is not a multiple of a given step (${shown(step.text)}) from (${shown(min)})`,
    shown(value),
  )
}

function compare(a: string, b: string): number {
  const [first, second] = [quantityNanos(a), quantityNanos(b)]
  return first < second ? -1 : first > second ? 1 : 0
}

/** The value rounded away from zero, as Go's `Value` has it. */
function wholeOf(text: string): bigint {
  const nanos = quantityNanos(text)
  const whole = nanos / 1_000_000_000n
  if (whole * 1_000_000_000n === nanos) return whole
  return nanos < 0n ? whole - 1n : whole + 1n
}

function shown(text: string): string {
  return canonicalQuantity(text) ?? text
}
