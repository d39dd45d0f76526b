/** The metadata of objects on their way through a write. */

import { amountText, hasAmounts, isAmount } from './amounts.ts'
import { JsonNumber, type JsonObject, type JsonValue, memberOf } from '@watchglass/go'

/** The metadata, which every object has; an empty one is added where it is missing. */
export function metadataOf(object: JsonObject): JsonObject {
  const known = object.get('metadata')
  if (known instanceof Map) return known
  const metadata: JsonObject = new Map()
  object.set('metadata', metadata)
  return metadata
}

/** A text of the metadata; empty if it is not there. */
export function metaText(object: JsonObject, name: string): string {
  return textOf(memberOf(object.get('metadata'), name))
}

export function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : ''
}

/** A whole number; undefined if there is none. */
export function numberOf(value: JsonValue | undefined): number | undefined {
  return value instanceof JsonNumber ? Number(value.text) : undefined
}

/** Sets a member of the metadata, or removes it where the value is undefined. */
export function setMeta(object: JsonObject, name: string, value: JsonValue | undefined): void {
  const metadata = metadataOf(object)
  if (value === undefined) metadata.delete(name)
  else metadata.set(name, value)
}

/** Sets the member of `object` to what `source` has. */
export function copyMember(object: JsonObject, source: JsonObject, name: string): void {
  const value = source.get(name)
  if (value === undefined) object.delete(name)
  else object.set(name, value)
}

/** The generation; 0 if there is none. */
export function generationOf(object: JsonObject): number {
  return numberOf(memberOf(object.get('metadata'), 'generation')) ?? 0
}

export function setGeneration(object: JsonObject, generation: number): void {
  setMeta(object, 'generation', generation === 0 ? undefined : number(generation))
}

export function number(value: number): JsonNumber {
  return new JsonNumber(String(value))
}

export function finalizersOf(object: JsonObject): string[] {
  const value = memberOf(object.get('metadata'), 'finalizers')
  return Array.isArray(value) ? value.map(textOf) : []
}

/** True if both are equal, whatever the order of their members; absent and empty are equal. */
export function isEqual(a: JsonValue | undefined, b: JsonValue | undefined): boolean {
  if (a === b) return true
  if (isNothing(a) || isNothing(b)) return isNothing(a) && isNothing(b)
  if (a instanceof JsonNumber) return b instanceof JsonNumber && a.text === b.text
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => isEqual(item, b[i]))
  }
  if (!(a instanceof Map) || !(b instanceof Map)) return false
  for (const [name, value] of a) {
    if (!isEqualMember(name, value, b.get(name))) return false
  }
  for (const [name, value] of b) if (!a.has(name) && !isNothing(value)) return false
  return true
}

function isEqualMember(name: string, a: JsonValue, b: JsonValue | undefined): boolean {
  if (isAmount(name)) return isEqual(amountText(a), amountText(b ?? null))
  return hasAmounts(name) ? haveEqualAmounts(a, b) : isEqual(a, b)
}

function haveEqualAmounts(a: JsonValue, b: JsonValue | undefined): boolean {
  if (!(a instanceof Map) || !(b instanceof Map)) return isEqual(a, b)
  const isSame = ([name, amount]: readonly [string, JsonValue]): boolean =>
    b.has(name) && isEqual(amountText(amount), amountText(b.get(name) ?? null))
  return a.size === b.size && [...a].every(isSame)
}

function isNothing(value: JsonValue | undefined): boolean {
  if (value === undefined || value === null) return true
  return Array.isArray(value) && value.length === 0
}
