/** Amounts of resources as the server compares them: 1Gi is 1073741824. */

import { canonicalQuantity, type JsonValue, quantityNanos } from '@watchglass/go'

const keys: ReadonlySet<string> = new Set([
  'allocatable',
  'capacity',
  'limits',
  'overhead',
  'podFixed',
  'requests',
])

/** True for the names of members that are one amount. */
export function isAmount(key: string): boolean {
  return key === 'sizeLimit' || key === 'divisor'
}

/** True for the names of members that are maps of amounts. */
export function hasAmounts(key: string): boolean {
  return keys.has(key)
}

/** A text that equal amounts share. */
export function amountText(value: JsonValue): JsonValue {
  const isOne = typeof value === 'string' && canonicalQuantity(value) !== undefined
  return isOne ? `${quantityNanos(value)}n` : value
}
