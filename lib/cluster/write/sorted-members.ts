/** Objects as Go writes maps. */

import { type JsonObject, type JsonValue, compareUtf8 } from '../../codec/json/tree.ts'

export function sortedMembers(object: JsonObject): [name: string, value: JsonValue][] {
  return [...object].sort(([a], [b]) => compareUtf8(a, b))
}
