/** The differences between the data of several minor versions of Kubernetes about one resource. Two
 *  minors answer reads of it alike where all of their rows are equal. Rows are what
 *  lib/codec/schema has, with a name for people: nothing here knows a minor. */

import { type MessageField, perSchema, type ReadDefault, type Schema } from '@watchglass/codec'
import { builtInResources, groupVersionText, type Resource } from '@watchglass/kube'

/** Rows of what:
 *  - `whole`: the resource itself: whether it is served, how it is stored, its selectors. Where one
 *    differs, no read is answered alike.
 *  - `objects`: fields, defaults, columns, behaviours. Where one differs, objects that do not use
 *    it may still be alike.
 *  - `metadata`: those of `objects` that concern metadata */
export type Part = 'whole' | 'objects' | 'metadata'

type Rows = ReadonlyMap<string, string>

/** The names of the rows that are not equal in all of these minors. The resource is built in, or
 *  custom. */
export function differingRows(
  schemas: readonly Schema[],
  resource: Resource,
  part: Part,
): readonly string[] {
  if (part === 'whole') {
    return resource.custom === undefined
      ? differingIn(schemas.map(schema => wholeRows(schema, pathOf(resource))))
      : []
  }
  const roots = part === 'metadata' || resource.custom !== undefined ? [metadataType] : undefined
  const types = new Set(
    schemas.flatMap(schema =>
      (roots ?? typesOf(schema, resource)).flatMap(name => [name, ...schema.containedTypes(name)]),
    ),
  )
  const columns =
    roots === undefined ? differingIn(schemas.map(schema => columnRows(schema, resource))) : []
  return [...types].flatMap(type => differingOfType(schemas, type)).concat(columns)
}

const metadataType = 'meta/v1.ObjectMeta'

function differingIn(all: readonly Rows[]): string[] {
  const [first, ...others] = all
  const names = new Set(all.flatMap(rows => [...rows.keys()]))
  return [...names].filter(name => others.some(rows => rows.get(name) !== first?.get(name)))
}

/** A type that not all have is reached by a field that not all have. */
function differingOfType(schemas: readonly Schema[], type: string): string[] {
  const [first, ...others] = schemas.map(schema => rowsOfType(schema, type))
  if (first === undefined || others.some(one => one === undefined)) return []
  if (others.every(one => one?.text === first.text)) return []
  return differingIn([first, ...others].flatMap(one => one?.rows ?? []))
}

/** The types of what is served, and of what is stored. */
function typesOf(schema: Schema, resource: Resource): readonly string[] {
  const { storage } = builtIns(schema).get(pathOf(resource)) ?? resource
  return [resource, storage ?? resource].flatMap(({ group, version, kind }) => {
    const type = schema.findKind(groupVersionText(group, version), kind)?.type
    return type === undefined ? [] : [type.name]
  })
}

const builtIns: (schema: Schema) => ReadonlyMap<string, Resource> = perSchema(
  schema => new Map(builtInResources(schema).map(one => [pathOf(one), one])),
)

function pathOf({
  group,
  version,
  resource,
}: Pick<Resource, 'group' | 'version' | 'resource'>): string {
  return `${groupVersionText(group, version)}/${resource}`
}

function wholeRows(schema: Schema, path: string): Rows {
  const resource = builtIns(schema).get(path)
  if (resource === undefined) return new Map([['that it is served', 'no']])
  const { kind, listKind, isNamespaced, verbs, routing, storage, warnings } = resource
  const { fields, unknownField, isWatchCached } = resource
  return new Map([
    ['that it is served', 'yes'],
    ['its kind', JSON.stringify({ kind, listKind, isNamespaced, verbs, routing, isWatchCached })],
    ['how it is stored', JSON.stringify(storage)],
    ['its field selectors', JSON.stringify([fields, unknownField('')])],
    ['its warnings', JSON.stringify(warnings)],
  ])
}

function columnRows(schema: Schema, resource: Resource): Rows {
  const path = pathOf(resource)
  const table = schema.tables.find(one => pathOf(one) === path)
  return new Map([['columns', JSON.stringify(table?.columnDefinitions)]])
}

interface RowsOfType {
  /** Equal where all rows are. */
  readonly text: string
  readonly rows: Rows
}

/** Undefined for a type that the minor does not have. Types are parts of many resources, so they
 *  are read once. */
function rowsOfType(schema: Schema, name: string): RowsOfType | undefined {
  const known = knownTypes(schema)
  if (!known.has(name)) known.set(name, readType(schema, name))
  return known.get(name)
}

const knownTypes = perSchema(() => new Map<string, RowsOfType | undefined>())

function readType(schema: Schema, name: string): RowsOfType | undefined {
  const type = schema.findMessageType(name)
  if (type === undefined) return undefined
  const { form, hasTypeMeta, hasProtobuf, fields } = type
  const rows = new Map([[`type ${name}`, JSON.stringify([form, hasTypeMeta, hasProtobuf])]])
  for (const field of fields) {
    // Inline fields have no name.
    rows.set(`field ${name}.${field.jsonName || field.number}`, textOf(field))
  }
  for (const row of defaultsOf(schema).get(name) ?? []) {
    // There may be several, for different values of another field.
    const key = `default ${name}.${row.field ?? ''}`
    rows.set(key, `${rows.get(key) ?? ''}${JSON.stringify(row)}`)
  }
  for (const behaviour of schema.behavioursOf(name)) {
    rows.set(`behaviour ${behaviour}`, String(schema.has(behaviour)))
  }
  return { text: JSON.stringify([...rows]), rows }
}

/** The field as far as it shows in bytes. What patches know of it does not matter here. */
function textOf(field: MessageField): string {
  return JSON.stringify({ ...field, merging: undefined })
}

const defaultsOf: (schema: Schema) => ReadonlyMap<string, readonly ReadDefault[]> = perSchema(
  schema => {
    const byType = new Map<string, ReadDefault[]>()
    for (const row of schema.readDefaults) {
      byType.set(row.type, [...(byType.get(row.type) ?? []), row])
    }
    return byType
  },
)
