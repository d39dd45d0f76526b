/** The values of an object before, beside those of now. */

import { isObject } from '@watchglass/base'
import { type JsonValue, textFromTree } from '@watchglass/go'
import { identityOf, keysOf } from './list-types.ts'
import type { Correlated } from './schema-check.ts'

/** Which value of the old object a value is compared with: members by name, items of lists of
 *  type map by their keys. */
export function correlate(value: JsonValue, old: JsonValue, schema: unknown): Correlated {
  const described = isObject(schema) ? schema : {}
  let byKeys: ReadonlyMap<string, JsonValue> | undefined
  return {
    old,
    member: name => {
      const [now, before] = [memberIn(value, name), memberIn(old, name)]
      if (now === undefined || before === undefined) return undefined
      const properties = described['properties']
      const inner =
        isObject(properties) && Object.hasOwn(properties, name)
          ? properties[name]
          : described['additionalProperties']
      return correlate(now, before, inner)
    },
    item: i => {
      if (!Array.isArray(value) || !Array.isArray(old)) return undefined
      if (described['x-kubernetes-list-type'] !== 'map') return undefined
      const keys = keysOf(described)
      const item = value[i] ?? null
      byKeys ??= itemsByKeys(old, keys)
      const before = byKeys.get(textFromTree(identityOf(item, keys)))
      return before === undefined ? undefined : correlate(item, before, described['items'])
    },
  }
}

/** The first item with each identity. */
function itemsByKeys(
  list: readonly JsonValue[],
  keys: readonly string[],
): ReadonlyMap<string, JsonValue> {
  const items = new Map<string, JsonValue>()
  for (const item of list) {
    const identity = textFromTree(identityOf(item, keys))
    if (!items.has(identity)) items.set(identity, item)
  }
  return items
}

function memberIn(value: JsonValue, name: string): JsonValue | undefined {
  return value instanceof Map ? value.get(name) : undefined
}
