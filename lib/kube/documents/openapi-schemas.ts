/** Schemas for OpenAPI, as kube-apiserver has them: of built-in kinds from the wire schema, with
 *  the descriptions of openapi-texts.json, and of custom kinds from their definitions
 *  (custom-schemas.ts).
 *
 *  The two versions differ: version 3 has defaults, and wraps a reference beside which something
 *  stands in `allOf`; version 2 has neither. */

import { type MessageField, type MessageType, perSchema, type Schema } from '@watchglass/codec'
import type { Resource } from '../resources/resource.ts'
import { groupVersionText } from '../resources/resource.ts'
import { customListSchema, customSchema } from './custom-schemas.ts'
import {
  type OpenApiSchema,
  type OpenApiVersion,
  typeMeta,
  type TypeReferences,
} from './openapi-schema.ts'
import { type Rows, textOf, textsOfType, type TypeTexts } from './openapi-texts.ts'

/** The named schemas of one document. */
export class SchemaSet implements TypeReferences {
  readonly schemas: Record<string, OpenApiSchema> = {}
  readonly version: OpenApiVersion
  readonly #schema: Schema
  /** The groups and versions that the document is about; undefined if it is about all. */
  readonly #groupVersions: readonly GroupVersion[] | undefined

  constructor(schema: Schema, version: OpenApiVersion, groupVersions?: readonly GroupVersion[]) {
    this.#schema = schema
    this.version = version
    this.#groupVersions = groupVersions
  }

  /** Minor version of Kubernetes. */
  get minor(): string {
    return this.#schema.minor
  }

  /** Adds the kind of a resource, with every schema that it refers to. Returns its name. */
  addKind(resource: Resource, kind: string = resource.kind): string {
    const { group, version, custom } = resource
    if (custom === undefined) return this.addBuiltIn(group, version, kind) ?? kind
    const name = customName(group, version, kind)
    this.addType('meta/v1.ObjectMeta')
    this.schemas[name] ??= {
      ...customSchema(resource, this),
      ...selectable(resource),
    }
    return name
  }

  /** Adds the schema of a resource's list, and gives its name. */
  addList(resource: Resource): string {
    const { group, version, listKind, custom } = resource
    if (custom === undefined) return this.addBuiltIn(group, version, listKind) ?? listKind
    const name = customName(group, version, listKind)
    this.addType('meta/v1.ListMeta')
    this.schemas[name] ??= {
      ...customListSchema(resource, this.reference(this.addKind(resource)), this),
      ...selectable(resource),
    }
    return name
  }

  /** Adds a built-in kind; undefined if there is none of that name. */
  addBuiltIn(group: string, version: string, kind: string): string | undefined {
    const found = this.#schema.findKind(groupVersionText(group, version), kind)
    return found === undefined ? undefined : this.addType(found.type.name)
  }

  /** Adds a type of the wire schema, or a special one, with all that it contains. */
  addType(typeName: string): string {
    const special = Object.hasOwn(specialTypes, typeName) ? specialTypes[typeName] : undefined
    const name = special?.name ?? schemaName(typeName)
    if (this.schemas[name] !== undefined) return name
    const description = this.#text(textsOfType(typeName).d)
    const described = description === undefined ? {} : { description }
    // It may contain itself.
    this.schemas[name] = described
    if (special !== undefined) {
      this.schemas[name] = { ...described, ...(this.version === 2 ? special.v2 : special.v3) }
      return name
    }
    const type = this.#schema.findMessageType(typeName)
    if (type !== undefined) this.schemas[name] = { ...described, ...this.#typeSchema(type) }
    return name
  }

  reference(name: string): OpenApiSchema {
    return { $ref: `${this.version === 2 ? '#/definitions/' : '#/components/schemas/'}${name}` }
  }

  #text(rows: Rows | undefined): string | undefined {
    return textOf(rows, this.minor)
  }

  #typeSchema(type: MessageType): OpenApiSchema {
    if (type.form !== 'object') return {}
    const properties: Record<string, OpenApiSchema> = {}
    const required = new Set<string>()
    if (type.hasTypeMeta) Object.assign(properties, typeMeta)
    const texts = textsOfType(type.name)
    this.#addProperties(type, texts, { properties, required })
    const { u: unions } = texts
    const kinds = this.#kindsOf(type.name)
    return {
      type: 'object',
      ...(required.size === 0 ? {} : { required: [...required] }),
      ...(Object.keys(properties).length === 0 ? {} : { properties: sorted(properties) }),
      ...(kinds.length === 0 ? {} : { 'x-kubernetes-group-version-kind': kinds }),
      ...(type.mapType === undefined ? {} : { 'x-kubernetes-map-type': type.mapType }),
      ...(unions === undefined ? {} : { 'x-kubernetes-unions': unions }),
    }
  }

  /** The kinds that an object of the type can say it is; empty for parts of objects. */
  #kindsOf(name: string): readonly OpenApiSchema[] {
    const [, kind = ''] = name.split('.')
    if (name.startsWith('meta/v1.') && everywhere.has(kind)) {
      const all = this.#groupVersions ?? groupVersionsOf(this.#schema)
      return all.map(({ group, version }) => ({ group, kind, version }))
    }
    const { schema } = this.#schema.messageType(name)
    return kindNames(schema).get(name) ?? []
  }

  /** Adds the fields of a type, and those of the types that are inlined in it, of which the texts
   *  of the outer type tell. */
  #addProperties(type: MessageType, texts: TypeTexts, to: Properties): void {
    for (const field of type.fields) {
      const inner = field.isInline ? this.#schema.findMessageType(field.type) : undefined
      if (inner !== undefined) {
        this.#addProperties(inner, texts, to)
        continue
      }
      to.properties[field.jsonName] = this.#property(texts, field)
      const isExcepted = texts.r?.includes(field.jsonName) === true
      if (field.isOmittedWhenEmpty === isExcepted) to.required.add(field.jsonName)
    }
  }

  #property(
    { f: texts = {}, x: defaults = {}, e: enums = {} }: TypeTexts,
    field: MessageField,
  ): OpenApiSchema {
    const name = field.jsonName
    const description = this.#text(Object.hasOwn(texts, name) ? texts[name] : undefined)
    const isWrapped = this.#schema.findMessageType(field.type)?.form === 'wrap'
    const zero = isWrapped ? undefined : zeroOf(field)
    const value = Object.hasOwn(defaults, name) ? defaults[name] : zero
    const beside = {
      ...(description === undefined ? {} : { description }),
      ...(this.version === 2 || value === undefined ? {} : { default: value }),
    }
    const schema = this.#fieldSchema(field, Object.hasOwn(enums, name) ? enums[name] : undefined)
    const { merging } = field
    return {
      ...(this.version === 3 && '$ref' in schema && Object.keys(beside).length > 0
        ? { ...beside, allOf: [schema] }
        : { ...beside, ...schema }),
      ...(merging.listKeys === undefined ? {} : { 'x-kubernetes-list-map-keys': merging.listKeys }),
      ...(merging.listType === undefined ? {} : { 'x-kubernetes-list-type': merging.listType }),
      ...(merging.mapType === undefined ? {} : { 'x-kubernetes-map-type': merging.mapType }),
      ...(merging.patchKey === undefined
        ? {}
        : { 'x-kubernetes-patch-merge-key': merging.patchKey }),
      ...(merging.patchStrategy === undefined
        ? {}
        : { 'x-kubernetes-patch-strategy': merging.patchStrategy.join(',') }),
    }
  }

  #fieldSchema(
    { type, container }: MessageField,
    values: readonly unknown[] | undefined,
  ): OpenApiSchema {
    const bare = scalarSchemas[type] ?? this.typeReference(type)
    const schema = values === undefined ? bare : { ...bare, enum: values }
    if (container === 'list') return { type: 'array', items: schema }
    return container === 'map' ? { type: 'object', additionalProperties: schema } : schema
  }

  /** A reference to a type, or the schema of a list of texts. */
  typeReference(name: string): OpenApiSchema {
    const type = this.#schema.findMessageType(name)
    if (type?.form === 'wrap') return { type: 'array', items: { type: 'string' } }
    const isKnown = type !== undefined || Object.hasOwn(specialTypes, name)
    return isKnown ? this.reference(this.addType(name)) : {}
  }
}

interface Properties {
  readonly properties: Record<string, OpenApiSchema>
  readonly required: Set<string>
}

export interface GroupVersion {
  readonly group: string
  readonly version: string
}

/** The kinds that every group version has. */
const everywhere = new Set(['DeleteOptions', 'WatchEvent'])

/** The zero of fields that are there even when nothing was written. */
function zeroOf({ type, container, isPointer, isOmittedWhenEmpty }: MessageField): unknown {
  if (container !== 'single' || isPointer) return undefined
  if (type.includes('/')) return {}
  if (isOmittedWhenEmpty || !Object.hasOwn(zeros, type)) return undefined
  return zeros[type]
}

const zeros: Readonly<Record<string, unknown>> = {
  string: '',
  bool: false,
  int32: 0,
  int64: 0,
  float64: 0,
}

const scalarSchemas: Readonly<Record<string, OpenApiSchema>> = {
  string: { type: 'string' },
  bool: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  float64: { type: 'number', format: 'double' },
  bytes: { type: 'string', format: 'byte' },
  any: { type: 'object' },
}

const machinery = 'io.k8s.apimachinery.pkg.'

interface SpecialType {
  readonly name: string
  readonly v2: OpenApiSchema
  readonly v3: OpenApiSchema
}

function alike(name: string, schema: OpenApiSchema): SpecialType {
  return { name, v2: schema, v3: schema }
}

/** The types that are no messages of the wire schema, and their schemas. */
export const specialTypes: Readonly<Record<string, SpecialType>> = {
  quantity: {
    name: `${machinery}api.resource.Quantity`,
    v2: { type: 'string' },
    v3: { oneOf: [{ type: 'string' }, { type: 'number' }] },
  },
  time: alike(`${machinery}apis.meta.v1.Time`, { type: 'string', format: 'date-time' }),
  microtime: alike(`${machinery}apis.meta.v1.MicroTime`, { type: 'string', format: 'date-time' }),
  intorstring: {
    name: `${machinery}util.intstr.IntOrString`,
    v2: { type: 'string', format: 'int-or-string' },
    v3: { format: 'int-or-string', oneOf: [{ type: 'integer' }, { type: 'string' }] },
  },
  fieldsv1: alike(`${machinery}apis.meta.v1.FieldsV1`, { type: 'object' }),
  rawextension: alike(`${machinery}runtime.RawExtension`, { type: 'object' }),
  json: alike('io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON', {}),
  patch: alike(`${machinery}apis.meta.v1.Patch`, { type: 'object' }),
  versioninfo: {
    name: `${machinery}version.Info`,
    v2: versionInfo({}),
    v3: versionInfo({ default: '' }),
  },
}

/** The type of /version, which is no object. */
function versionInfo(always: OpenApiSchema): OpenApiSchema {
  const required = [
    'major',
    'minor',
    'gitVersion',
    'gitCommit',
    'gitTreeState',
    'buildDate',
    'goVersion',
    'compiler',
    'platform',
  ]
  const texts: Readonly<Record<string, string | undefined>> = {
    buildDate: undefined,
    compiler: undefined,
    emulationMajor: 'EmulationMajor is the major version of the emulation version',
    emulationMinor: 'EmulationMinor is the minor version of the emulation version',
    gitCommit: undefined,
    gitTreeState: undefined,
    gitVersion: undefined,
    goVersion: undefined,
    major: 'Major is the major version of the binary version',
    minCompatibilityMajor:
      'MinCompatibilityMajor is the major version of the minimum compatibility version',
    minCompatibilityMinor:
      'MinCompatibilityMinor is the minor version of the minimum compatibility version',
    minor: 'Minor is the minor version of the binary version',
    platform: undefined,
  }
  const properties = Object.entries(texts).map(([name, description]) => [
    name,
    required.includes(name)
      ? { ...(description === undefined ? {} : { description }), ...always, type: 'string' }
      : { description, type: 'string' },
  ])
  return {
    type: 'object',
    required,
    properties: Object.fromEntries(properties),
  }
}

const packages: Readonly<Record<string, string>> = {
  meta: `${machinery}apis.meta`,
  apiextensions: 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions',
  apiregistration: 'io.k8s.kube-aggregator.pkg.apis.apiregistration',
}

/** `io.k8s.api.core.v1.Pod` of `core/v1.Pod`. */
export function schemaName(typeName: string): string {
  const [group = '', rest = ''] = typeName.split('/')
  return `${packages[group] ?? `io.k8s.api.${group}`}.${rest}`
}

/** `com.example.v1.Widget`: the group in reverse order. */
function customName(group: string, version: string, kind: string): string {
  return [...group.split('.').reverse(), version, kind].join('.')
}

/** By type: the kinds that are served of it. */
const kindNames = perSchema(schema => {
  const names = new Map<string, OpenApiSchema[]>()
  for (const { apiVersion, kind, type } of schema.allKinds()) {
    const [version = '', group = ''] = apiVersion.split('/').reverse()
    // The kinds of requests and answers of the machinery belong to the core group.
    const isMachinery = group === 'meta.k8s.io'
    if (isMachinery && !everywhere.has(kind)) continue
    names.set(type.name, [...(names.get(type.name) ?? []), { group, kind, version }])
  }
  return names
})

/** The group versions of the minor that have any kind, also those that are never served; the core
 *  first. */
const groupVersionsOf = perSchema((schema): readonly GroupVersion[] => {
  const texts = new Set(schema.allKinds().map(({ apiVersion }) => apiVersion))
  const all = [...texts].map(text => {
    const [version = '', group = ''] = text.split('/').reverse()
    return { group, version }
  })
  return all
    .filter(({ group }) => !['meta.k8s.io', 'apidiscovery.k8s.io'].includes(group))
    .sort((a, b) => (`${a.group}/${a.version}` < `${b.group}/${b.version}` ? -1 : 1))
})

/** The fields that the definition declares to be selectable. */
function selectable({ fields }: Resource): OpenApiSchema {
  const declared = fields.filter(({ label }) => !label.startsWith('metadata.'))
  if (declared.length === 0) return {}
  return {
    'x-kubernetes-selectable-fields': declared.map(({ label }) => ({ fieldPath: label })),
  }
}

function sorted(
  properties: Readonly<Record<string, OpenApiSchema>>,
): Record<string, OpenApiSchema> {
  const names = Object.keys(properties).sort()
  return Object.fromEntries(names.map(name => [name, properties[name] ?? {}]))
}
