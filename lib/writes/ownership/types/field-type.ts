/** The types of values as ownership knows them: whether it is owned as a whole or member by member,
 *  item by item, and by which keys. A type may allow a scalar, a list and an object at once; the
 *  value then chooses (`typeFor`). Made of built-in messages (built-in-types.ts) and of the schemas
 *  of custom resources (custom-types.ts). */

import { goQuote, JsonNumber, type JsonObject, type JsonValue } from '@watchglass/go'
import { type KeyField, type PathElement, keysElement, valueElement } from '../sets/path-element.ts'

export type ScalarType = 'string' | 'numeric' | 'boolean' | 'untyped'

export interface FieldType {
  readonly scalar?: ScalarType | undefined
  readonly list?: FieldListType | undefined
  readonly map?: FieldMapType | undefined
  /** Any value is accepted, since nothing is declared; objects are owned member by member. */
  readonly isDeduced?: boolean | undefined
}

export interface FieldListType {
  /** The list is owned as one value. */
  readonly isAtomic: boolean
  /** Members that tell items apart; none for a set. */
  readonly keys: readonly string[]
  readonly element: FieldType
}

export interface FieldMapType {
  readonly isAtomic: boolean
  /** The declared members; undefined if there are none. */
  readonly fields: ReadonlyMap<string, MemberType> | undefined
  /** The type of all other members; undefined if there may be none. */
  readonly element: FieldType | undefined
}

export interface MemberType {
  readonly type: FieldType
  /** The value in place of an absent key of a list. */
  readonly defaultValue?: JsonValue | undefined
}

/** The type of any value, owned as one. */
export const untypedAtomic: FieldType = untyped(true, undefined)

/** The type of any value: objects are owned member by member, lists as one value. */
export const deduced: FieldType = untyped(false, untypedAtomic)

/** Members have the same type, and so do items unless it is declared otherwise. */
function untyped(isAtomic: boolean, item: FieldType | undefined): FieldType {
  const type: { -readonly [P in keyof FieldType]: FieldType[P] } = { scalar: 'untyped' }
  type.isDeduced = !isAtomic
  type.list = { isAtomic: true, keys: [], element: item ?? type }
  type.map = { isAtomic, fields: undefined, element: type }
  return type
}

/** The part of the type that the value has; all of it if the value is null, absent or of another
 *  kind. */
export function typeFor(type: FieldType, value: JsonValue | undefined): FieldType {
  if (value === undefined || value === null) return type
  if (Array.isArray(value)) return type.list === undefined ? type : { list: type.list }
  if (value instanceof Map) return type.map === undefined ? type : { map: type.map }
  return type.scalar === undefined ? type : { scalar: type.scalar }
}

/** The form that a type is handled as, if it allows several. */
export function formOf(type: FieldType): 'map' | 'scalar' | 'list' | undefined {
  if (type.map !== undefined) return 'map'
  if (type.scalar !== undefined) return 'scalar'
  return type.list === undefined ? undefined : 'list'
}

/** The type of an object's member; undefined if it is not declared and others are not allowed. */
export function memberType(map: FieldMapType, name: string): FieldType | undefined {
  return map.fields?.get(name)?.type ?? map.element
}

/** The element that stands for an item of a set or a list with keys; the message if it has none. */
export function itemElement(list: FieldListType, item: JsonValue): PathElement | string {
  if (list.isAtomic) return 'invalid indexing of non-associative list'
  return list.keys.length > 0 ? keyedElement(list, item) : setElement(item)
}

function keyedElement(list: FieldListType, item: JsonValue): PathElement | string {
  if (item === null) return 'associative list with keys may not have a null element'
  if (!(item instanceof Map)) return 'associative list with keys may not have non-map elements'
  const fields: KeyField[] = []
  for (const key of list.keys) {
    const value = item.get(key) ?? defaultOfKey(list, item, key)
    if (value !== undefined) fields.push([key, value])
  }
  if (fields.length === 0) {
    const keys = `[${list.keys.map(goQuote).join(' ')}]`
    return `associative list with keys has an element that omits all key fields ${keys} (and doesn't have default values for any key fields)`
  }
  return keysElement(fields)
}

function defaultOfKey(list: FieldListType, item: JsonObject, key: string): JsonValue | undefined {
  // A member that is null is there: it is the key's value.
  if (item.has(key)) return null
  return list.element.map?.fields?.get(key)?.defaultValue
}

function setElement(item: JsonValue): PathElement | string {
  if (item instanceof Map) return "associative list without keys has an element that's a map type"
  if (Array.isArray(item)) return 'not supported: associative list with lists as elements'
  if (item === null) return "associative list without keys has an element that's an explicit null"
  return valueElement(item)
}

/** Whether a scalar type allows the value, which is neither null nor absent. */
export function allowsScalar(scalar: ScalarType, value: JsonValue): boolean {
  switch (scalar) {
    case 'numeric':
      return value instanceof JsonNumber
    case 'string':
      return typeof value === 'string'
    case 'boolean':
      return typeof value === 'boolean'
    case 'untyped':
      return !(value instanceof Map) && !Array.isArray(value)
  }
}
