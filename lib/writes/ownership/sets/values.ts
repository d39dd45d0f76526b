/** Values as structured-merge-diff sees them: which are equal, in which order they stand in a
 *  set, and how messages show them. A number counts as an integer when Go decodes it to an
 *  int64, else as a float; the two compare by number. */

import { compareUtf8, goQuote, JsonNumber, type JsonObject, type JsonValue } from '@watchglass/go'

/** Whether Go decodes the number to an int64: canonical texts of floats have a point, an
 *  exponent or too many digits. */
export function isInteger(number: JsonNumber): boolean {
  if (!/^-?[0-9]+$/.test(number.source) || !/^-?[0-9]+$/.test(number.text)) return false
  return number.text.length < 19 || fitsInt64(number.text)
}

export function areEqual(a: JsonValue, b: JsonValue): boolean {
  if (a === b) return true
  if (a instanceof JsonNumber) return b instanceof JsonNumber && compareNumbers(a, b) === 0
  if (Array.isArray(a)) {
    return (
      Array.isArray(b) &&
      a.length === b.length &&
      a.every((item, i) => areEqual(item, b[i] as JsonValue))
    )
  }
  if (!(a instanceof Map) || !(b instanceof Map) || a.size !== b.size) return false
  for (const [key, value] of a) {
    const other = b.get(key)
    if (other === undefined || !areEqual(value, other)) return false
  }
  return true
}

/** The order of values of any kinds: numbers, texts, booleans, lists, objects, null. */
export function compareValues(a: JsonValue, b: JsonValue): number {
  const kinds = kindOrder(a) - kindOrder(b)
  if (kinds !== 0) return kinds
  if (a instanceof JsonNumber) return compareNumbers(a, b as JsonNumber)
  if (typeof a === 'string') return compareUtf8(a, b as string)
  if (typeof a === 'boolean') return Number(a) - Number(b)
  if (Array.isArray(a)) return compareLists(a, b as JsonValue[])
  if (a instanceof Map) return compareMaps(a, b as JsonObject)
  return 0
}

/** The value in the text of a path, as in `[name="web"]`. */
export function valueText(value: JsonValue): string {
  if (value instanceof JsonNumber) return floatText(value)
  if (typeof value === 'string') return goQuote(value)
  if (Array.isArray(value)) return `[${value.map(valueText).join(',')}]`
  if (value instanceof Map) {
    return [...value].map(([key, member]) => `${key}=${valueText(member)}`).join('')
  }
  return String(value)
}

function compareNumbers(a: JsonNumber, b: JsonNumber): number {
  if (isInteger(a) && isInteger(b)) {
    const left = BigInt(a.text)
    const right = BigInt(b.text)
    return left < right ? -1 : left > right ? 1 : 0
  }
  return Number(a.text) - Number(b.text)
}

function compareLists(a: readonly JsonValue[], b: readonly JsonValue[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const order = compareValues(a[i] as JsonValue, b[i] as JsonValue)
    if (order !== 0) return order
  }
  return a.length - b.length
}

function compareMaps(a: JsonObject, b: JsonObject): number {
  const left = [...a].sort(([x], [y]) => compareUtf8(x, y))
  const right = [...b].sort(([x], [y]) => compareUtf8(x, y))
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    const [leftKey, leftValue] = left[i] as [string, JsonValue]
    const [rightKey, rightValue] = right[i] as [string, JsonValue]
    const order = compareUtf8(leftKey, rightKey) || compareValues(leftValue, rightValue)
    if (order !== 0) return order
  }
  return left.length - right.length
}

function kindOrder(value: JsonValue): number {
  if (value instanceof JsonNumber) return 0
  if (typeof value === 'string') return 1
  if (typeof value === 'boolean') return 2
  if (Array.isArray(value)) return 3
  return value === null ? 5 : 4
}

function fitsInt64(text: string): boolean {
  if (text.length > 20) return false
  const value = BigInt(text)
  return BigInt.asIntN(64, value) === value
}

/** `%v` of a number: a float with a large exponent is written with one. */
function floatText(number: JsonNumber): string {
  if (isInteger(number)) return number.text
  const float = Number(number.text)
  const size = Math.abs(float)
  if (size !== 0 && (size < 1e-4 || size >= 1e21)) {
    return float.toExponential().replace(/e([+-])(\d)$/, 'e$10$2')
  }
  return String(float)
}
