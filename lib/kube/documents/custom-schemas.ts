/** Schemas of custom kinds for OpenAPI, made of the schemas of their definitions as
 *  apiextensions-apiserver publishes them.
 *
 *  Version 2 has no words for much of a structural schema, and kubectl stumbles over some of it, so
 *  that less is said there: nothing about an object that preserves unknown fields, or about a value
 *  that may be null. */

import { isObject, listOf, objectOf, type UntypedObject } from '@watchglass/base'
import type { Resource } from '../resources/resource.ts'
import { type OpenApiSchema, typeMeta, type TypeReferences } from './openapi-schema.ts'

/** The schema of the objects. */
export function customSchema(resource: Resource, set: TypeReferences): OpenApiSchema {
  const { group, version, kind, custom } = resource
  const kinds = { 'x-kubernetes-group-version-kind': [{ group, kind, version }] }
  const declared = custom?.schema
  if (!isObject(declared)) return { type: 'object', ...kinds }
  const isFree = declared[preserves] === true || custom?.preservesUnknownFields === true
  if (set.version === 2 && isFree) return { type: 'object', ...kinds }
  const schema = published(declared, set)
  return {
    ...schema,
    properties: sorted({ ...objectOf(schema['properties']), ...typeMeta, metadata: metadata(set) }),
    ...kinds,
  }
}

/** The schema of their lists. */
export function customListSchema(
  { group, version, kind, listKind, resource }: Resource,
  item: OpenApiSchema,
  set: TypeReferences,
): OpenApiSchema {
  const description = `List of ${resource}. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md`
  return {
    description: `${listKind} is a list of ${kind}`,
    type: 'object',
    required: ['items'],
    properties: {
      apiVersion: typeMeta['apiVersion'],
      items: { description, type: 'array', items: item },
      kind: typeMeta['kind'],
      metadata: described(
        set,
        'meta/v1.ListMeta',
        'Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds',
      ),
    },
    'x-kubernetes-group-version-kind': [{ group, kind: listKind, version }],
  }
}

const preserves = 'x-kubernetes-preserve-unknown-fields'

function metadata(set: TypeReferences): OpenApiSchema {
  return described(
    set,
    'meta/v1.ObjectMeta',
    "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
  )
}

/** A reference with a description: version 3 has nothing beside a reference. */
function described(set: TypeReferences, type: string, description: string): OpenApiSchema {
  const reference = set.typeReference(type)
  return set.version === 2 ? { description, ...reference } : { description, allOf: [reference] }
}

/** A schema with the schemas in it. Definitions are as deep as a body may be nested. */
function published(declared: UntypedObject, set: TypeReferences): UntypedObject {
  const whole = set.version === 2 ? inVersion2(declared) : unfolded(declared)
  const { properties, items, additionalProperties: others } = whole
  const inner: Record<string, unknown> = {}
  if (isObject(properties)) {
    inner['properties'] = Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => [name, published(objectOf(schema), set)]),
    )
  }
  if (isObject(items)) inner['items'] = published(items, set)
  if (isObject(others)) inner['additionalProperties'] = published(others, set)
  const schema = { ...whole, ...inner }
  const isEmbedded = declared['x-kubernetes-embedded-resource'] === true
  if (!isEmbedded || (set.version === 2 && declared[preserves] === true)) return schema
  return embedded(schema, set)
}

/** An object inside another one says what it is, too. */
function embedded(schema: UntypedObject, set: TypeReferences): UntypedObject {
  const required = listOf(schema['required'])
  const missing = ['kind', 'apiVersion'].filter(name => !required.includes(name))
  return {
    ...schema,
    required: [...required, ...missing],
    properties: sorted({
      ...objectOf(schema['properties']),
      apiVersion: {
        ...typeMeta['apiVersion'],
        description:
          'apiVersion defines the versioned schema of this representation of an object. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources',
      },
      kind: {
        ...typeMeta['kind'],
        description:
          'kind is a string value representing the type of this object. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds',
      },
      metadata: metadata(set),
    }),
  }
}

/** A number or a text, said in words that every reader of OpenAPI knows. */
function unfolded(schema: UntypedObject): UntypedObject {
  if (schema['x-kubernetes-int-or-string'] !== true || schema['anyOf'] !== undefined) return schema
  if (listOf(schema['allOf']).some(part => objectOf(part)['anyOf'] !== undefined)) return schema
  return { ...schema, anyOf: [{ type: 'integer' }, { type: 'string' }] }
}

function inVersion2(schema: UntypedObject): UntypedObject {
  const { allOf: _, oneOf: __, anyOf: ___, not: ____, default: _____, nullable, ...rest } = schema
  const less: Record<string, unknown> = rest
  if (nullable === true) {
    delete less['type']
    delete less['items']
    delete less['properties']
  }
  if (less[preserves] === true) {
    delete less['items']
    delete less['properties']
    if (less['type'] === 'object') delete less['type']
  }
  if (less['items'] === undefined && less['type'] === 'array') delete less['type']
  const others = objectOf(less['additionalProperties'])
  const properties = objectOf(less['properties'])
  const required = listOf(less['required']).filter(
    name => objectOf(properties[String(name)])['nullable'] !== true,
  )
  if (less['required'] !== undefined) {
    if (required.length === 0 || others['nullable'] === true) delete less['required']
    else less['required'] = required
  }
  return less
}

function sorted(properties: UntypedObject): UntypedObject {
  return Object.fromEntries(Object.entries(properties).sort(([a], [b]) => (a < b ? -1 : 1)))
}
