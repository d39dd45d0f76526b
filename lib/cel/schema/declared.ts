/** The types that a structural schema declares, with what bounds their sizes: the cost of a rule is
 *  estimated by them. */

import { isObject, objectOf, type UntypedObject } from '@watchglass/base'
import {
  boolType,
  bytesType,
  CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  mapOf,
  stringType,
  timestampType,
} from '../types.ts'
import type { Range, SizeAt } from '../cost/ranges.ts'
import { escapedName } from './names.ts'

/** The largest request that a server takes, which bounds what has no bound of its own. */
const requestMax = 3 * 1024 * 1024

export interface DeclaredSchema {
  readonly kind: 'list' | 'map' | 'object' | 'scalar'
  readonly scalar: CelType
  /** The fields of an object, by their escaped names. */
  readonly fields: ReadonlyMap<string, DeclaredSchema>
  /** The items of a list, or the values of a map. */
  readonly item: DeclaredSchema | undefined
  /** Items, entries or characters. */
  readonly max: number
  /** The least length in JSON. */
  readonly minSize: number
}

const noFields: ReadonlyMap<string, DeclaredSchema> = new Map()

function scalar(type: CelType, minSize: number, max = 0): DeclaredSchema {
  return { kind: 'scalar', scalar: type, fields: noFields, item: undefined, max, minSize }
}

const nonNegative = (value: unknown): number | undefined =>
  typeof value === 'number' ? Math.max(0, value) : undefined

/** The declaration of a schema; undefined if it cannot be seen in expressions. */
export function declaredBy(schema: unknown, isResource: boolean): DeclaredSchema | undefined {
  if (!isObject(schema)) return undefined
  if (schema['x-kubernetes-int-or-string'] === true) {
    const max = nonNegative(schema['maxLength'])
    return scalar(dynType, 1, max === undefined ? requestMax - 2 : max * 4)
  }
  switch (schema['type']) {
    case 'array':
      return listIn(schema)
    case 'object':
      return objectIn(isResource ? withTypeMeta(schema) : schema)
    case 'string':
      return textIn(schema)
    case 'boolean':
      return scalar(boolType, 4)
    case 'number':
      return scalar(doubleType, 1)
    case 'integer':
      return scalar(intType, 1)
    default:
      return undefined
  }
}

export function isEmbedded(schema: unknown): boolean {
  return isObject(schema) && schema['x-kubernetes-embedded-resource'] === true
}

const textSchema = { type: 'string' }

/** The schema of a resource always has these; one that has them all is taken as it is. */
export function withTypeMeta(schema: UntypedObject): UntypedObject {
  const properties = objectOf(schema['properties'])
  const metadata = objectOf(properties['metadata'])
  const named = objectOf(metadata['properties'])
  const texts = [properties['kind'], properties['apiVersion'], named['name'], named['generateName']]
  const isWhole = texts.every(text => objectOf(text)['type'] === 'string')
  if (isWhole && metadata['type'] === 'object') return schema
  return {
    ...schema,
    properties: {
      ...properties,
      kind: textSchema,
      apiVersion: textSchema,
      metadata: { type: 'object', properties: { name: textSchema, generateName: textSchema } },
    },
  }
}

function listIn({ items, maxItems }: UntypedObject): DeclaredSchema | undefined {
  const item = declaredBy(items, isEmbedded(items))
  if (item === undefined) return undefined
  const max = nonNegative(maxItems) ?? Math.floor((requestMax - 2) / (item.minSize + 1))
  return { kind: 'list', scalar: dynType, fields: noFields, item, max, minSize: 2 }
}

function objectIn(schema: UntypedObject): DeclaredSchema | undefined {
  const { additionalProperties, properties } = schema
  if (isObject(additionalProperties)) {
    const item = declaredBy(additionalProperties, isEmbedded(additionalProperties))
    if (item === undefined) return undefined
    const max =
      nonNegative(schema['maxProperties']) ?? Math.floor((requestMax - 2) / (item.minSize + 6))
    return { kind: 'map', scalar: dynType, fields: noFields, item, max, minSize: 2 }
  }
  const required = Array.isArray(schema['required'])
    ? new Set<unknown>(schema['required'])
    : undefined
  const fields = new Map<string, DeclaredSchema>()
  let minSize = 2
  for (const [name, property] of Object.entries(isObject(properties) ? properties : {})) {
    const field = declaredBy(property, isEmbedded(property))
    if (field === undefined) continue
    const escaped = escapedName(name)
    if (escaped !== undefined) fields.set(escaped, field)
    const hasDefault = isObject(property) && (property['default'] ?? null) !== null
    if (required?.has(name) === true && !hasDefault) {
      minSize += Buffer.byteLength(name) + field.minSize + 4
    }
  }
  return { kind: 'object', scalar: dynType, fields, item: undefined, max: 0, minSize }
}

function textIn(schema: UntypedObject): DeclaredSchema {
  const max = nonNegative(schema['maxLength'])
  switch (schema['format']) {
    case 'byte':
      return scalar(bytesType, 2, max ?? requestMax - 2)
    case 'duration':
      return scalar(durationType, 3, 32)
    case 'date':
      return scalar(timestampType, 12, 12)
    case 'date-time':
      return scalar(timestampType, 21, 32)
  }
  if (max !== undefined) return scalar(stringType, 2, max * 4)
  const choices = Array.isArray(schema['enum']) ? schema['enum'] : []
  if (choices.length === 0) return scalar(stringType, 2, requestMax - 2)
  const lengths = choices.map(choice =>
    typeof choice === 'string' ? Buffer.byteLength(choice) : 0,
  )
  return scalar(
    stringType,
    2,
    lengths.reduce((a, b) => Math.max(a, b), 0),
  )
}

/** The type of a declaration, whose objects are named after the place where they stand. */
export function typeOfDeclared(declared: DeclaredSchema, name: string): CelType {
  switch (declared.kind) {
    case 'list':
      return listOf(typeOfDeclared(declared.item as DeclaredSchema, `${name}.@idx`))
    case 'map':
      return mapOf(stringType, typeOfDeclared(declared.item as DeclaredSchema, `${name}.@elem`))
    case 'object': {
      const fields = new Map<string, CelType>()
      for (const [field, inner] of declared.fields) {
        fields.set(field, typeOfDeclared(inner, `${name}.${field}`))
      }
      return new CelType('struct', name, [], fields)
    }
    case 'scalar':
      return declared.scalar
  }
}

/** The sizes of what lies in a declared value. */
export function sizesIn(root: DeclaredSchema): SizeAt {
  return path => {
    let at: DeclaredSchema | undefined = root
    for (const step of path.slice(1)) {
      if (step === '@items' || step === '@values') at = at.item
      else if (step === '@keys') at = at.kind === 'map' ? keyDeclared : undefined
      else at = at.fields.get(step)
      if (at === undefined) return undefined
    }
    return { min: 0, max: at.max } satisfies Range
  }
}

const keyDeclared: DeclaredSchema = scalar(stringType, 2)

/** The greatest number of values of this size in one request. */
export function cardinalityMax({ minSize }: DeclaredSchema): number {
  return Math.floor(requestMax / (minSize + 1))
}
