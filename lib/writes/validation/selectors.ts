/** Label selectors. */

import { labelValue, qualifiedName } from './formats.ts'
import { checkLabels } from './object-meta.ts'
import type { Place } from './place.ts'

/** With free values, those of expressions may be anything: an object that was stored before they
 *  were checked can still be changed (AllowInvalidLabelValueInSelector). */
export function checkLabelSelector(
  selector: Place,
  { areValuesFree = false }: { readonly areValuesFree?: boolean } = {},
): void {
  checkLabels(selector.in('matchLabels'))
  for (const item of selector.in('matchExpressions').items) {
    checkOperator(item)
    item.in('key').mustBe(qualifiedName)
    if (areValuesFree) continue
    for (const value of item.in('values').items) value.mustBe(labelValue)
  }
}

/** Whether a stored selector has errors, so that the values of its expressions are free from then
 *  on. */
export function isWrongSelector(selector: Place | undefined): boolean {
  if (selector === undefined) return false
  const alone = selector.with([])
  checkLabelSelector(alone)
  return alone.errors.length > 0
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
