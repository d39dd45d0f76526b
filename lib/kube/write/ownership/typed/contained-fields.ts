/** The set of all fields that a value has: what an apply configuration owns. */

import type { JsonObject, JsonValue } from '../../../../codec/json/tree.ts'
import { FieldSet } from '../sets/field-set.ts'
import { type Path, type PathElement, memberElement } from '../sets/path-element.ts'
import {
  type FieldType,
  type ListType,
  type MapType,
  deduced,
  formOf,
  itemElement,
  memberType,
  typeFor,
} from '../types/field-type.ts'

/** The value has been checked against the type. */
export function fieldsOf(type: FieldType, value: JsonValue): FieldSet {
  const set = new FieldSet()
  addFields(set, type, value, [])
  return set
}

function addFields(set: FieldSet, type: FieldType, value: JsonValue, path: Path): void {
  const narrowed = typeFor(type, value)
  const { map, list } = narrowed
  switch (formOf(narrowed)) {
    case 'map':
      if (map?.isAtomic === true) set.insert(path)
      else if (value instanceof Map) addMembers(set, map as MapType, value, path)
      break
    case 'list':
      if (list?.isAtomic === true) set.insert(path)
      else if (Array.isArray(value)) addItems(set, list as ListType, value, path)
      break
    case 'scalar':
      set.insert(path)
      break
    case undefined:
  }
}

function addMembers(set: FieldSet, map: MapType, object: JsonObject, path: Path): void {
  for (const [name, value] of object) {
    const below = [...path, memberElement(name)]
    addFields(set, memberType(map, name) ?? deduced, value, below)
    const isEmpty = value === null || (value instanceof Map && value.size === 0)
    if (isEmpty || map.fields?.has(name) !== true) set.insert(below)
  }
}

/** Items with the same keys are one field, and nothing is known of what is in them. */
function addItems(set: FieldSet, list: ListType, items: readonly JsonValue[], path: Path): void {
  const elements = items.map(item => itemElement(list, item) as PathElement)
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const { id } of elements) {
    if (seen.has(id)) repeated.add(id)
    seen.add(id)
  }
  for (const [i, element] of elements.entries()) {
    const below = [...path, element]
    if (!repeated.has(element.id)) addFields(set, list.element, items[i] as JsonValue, below)
    set.insert(below)
  }
}
