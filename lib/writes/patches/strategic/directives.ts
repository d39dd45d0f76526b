/** Directives of strategic merge patches: members that begin with `$` and say how to merge. */

import type { JsonObject, JsonValue } from '@watchglass/go'
import { badFormat, badPatchType } from './failures.ts'

export const directive = '$patch'
export const retainKeys = '$retainKeys'
export const deletions = '$deleteFromPrimitiveList'
export const elementOrder = '$setElementOrder'

/** The object after the `$patch` that stands in it. */
export function objectDirected(value: JsonValue, patch: JsonObject): JsonObject {
  if (value === 'replace') {
    const replaced = new Map(patch)
    replaced.delete(directive)
    return replaced
  }
  if (value === 'delete') return new Map()
  throw badPatchType(value, patch)
}

/** The name of the list that a directive with a prefix is about. */
export function directedList(name: string, prefix: typeof deletions | typeof elementOrder): string {
  if (name.startsWith(`${prefix}/`)) return name.slice(prefix.length + 1)
  throw badFormat(prefix === deletions ? 'primitive list' : 'setElementOrder list')
}

/** Removes the members of the original that `$retainKeys` does not list; takes the directive out
 *  of the patch. */
export function applyRetainKeys(original: JsonObject, patch: JsonObject): void {
  const list = patch.get(retainKeys)
  if (list === undefined) return
  patch.delete(retainKeys)
  if (!Array.isArray(list)) throw badFormat('retainKeys')
  const retained = new Set(list)
  for (const [name, value] of patch) {
    if (value === null || name.startsWith(deletions) || name.startsWith(elementOrder)) continue
    if (!retained.has(name)) throw badFormat('retainKeys')
  }
  for (const name of original.keys()) if (!retained.has(name)) original.delete(name)
}

/** A value that is added as it is, without the objects in it that are directives; undefined if
 *  it is one itself. */
export function withoutDirectives(value: JsonValue): JsonValue | undefined {
  if (Array.isArray(value)) {
    return value.flatMap(item => {
      const kept = withoutDirectives(item)
      return kept === undefined ? [] : [kept]
    })
  }
  if (!(value instanceof Map)) return value
  if (value.has(directive)) return undefined
  const members: JsonObject = new Map()
  for (const [name, member] of value) {
    const kept = withoutDirectives(member)
    if (kept !== undefined) members.set(name, kept)
  }
  return members
}

/** A value without members that are null; items that are null stay. */
export function withoutNullMembers(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutNullMembers)
  if (!(value instanceof Map)) return value
  const members = [...value].filter(([, member]) => member !== null)
  return new Map(members.map(([name, member]) => [name, withoutNullMembers(member)]))
}
