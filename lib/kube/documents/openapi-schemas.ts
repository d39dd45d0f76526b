/** Schemas for OpenAPI, from the wire schema and from the schemas of CustomResourceDefinitions:
 *  types and fields, without the descriptions. What `kubectl explain` and generators of clients
 *  need. */

import type { SelectableField } from '../../codec/fields/selectable.ts'
import type { Field, MessageType, Schema } from '../../codec/schema/schema.ts'
import type { Resource } from '../resources/resource.ts'
import { groupVersionText } from '../resources/resource.ts'
import { objectOf } from '../../base/untyped.ts'

/** A schema as it is written in the document. */
export type OpenApiSchema = Readonly<Record<string, unknown>>

/** The prefix of references between schemas: `#/components/schemas/` in version 3, `#/definitions/`
 *  in version 2. */
export type ReferencePrefix = '#/components/schemas/' | '#/definitions/'

/** The named schemas of one document. */
export class SchemaSet {
  readonly schemas: Record<string, OpenApiSchema> = {}
  readonly #schema: Schema
  readonly #prefix: ReferencePrefix

  constructor(schema: Schema, prefix: ReferencePrefix) {
    this.#schema = schema
    this.#prefix = prefix
  }

  /** Adds the kind of a resource and its list, with every schema that they refer to. Returns their
   *  names. */
  addResource(resource: Resource): { readonly object: string; readonly list: string } {
    const object =
      resource.custom === undefined
        ? this.#addBuiltIn(resource, resource.kind)
        : this.#addCustom(resource)
    const list =
      resource.custom === undefined
        ? this.#addBuiltIn(resource, resource.listKind)
        : this.#addCustomList(resource, object)
    return { object, list }
  }

  reference(name: string): OpenApiSchema {
    return { $ref: this.#prefix + name }
  }

  #addBuiltIn(resource: Resource, kind: string): string {
    const { group, version } = resource
    const type = this.#schema.findKind(groupVersionText(group, version), kind)?.type
    const name = type === undefined ? kind : schemaName(type.name)
    if (type !== undefined) this.#addType(type)
    const known = this.schemas[name] ?? { type: 'object' }
    const isObject = kind === resource.kind
    this.schemas[name] = {
      ...known,
      ...(isObject && resource.fields.length > 0 ? selectable(resource) : {}),
      ...kindMember(group, version, kind),
    }
    return name
  }

  #addCustom(resource: Resource): string {
    const { group, version, kind, custom } = resource
    const name = customName(group, version, kind)
    const declared = objectOf(custom?.schema)
    const metadata = this.#typeReference('meta/v1.ObjectMeta')
    this.schemas[name] = {
      ...declared,
      type: 'object',
      properties: {
        apiVersion: { type: 'string' },
        kind: { type: 'string' },
        metadata,
        ...withoutMetadata(declared['properties']),
      },
      ...selectable(resource),
      ...kindMember(group, version, kind),
    }
    return name
  }

  #addCustomList({ group, version, listKind }: Resource, object: string): string {
    const name = customName(group, version, listKind)
    this.schemas[name] = {
      type: 'object',
      required: ['items'],
      properties: {
        apiVersion: { type: 'string' },
        items: { type: 'array', items: this.reference(object) },
        kind: { type: 'string' },
        metadata: this.#typeReference('meta/v1.ListMeta'),
      },
      ...kindMember(group, version, listKind),
    }
    return name
  }

  #addType(type: MessageType): void {
    const name = schemaName(type.name)
    if (this.schemas[name] !== undefined) return
    this.schemas[name] = {}
    this.schemas[name] = this.#typeSchema(type)
  }

  #typeSchema(type: MessageType): OpenApiSchema {
    if (type.form === 'wrap') return { type: 'array', items: { type: 'string' } }
    if (type.form !== 'object') return {}
    const properties: Record<string, OpenApiSchema> = {}
    if (type.hasTypeMeta) {
      properties['apiVersion'] = { type: 'string' }
      properties['kind'] = { type: 'string' }
    }
    this.#addProperties(type, properties)
    return { type: 'object', properties: sorted(properties) }
  }

  #addProperties(type: MessageType, properties: Record<string, OpenApiSchema>): void {
    for (const field of type.fields) {
      const inner = field.isInline ? this.#schema.findMessageType(field.type) : undefined
      if (inner === undefined) properties[field.jsonName] = this.#fieldSchema(field)
      else this.#addProperties(inner, properties)
    }
  }

  #fieldSchema({ type, container }: Field): OpenApiSchema {
    const schema = scalarSchemas[type] ?? this.#typeReference(type)
    if (container === 'list') return { type: 'array', items: schema }
    return container === 'map' ? { type: 'object', additionalProperties: schema } : schema
  }

  #typeReference(name: string): OpenApiSchema {
    const special = specialNames[name]
    if (special !== undefined) {
      this.schemas[special.name] = special.schema
      return this.reference(special.name)
    }
    const type = this.#schema.findMessageType(name)
    if (type === undefined) return {}
    this.#addType(type)
    return this.reference(schemaName(name))
  }
}

const scalarSchemas: Readonly<Record<string, OpenApiSchema>> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  float64: { type: 'number', format: 'double' },
  bytes: { type: 'string', format: 'byte' },
  any: {},
  json: {},
}

const machinery = 'io.k8s.apimachinery.pkg.'

const specialNames: Readonly<
  Record<string, { readonly name: string; readonly schema: OpenApiSchema }>
> = {
  quantity: { name: `${machinery}api.resource.Quantity`, schema: { type: 'string' } },
  time: {
    name: `${machinery}apis.meta.v1.Time`,
    schema: { type: 'string', format: 'date-time' },
  },
  microtime: {
    name: `${machinery}apis.meta.v1.MicroTime`,
    schema: { type: 'string', format: 'date-time' },
  },
  intorstring: {
    name: `${machinery}util.intstr.IntOrString`,
    schema: { type: 'string', format: 'int-or-string' },
  },
  fieldsv1: { name: `${machinery}apis.meta.v1.FieldsV1`, schema: { type: 'object' } },
  rawextension: { name: `${machinery}runtime.RawExtension`, schema: { type: 'object' } },
}

const packages: Readonly<Record<string, string>> = {
  meta: `${machinery}apis.meta`,
  apiextensions: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions',
  apiregistration: 'io.k8s.kube-aggregator.pkg.apis.apiregistration',
}

/** `io.k8s.api.core.v1.Pod` of `core/v1.Pod`. */
function schemaName(typeName: string): string {
  const [group = '', rest = ''] = typeName.split('/')
  return `${packages[group] ?? `io.k8s.api.${group}`}.${rest}`
}

/** `com.example.v1.Widget`: the group in reverse order. */
function customName(group: string, version: string, kind: string): string {
  return [...group.split('.').reverse(), version, kind].join('.')
}

function kindMember(group: string, version: string, kind: string): OpenApiSchema {
  return { 'x-kubernetes-group-version-kind': [{ group, kind, version }] }
}

function selectable({ fields }: Resource): OpenApiSchema {
  return { 'x-kubernetes-selectable-fields': fields.map(selectableField) }
}

function selectableField({ label, paths, fallback }: SelectableField): OpenApiSchema {
  const isOwnPath = paths.length === 1 && paths[0] === label
  return {
    fieldPath: label,
    ...(fallback === '' ? {} : { default: fallback }),
    ...(isOwnPath || paths.length === 0
      ? {}
      : { description: `Set to the value of ${paths.join(', or else of ')}` }),
  }
}

function withoutMetadata(properties: unknown): OpenApiSchema {
  const { metadata: _, ...rest } = objectOf(properties)
  return rest
}

function sorted(
  properties: Readonly<Record<string, OpenApiSchema>>,
): Record<string, OpenApiSchema> {
  const names = Object.keys(properties).sort()
  return Object.fromEntries(names.map(name => [name, properties[name] ?? {}]))
}
