/** A value without the fields of a set. */

import type { JsonObject, JsonValue } from '@watchglass/go'
import type { FieldSet } from '../sets/field-set.ts'
import { memberElement } from '../sets/path-element.ts'
import {
  type FieldType,
  type FieldListType,
  type FieldMapType,
  deduced,
  formOf,
  itemElement,
  memberType,
  typeFor,
} from '../types/field-type.ts'

/** A list or an object of which nothing stays becomes null, and so do lists and objects that are
 *  one value: what is below them cannot be removed alone. */
export function withoutFields(type: FieldType, value: JsonValue, removed: FieldSet): JsonValue {
  const narrowed = typeFor(type, value)
  const { map, list } = narrowed
  switch (formOf(narrowed)) {
    case 'map':
      if (!(value instanceof Map) || value.size === 0 || map?.isAtomic === true) return null
      return withoutMembers(map as FieldMapType, value, removed)
    case 'list':
      if (!Array.isArray(value) || value.length === 0 || list?.isAtomic === true) return null
      return withoutItems(list as FieldListType, value, removed)
    case 'scalar':
      return value
    case undefined:
      return null
  }
}

function withoutMembers(map: FieldMapType, object: JsonObject, removed: FieldSet): JsonValue {
  const left: JsonObject = new Map()
  for (const [name, value] of object) {
    const element = memberElement(name)
    if (removed.hasMember(element)) continue
    const below = removed.below(element)
    const isTouched = below !== undefined && !below.isEmpty
    const inner = memberType(map, name) ?? deduced
    left.set(name, isTouched ? withoutFields(inner, value, below) : value)
  }
  return left.size > 0 ? left : null
}

function withoutItems(
  list: FieldListType,
  items: readonly JsonValue[],
  removed: FieldSet,
): JsonValue {
  const left: JsonValue[] = []
  for (const item of items) {
    const element = itemElement(list, item)
    if (typeof element === 'string' || !removed.hasMember(element)) {
      const below = typeof element === 'string' ? undefined : removed.below(element)
      const isTouched = below !== undefined && !below.isEmpty
      left.push(isTouched ? withoutFields(list.element, item, below) : item)
    }
  }
  return left.length > 0 ? left : null
}
