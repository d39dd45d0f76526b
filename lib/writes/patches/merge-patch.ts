/** JSON merge patches (RFC 7386) as kube-apiserver applies them. */

import type { JsonObject, JsonValue } from '@watchglass/go'
import { sortedMembers } from '../sorted-members.ts'

/** The document after the patch. Objects that the patch went into have their members sorted,
 *  others keep their order. Changes none of its arguments. */
export function applyMergePatch(document: JsonObject, patch: JsonObject): JsonObject {
  const merged: JsonObject = new Map(document)
  for (const [name, value] of patch) {
    const current = merged.get(name)
    if (value === null) merged.delete(name)
    else if (current instanceof Map && value instanceof Map) {
      merged.set(name, applyMergePatch(current, value))
    } else merged.set(name, current instanceof Map ? value : withoutNulls(value))
  }
  return new Map(sortedMembers(merged))
}

/** Without the members that are null, in the items of lists too; items that are null stay. */
export function withoutNulls(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!(value instanceof Map)) return value
  const members = sortedMembers(value).filter(([, member]) => member !== null)
  return new Map(members.map(([name, member]) => [name, withoutNulls(member)]))
}
