/** Empty lists and maps that a client wrote. A complete object is without them, as a stored one
 *  is. A kube-apiserver has them until it stores the object: some of its rules tell them from
 *  nothing, and its errors show them. So they are noted beside the object that they were in. */

import type { JsonObject, JsonValue } from '@watchglass/go'

const noted = new WeakMap<JsonObject, JsonObject>()

/** Remembers what was written for a member that the object is without. */
export function noteEmpty(object: JsonObject, name: string, value: JsonValue): void {
  const empties = noted.get(object)
  if (empties === undefined) noted.set(object, new Map([[name, value]]))
  else empties.set(name, value)
}

/** The empty members that were written of an object. */
export function emptiesOf(object: JsonObject): JsonObject | undefined {
  return noted.get(object)
}

/** The member as it was written, empty or not. */
export function writtenMember(object: JsonObject, name: string): JsonValue | undefined {
  return object.get(name) ?? noted.get(object)?.get(name)
}

/** True if an empty list or map was written for the value, or anywhere in it. */
export function hasEmpties(value: JsonValue | undefined): boolean {
  if (Array.isArray(value)) return value.length === 0 || value.some(hasEmpties)
  return value instanceof Map && (noted.has(value) || [...value.values()].some(hasEmpties))
}

/** A copy of the object's own members, with what is noted of it. */
export function copyWritten(object: JsonObject): JsonObject {
  const copy: JsonObject = new Map(object)
  const empties = noted.get(object)
  if (empties !== undefined) noted.set(copy, new Map(empties))
  return copy
}
