/** Decoded JSON as Go prints it in messages. */

import { JsonNumber, type JsonValue } from '@watchglass/go'
import { isInteger, valueText } from './ownership/sets/values.ts'
import { sortedMembers } from './sorted-members.ts'

/** The null of expressions, which is a number in Go: a constant of protobuf's. */
export const nullNumber: JsonNumber = new JsonNumber('0')

/** `%v`, and of decoded JSON `%+v` too: `map[data:map[a:1] kind:ConfigMap]`. */
export function goValueText(value: JsonValue): string {
  if (value === null) return '<nil>'
  if (value === nullNumber) return 'NULL_VALUE'
  if (value instanceof JsonNumber) return valueText(value)
  if (Array.isArray(value)) return `[${value.map(goValueText).join(' ')}]`
  if (!(value instanceof Map)) return String(value)
  const members = sortedMembers(value).map(([name, member]) => `${name}:${goValueText(member)}`)
  return `map[${members.join(' ')}]`
}

/** A value that should be a text as Go's `%s` prints it. */
export function goTextOf(value: JsonValue): string {
  if (typeof value === 'string') return value
  if (value === null) return '%!s(<nil>)'
  if (value instanceof Map || Array.isArray(value)) return goValueText(value)
  return `%!s(${goTypeText(value)}=${goValueText(value)})`
}

/** The type of a value as Go's `%T` prints it. */
export function goTypeText(value: JsonValue): string {
  if (value === null) return '<nil>'
  if (value instanceof JsonNumber) return isInteger(value) ? 'int64' : 'float64'
  if (Array.isArray(value)) return '[]interface {}'
  if (value instanceof Map) return 'map[string]interface {}'
  return typeof value === 'string' ? 'string' : 'bool'
}
