/** The types of custom resources, made of the schema of one version as kube-apiserver makes them
 *  of its OpenAPI: what x-kubernetes-list-type, -list-map-keys, -map-type and
 *  -preserve-unknown-fields say of lists and objects. */

import { isObject } from '@watchglass/base'
import { JsonNumber, type JsonValue } from '@watchglass/go'
import {
  type FieldType,
  type FieldListType,
  type MemberType,
  deduced,
  untypedAtomic,
} from './field-type.ts'

/** The type of the objects of a version: `schema` is its openAPIV3Schema as JSON.parse gives it,
 *  undefined if it has none. */
export function customType(
  schema: unknown,
  {
    metadata,
    preservesUnknownFields,
  }: { readonly metadata: FieldType; readonly preservesUnknownFields: boolean },
): FieldType {
  if (!isObject(schema)) return { map: { isAtomic: false, fields: undefined, element: deduced } }
  const scope = scopeIn(schema, { isPreserving: preservesUnknownFields, metadata })
  const fields = declaredMembers(schema, scope)
  addTypeAndMetadata(fields, metadata)
  const isAtomic = schema['x-kubernetes-map-type'] === 'atomic'
  // The root has properties at least for its metadata: without others, it is not taken for
  // free-form.
  return { map: { isAtomic, fields, element: elementType(schema, scope, true) } }
}

interface Scope {
  /** Inside x-kubernetes-preserve-unknown-fields, members that are not declared are kept,
   *  however deep. */
  readonly isPreserving: boolean
  /** The type of ObjectMeta, of embedded resources too. */
  readonly metadata: FieldType
}

function scopeIn(schema: Record<string, unknown>, outer: Scope): Scope {
  const isPreserving = outer.isPreserving || schema['x-kubernetes-preserve-unknown-fields'] === true
  return { ...outer, isPreserving }
}

function typeOf(schema: unknown, outer: Scope): FieldType {
  if (!isObject(schema)) return anyType(deduced)
  const scope = scopeIn(schema, outer)
  switch (schema['type']) {
    case 'object':
      return objectType(schema, scope)
    case 'array':
      return { list: listType(schema, scope) }
    case 'integer':
    case 'number':
      return { scalar: 'numeric' }
    case 'boolean':
      return { scalar: 'boolean' }
    case 'string': {
      const format = schema['format'] ?? ''
      return format === '' || format === 'byte'
        ? { scalar: 'string' }
        : { scalar: 'untyped', isDeduced: true }
    }
    default:
      return {
        ...anyType(deduced),
        list: listType(schema, scope),
        map: objectType(schema, scope).map,
      }
  }
}

function anyType(element: FieldType): FieldType {
  const list = { isAtomic: true, keys: [], element: untypedAtomic }
  return {
    scalar: 'untyped',
    list,
    map: { isAtomic: false, fields: undefined, element },
    isDeduced: true,
  }
}

function objectType(schema: Record<string, unknown>, scope: Scope): FieldType {
  const fields = declaredMembers(schema, scope)
  if (schema['x-kubernetes-embedded-resource'] === true) addTypeAndMetadata(fields, scope.metadata)
  return {
    map: {
      isAtomic: schema['x-kubernetes-map-type'] === 'atomic',
      fields: fields.size === 0 ? undefined : fields,
      element: elementType(schema, scope, fields.size > 0),
    },
  }
}

function declaredMembers(schema: Record<string, unknown>, scope: Scope): Map<string, MemberType> {
  const declared = isObject(schema['properties']) ? schema['properties'] : {}
  return new Map(
    Object.entries(declared).map(([name, member]) => {
      const defaultValue = isObject(member) ? valueFromParsed(member['default']) : undefined
      return [name, { type: typeOf(member, scope), defaultValue }]
    }),
  )
}

function elementType(
  schema: Record<string, unknown>,
  scope: Scope,
  hasProperties: boolean,
): FieldType | undefined {
  const additional = schema['additionalProperties']
  if (additional === undefined || additional === null) {
    return scope.isPreserving || !hasProperties ? deduced : undefined
  }
  if (isObject(additional)) return typeOf(additional, scope)
  return additional === true ? deduced : undefined
}

function listType(schema: Record<string, unknown>, scope: Scope): FieldListType {
  const items = schema['items']
  const element = isObject(items) ? typeOf(items, scope) : untypedAtomic
  const keys = schema['x-kubernetes-list-map-keys']
  switch (schema['x-kubernetes-list-type']) {
    case 'map':
      return {
        isAtomic: false,
        keys: Array.isArray(keys) ? keys.filter(key => typeof key === 'string') : [],
        element,
      }
    case 'set':
      return { isAtomic: false, keys: [], element }
    default:
      return { isAtomic: true, keys: [], element }
  }
}

function addTypeAndMetadata(fields: Map<string, MemberType>, metadata: FieldType): void {
  fields.set('apiVersion', { type: { scalar: 'string' } })
  fields.set('kind', { type: { scalar: 'string' } })
  fields.set('metadata', { type: metadata })
}

function valueFromParsed(value: unknown): JsonValue | undefined {
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return new JsonNumber(String(value))
  // Keys of lists are scalars.
  return undefined
}
