/** JSON inside a typed object, which Go keeps as bytes: the order of members and the forms of
 *  numbers are part of it. White space is not, to us: we read it without. */

import { JsonNumber, type JsonValue, textInOrder } from '@watchglass/go'

/** The value with its numbers as they were written. */
export function asWritten(value: JsonValue): JsonValue {
  if (value instanceof JsonNumber) return new JsonNumber(value.source)
  if (Array.isArray(value)) return value.map(asWritten)
  if (!(value instanceof Map)) return value
  return new Map([...value].map(([name, member]) => [name, asWritten(member)]))
}

export function isSameRaw(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  return rawText(a ?? null) === rawText(b ?? null)
}

/** The text that Go has of it. */
export function rawText(value: JsonValue): string {
  return textInOrder(asWritten(value))
}
