/** The order of values of one type. */

import { compareUtf8 } from '@watchglass/go'
import { noOverload } from './errors.ts'
import { compareNumbers } from './numbers.ts'
import { ofChars, spendWork } from './work.ts'
import { Duration, isNumeric, Timestamp, typeName, type Value } from './values.ts'

/** Negative, 0 or positive; throws where the values have no order. */
export function compare(a: Value, b: Value): number {
  if (typeof a === 'string' && typeof b === 'string') {
    spendWork(ofChars(Math.min(a.length, b.length)))
    return a === b ? 0 : isPlain(a) && isPlain(b) ? (a < b ? -1 : 1) : Math.sign(compareUtf8(a, b))
  }
  if (isNumeric(a) && isNumeric(b)) return compareNumbers(a, b)
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  if (a instanceof Timestamp && b instanceof Timestamp) {
    return Math.sign(a.seconds - b.seconds || a.nanos - b.nanos)
  }
  if (a instanceof Duration && b instanceof Duration) {
    return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0
  }
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b)
  throw noOverload()
}

/** True if the text has no half of a pair, whose order is not that of its code point. */
function isPlain(text: string): boolean {
  return !/[\ud800-\udfff]/.test(text)
}

/** True if values of the type can be compared. */
export function hasOrder(value: Value): boolean {
  return (
    isNumeric(value) ||
    ['string', 'boolean'].includes(typeof value) ||
    value instanceof Timestamp ||
    value instanceof Duration ||
    value instanceof Uint8Array
  )
}

export function haveOneType(a: Value, b: Value): boolean {
  return typeName(a) === typeName(b)
}
