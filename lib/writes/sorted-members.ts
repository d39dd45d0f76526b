/** Objects as Go writes maps. */

import { compareUtf8, type JsonObject, type JsonValue } from '@watchglass/go'

export function sortedMembers(object: JsonObject): [name: string, value: JsonValue][] {
  return [...object].sort(([a], [b]) => compareUtf8(a, b))
}
