/** Label selectors as objects have them: `matchLabels` and `matchExpressions`. */

import { itemsOf, type JsonValue, memberOf } from '@watchglass/go'
import { textOf } from './metadata.ts'

/** Whether labels match a selector. No selector matches nothing, an empty one everything. */
export function matchesSelector(
  selector: JsonValue | undefined,
  labels: JsonValue | undefined,
): boolean {
  if (!(selector instanceof Map)) return false
  const matchLabels = selector.get('matchLabels')
  const pairs = matchLabels instanceof Map ? [...matchLabels] : []
  return (
    pairs.every(([name, value]) => memberOf(labels, name) === value) &&
    itemsOf(selector.get('matchExpressions')).every(expression => meets(expression, labels))
  )
}

function meets(expression: JsonValue, labels: JsonValue | undefined): boolean {
  const label = memberOf(labels, textOf(memberOf(expression, 'key')))
  const values = itemsOf(memberOf(expression, 'values'))
  switch (textOf(memberOf(expression, 'operator'))) {
    case 'In':
      return label !== undefined && values.includes(label)
    case 'NotIn':
      return label === undefined || !values.includes(label)
    case 'Exists':
      return label !== undefined
    case 'DoesNotExist':
      return label === undefined
    default:
      return false
  }
}
