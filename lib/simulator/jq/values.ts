/** Values as jq has them: those of JSON, their order, and the words of its errors. */

import { isObject, type UntypedObject } from '@watchglass/base'

export type JqValue =
  | null
  | boolean
  | number
  | string
  | readonly JqValue[]
  | { readonly [key: string]: JqValue }

/** A filter that failed: as `null | keys` does. */
export class JqError extends Error {}

export function typeOf(value: JqValue): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value
}

export function isTrue(value: JqValue): boolean {
  return value !== null && value !== false
}

export function isList(value: JqValue): value is readonly JqValue[] {
  return Array.isArray(value)
}

export function isMap(value: JqValue): value is { readonly [key: string]: JqValue } {
  return isObject(value)
}

export function keysOf(value: UntypedObject): string[] {
  return Object.keys(value).toSorted()
}

const ranks = ['null', 'false', 'true', 'number', 'string', 'array', 'object']

function rankOf(value: JqValue): number {
  return ranks.indexOf(typeof value === 'boolean' ? String(value) : typeOf(value))
}

/** Below zero, zero, or above it: null, false, true, numbers, texts, lists, objects. */
export function compare(a: JqValue, b: JqValue): number {
  const [rank, other] = [rankOf(a), rankOf(b)]
  if (rank !== other) return rank - other
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'string' && typeof b === 'string') return a < b ? -1 : a > b ? 1 : 0
  if (isList(a) && isList(b)) return compareLists(a, b)
  if (!isMap(a) || !isMap(b)) return 0
  const [names, others] = [keysOf(a), keysOf(b)]
  const byNames = compareLists(names, others)
  if (byNames !== 0) return byNames
  for (const name of names) {
    const order = compare(a[name] ?? null, b[name] ?? null)
    if (order !== 0) return order
  }
  return 0
}

function compareLists(a: readonly JqValue[], b: readonly JqValue[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    const order = compare(a[i] ?? null, b[i] ?? null)
    if (order !== 0) return order
  }
  return a.length - b.length
}

/** The values that `.[]` gives. */
export function* itemsOf(value: JqValue): Iterable<JqValue> {
  if (isList(value)) yield* value
  else if (isMap(value)) for (const name of Object.keys(value)) yield value[name] ?? null
  else throw new JqError(`cannot iterate over: ${typeOf(value)}`)
}

/** `.name`, `.["name"]` and `.[0]`. */
export function memberOf(value: JqValue, key: JqValue): JqValue {
  if (value === null && (typeof key === 'string' || typeof key === 'number')) return null
  if (isMap(value) && typeof key === 'string') {
    return Object.hasOwn(value, key) ? (value[key] ?? null) : null
  }
  if (isList(value) && typeof key === 'number') {
    const at = Math.trunc(key)
    return value[at < 0 ? value.length + at : at] ?? null
  }
  throw new JqError(`expected an object but got: ${typeOf(value)}`)
}
