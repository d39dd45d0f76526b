/** Schemas must be structural: each level has a type, and alternatives only narrow what the
 *  levels say. */

import { type FieldError, keyed } from '../../field-errors.ts'
import { type JsonValue, patternProblem } from '@watchglass/go'
import type { Place } from '../../validation/place.ts'

type Level = 'root' | 'item' | 'field'

/** The errors of a schema, sorted by their texts, as upstream sorts them. */
export function structuralErrors(schema: Place): FieldError[] {
  const errors: FieldError[] = []
  const root = schema.with(errors)
  checkLevel(root, 'root')
  checkComplete(root, root)
  const text = ({ field, message }: FieldError): string => `${field}: ${message}`
  return errors.sort((a, b) => (text(a) < text(b) ? -1 : 1))
}

const unsupported = [
  ['id', 'id'],
  ['$schema', 'schema'],
  ['$ref', '$ref'],
  ['patternProperties', 'patternProperties'],
  ['dependencies', 'dependencies'],
  ['additionalItems', 'additionalItems'],
  ['definitions', 'definitions'],
] as const

/** The first keyword that a structural schema cannot have at all, or undefined. */
export function unsupportedKeyword(schema: Place): string | undefined {
  for (const [name, shown] of unsupported) {
    const member = schema.in(name)
    const isThere = name === 'dependencies' ? member.isSet : member.isSet && member.size > 0
    if (isThere) return `OpenAPIV3Schema '${shown}' is not supported`
  }
  if (schema.in('x-kubernetes-preserve-unknown-fields').value === false) {
    return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
  }
  if (schema.in('items').items.length > 0) {
    return "OpenAPIV3Schema 'items' must be a schema, but is an array"
  }
  for (const inner of innerSchemas(schema)) {
    const problem = unsupportedKeyword(inner)
    if (problem !== undefined) return problem
  }
  return undefined
}

/** All schemas that stand directly in one. */
export function innerSchemas(schema: Place): Place[] {
  const lists = ['allOf', 'oneOf', 'anyOf'].flatMap(name => schema.in(name).items)
  const single = ['items', 'additionalProperties', 'not'].map(name => schema.in(name))
  const properties = schema.in('properties').entries.map(([, property]) => property)
  return [...lists, ...single, ...properties].filter(({ object }) => object !== undefined)
}

const typeWords: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
}

function checkLevel(schema: Place, level: Level): void {
  const [type, items, properties, additional] = [
    schema.in('type'),
    schema.in('items'),
    schema.in('properties'),
    schema.in('additionalProperties'),
  ]
  if (type.text === 'array' && items.object === undefined) items.required('must be specified')
  if (items.object !== undefined) checkLevel(items, 'item')
  for (const [, property] of properties.entries) checkLevel(property, 'field')
  if (additional.isSet) {
    if (level === 'root') additional.forbidden('must not be used at the root')
    if (additional.object !== undefined) checkLevel(additional, 'field')
  }
  checkExtensions(schema)
  checkValues(schema, areIntOrString(schema.in('anyOf').value))
  checkType(schema, level)
  checkMeta(schema, level)
  const isEmbedded = schema.in('x-kubernetes-embedded-resource').isTrue
  const isPreserving = schema.in('x-kubernetes-preserve-unknown-fields').isTrue
  if (isEmbedded && !isPreserving && properties.size === 0) {
    properties.required(
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
    )
  }
}

function checkExtensions(schema: Place): void {
  if (!schema.in('x-kubernetes-int-or-string').isTrue) return
  for (const name of ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource']) {
    const member = schema.in(name)
    if (member.isTrue) member.invalid('must be false if x-kubernetes-int-or-string is true')
  }
}

function checkType(schema: Place, level: Level): void {
  const type = schema.in('type')
  const isEmbedded = schema.in('x-kubernetes-embedded-resource').isTrue
  const isFree =
    schema.in('x-kubernetes-int-or-string').isTrue ||
    schema.in('x-kubernetes-preserve-unknown-fields').isTrue
  if (isEmbedded && type.text !== 'object') {
    const detail = 'must be object if x-kubernetes-embedded-resource is true'
    if (type.text === '') type.required(detail)
    else type.invalid(detail)
  } else if (type.text === '' && !isFree) type.required(typeWords[level])
  const additional = schema.in('additionalProperties')
  if (isEmbedded && additional.isSet) {
    additional.forbidden('must not be used if x-kubernetes-embedded-resource is set')
  }
  if (level === 'root' && type.text !== '' && type.text !== 'object') {
    type.invalid('must be object at the root')
  }
}

/** Kind, apiVersion and metadata of objects are the server's own. */
function checkMeta(schema: Place, level: Level): void {
  const isOfObject = level === 'root' || schema.in('x-kubernetes-embedded-resource').isTrue
  const properties = schema.in('properties')
  const known = new Map(properties.entries)
  for (const name of ['kind', 'apiVersion']) {
    const property = known.get(name)
    if (property === undefined || !isOfObject) continue
    if (property.in('type').text !== 'string') {
      property.in('type').invalid('must be string', property.in('type').text)
    }
  }
  const metadata = known.get('metadata')
  if (metadata === undefined) return
  const type = metadata.in('type')
  if (isOfObject && type.text !== 'object') type.invalid('must be object', type.text)
  if (level === 'root' && !isBareMetadata(metadata)) {
    metadata.forbidden(
      'must not specify anything other than name and generateName, but metadata is implicitly specified',
    )
  }
}

/** Lists that are copied item by item: an empty one is none. */
const copiedLists = ['allOf', 'anyOf', 'enum', 'oneOf']

function isBareMetadata(metadata: Place): boolean {
  const ignored = ['type', 'default', 'properties']
  const others = [...(metadata.object ?? [])].filter(([name, value]) => {
    const isEmptyList = Array.isArray(value) && value.length === 0 && copiedLists.includes(name)
    const isSaid = value !== null && value !== '' && value !== false
    return !ignored.includes(name) && !isEmptyList && (isSaid || name === 'additionalProperties')
  })
  const names = metadata.in('properties').entries.map(([name]) => name)
  return others.length === 0 && names.every(name => name === 'name' || name === 'generateName')
}

/** Checks that alternatives of the root only tell of what the schema itself describes. */
function checkComplete(told: Place, schema: Place): void {
  const lists = ['allOf', 'anyOf', 'oneOf'].flatMap(name => told.in(name).items)
  for (const one of [told.in('not'), ...lists]) {
    if (one.object !== undefined) checkDescribed(one, schema)
  }
}

function checkDescribed(told: Place, schema: Place): void {
  if (schema.object === undefined) {
    schema.required(`because it is defined in ${told.path}`)
    return
  }
  checkComplete(told, schema)
  const [items, properties] = [told.in('items'), schema.in('properties')]
  if (items.object !== undefined) checkDescribed(items, schema.in('items'))
  const known = new Map(properties.entries)
  for (const [name, property] of told.in('properties').entries) {
    const described = known.get(name) ?? properties.as(keyed(properties.path, name), null)
    checkDescribed(property, described)
  }
}

/** The two alternatives that int-or-string may repeat: they are told without writing them out, as
 *  alternatives may lie in alternatives. */
function areIntOrString(alternatives: JsonValue | undefined): boolean {
  const types = ['integer', 'string']
  return (
    Array.isArray(alternatives) &&
    alternatives.length === types.length &&
    alternatives.every(
      (one, i) => one instanceof Map && one.size === 1 && one.get('type') === types[i],
    )
  )
}

function checkValues(schema: Place, isAnyOfSkipped: boolean): void {
  if (!isAnyOfSkipped) for (const item of schema.in('anyOf').items) checkNested(item, false)
  for (const [i, item] of schema.in('allOf').items.entries()) {
    checkNested(item, i === 0 && areIntOrString(item.in('anyOf').value))
  }
  for (const item of schema.in('oneOf').items) checkNested(item, false)
  if (schema.in('not').isSet) checkNested(schema.in('not'), false)
  const pattern = schema.in('pattern')
  const problem = patternProblem(pattern.text)
  if (problem !== undefined) {
    pattern.invalid(`must be a valid regular expression, but isn't: ${problem}`)
  }
}

/** Keywords that alternatives may not have, with the text of the error. */
const forbiddenInside: readonly (readonly [name: string, detail: string])[] = [
  ['default', 'must be undefined to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['nullable', 'must be false to be structural'],
  ['x-kubernetes-preserve-unknown-fields', 'must be false to be structural'],
  ['x-kubernetes-embedded-resource', 'must be false to be structural'],
  ['x-kubernetes-int-or-string', 'must be false to be structural'],
  ['x-kubernetes-list-map-keys', 'must be empty to be structural'],
  ['x-kubernetes-list-type', 'must be undefined to be structural'],
  ['x-kubernetes-map-type', 'must be undefined to be structural'],
  ['x-kubernetes-validations', 'must be empty to be structural'],
]

function checkNested(schema: Place, isAnyOfSkipped: boolean): void {
  checkValues(schema, isAnyOfSkipped)
  if (schema.in('items').object !== undefined) checkNested(schema.in('items'), false)
  for (const [, property] of schema.in('properties').entries) checkNested(property, false)
  if (schema.in('type').text !== '') schema.in('type').forbidden('must be empty to be structural')
  const { isSet: isAdded, value: added } = schema.in('additionalProperties')
  if (isAdded && added !== false) {
    schema.in('additionalProperties').forbidden('must be undefined to be structural')
  }
  for (const [name, detail] of forbiddenInside) {
    const { isSet, value, size } = schema.in(name)
    const isSaid = typeof value === 'boolean' ? value : name === 'default' ? isSet : size > 0
    if (isSaid) schema.in(name).forbidden(detail)
  }
  const metadata = new Map(schema.in('properties').entries).get('metadata')
  metadata?.forbidden('must not be specified in a nested context')
}
