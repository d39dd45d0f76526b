/** The set of all fields that a value has: what an apply configuration owns. */

import { isStepDue, type Steps } from '@watchglass/base'
import type { JsonObject, JsonValue } from '@watchglass/go'
import { FieldSet } from '../sets/field-set.ts'
import { type PathElement, memberElement } from '../sets/path-element.ts'
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

/** Finds them in steps. The value has been checked against the type. */
export function* fieldsOf(type: FieldType, value: JsonValue): Steps<FieldSet> {
  const fields = new FieldSet()
  yield* new Collector(fields).add(type, value)
  return fields
}

class Collector {
  readonly #fields: FieldSet
  /** Path of the value that is looked at. */
  readonly #path: PathElement[] = []

  constructor(fields: FieldSet) {
    this.#fields = fields
  }

  *add(type: FieldType, value: JsonValue): Steps<void> {
    const narrowed = typeFor(type, value)
    const { map, list } = narrowed
    switch (formOf(narrowed)) {
      case 'map':
        if (map?.isAtomic === true) this.#fields.insert(this.#path)
        else if (value instanceof Map) yield* this.#members(map as FieldMapType, value)
        break
      case 'list':
        if (list?.isAtomic === true) this.#fields.insert(this.#path)
        else if (Array.isArray(value)) yield* this.#items(list as FieldListType, value)
        break
      case 'scalar':
        this.#fields.insert(this.#path)
        break
      case undefined:
    }
  }

  *#members(map: FieldMapType, object: JsonObject): Steps<void> {
    for (const [name, value] of object) {
      if (isStepDue()) yield
      this.#path.push(memberElement(name))
      yield* this.add(memberType(map, name) ?? deduced, value)
      const isEmpty = value === null || (value instanceof Map && value.size === 0)
      if (isEmpty || map.fields?.has(name) !== true) this.#fields.insert(this.#path)
      this.#path.pop()
    }
  }

  /** Items with the same keys are one field, and nothing is known of what is in them. */
  *#items(list: FieldListType, items: readonly JsonValue[]): Steps<void> {
    const elements: PathElement[] = []
    const seen = new Set<string>()
    const repeated = new Set<string>()
    for (const item of items) {
      const element = itemElement(list, item) as PathElement
      elements.push(element)
      if (seen.has(element.id)) repeated.add(element.id)
      seen.add(element.id)
    }
    for (const [i, element] of elements.entries()) {
      if (isStepDue()) yield
      this.#path.push(element)
      if (!repeated.has(element.id)) yield* this.add(list.element, items[i] as JsonValue)
      this.#fields.insert(this.#path)
      this.#path.pop()
    }
  }
}
