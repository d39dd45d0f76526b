/** Label selectors. */

import { labelValue, qualifiedName } from './formats.ts'
import { checkLabels } from './object-meta.ts'
import type { Place } from './place.ts'

export function checkLabelSelector(selector: Place): void {
  checkLabels(selector.in('matchLabels'))
  for (const item of selector.in('matchExpressions').items) {
    checkOperator(item)
    item.in('key').mustBe(qualifiedName)
    for (const value of item.in('values').items) value.mustBe(labelValue)
  }
}

/** Checks an operator with its values; `checkOther` is called for one that is not of sets. */
export function checkOperator(
  item: Place,
  checkOther: (operator: Place, values: Place) => void = refuseOperator,
): void {
  const [operator, values] = [item.in('operator'), item.in('values')]
  switch (operator.text) {
    case 'In':
    case 'NotIn':
      if (values.size === 0) {
        values.required("must be specified when `operator` is 'In' or 'NotIn'")
      }
      break
    case 'Exists':
    case 'DoesNotExist':
      if (values.size > 0) {
        values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
      }
      break
    default:
      checkOther(operator, values)
  }
}

export function refuseOperator(operator: Place): void {
  operator.invalidName('not a valid selector operator')
}

/** True if the selector, which has no errors, is met by the labels. */
export function selects(selector: Place, labels: ReadonlyMap<string, unknown>): boolean {
  const equal = selector
    .in('matchLabels')
    .entries.every(([key, value]) => labels.get(key) === value.text)
  return (
    equal &&
    selector.in('matchExpressions').items.every(item => {
      const value = labels.get(item.in('key').text)
      const isListed = typeof value === 'string' && item.in('values').texts.includes(value)
      switch (item.in('operator').text) {
        case 'In':
          return isListed
        case 'NotIn':
          return !isListed
        case 'Exists':
          return value !== undefined
        default:
          return value === undefined
      }
    })
  )
}

/** True if the selector selects everything. */
export function isEmptySelector(selector: Place): boolean {
  return selector.in('matchLabels').size === 0 && selector.in('matchExpressions').size === 0
}
