/** Numbers of pods that may be percentages. */

import { NamedText } from '../../field-errors.ts'
import { percent } from '../../validation/formats.ts'
import type { Place } from '../../validation/place.ts'

/** A number that is not negative, or a percentage. */
export function checkPercent(place: Place): void {
  if (typeof place.value === 'string') {
    place.invalidFor(percent(place.text), new NamedText(place.text))
  } else place.notNegative()
}

export function checkAtMostAll(place: Place): void {
  if (typeof place.value !== 'string' || percent(place.text).length > 0) return
  if (amountOf(place) > 100) place.invalid('must not be greater than 100%')
}

export function amountOf(place: Place): number {
  if (typeof place.value !== 'string') return place.number
  const digits = /^([-+]?\d+)%?$/.exec(place.text)?.[1]
  return digits === undefined ? 0 : Number(digits)
}
