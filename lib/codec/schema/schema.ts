/** The wire schema of the built-in Kubernetes objects, typed: messages by name, kinds by apiVersion, REST resources, the columns
 *  of Tables, defaults on read. What the files in data/ mean is in FORMAT.md; a file is parsed when it is first asked for, so that
 *  a command that needs none pays nothing. */

import { CacheError } from '../../base/errors.ts'
import { readDataFile } from '../../base/data-file.ts'

/** What a field holds: one value, a list, or a map with text keys. Never nested. */
export type Container = 'single' | 'list' | 'map'

export interface Field {
  /** Empty for an inline field. */
  readonly jsonName: string
  readonly number: number
  readonly container: Container
  /** Of the value, the element or the map's value: a scalar, a special, or the name of a message. */
  readonly type: string
  /** Left out of JSON when it is zero, absent or empty (`omitempty`). */
  readonly isOmittedWhenEmpty: boolean
  /** Left out of JSON when it is a zero time (`omitzero`). */
  readonly isOmittedWhenZero: boolean
  readonly isPointer: boolean
  /** Its JSON members belong to the parent, at this place; in protobuf it is a nested message. */
  readonly isInline: boolean
}

/** A message type. Fields are in the order of JSON output. */
export interface MessageType {
  readonly name: string
  /** Its JSON begins with `kind` and `apiVersion`, which are not protobuf fields. */
  readonly hasTypeMeta: boolean
  readonly hasProtobuf: boolean
  /** Its JSON form is another than an object of its fields (FORMAT.md, section 2). */
  readonly form: MessageForm
  readonly fields: readonly Field[]
}

export type MessageForm = 'object' | 'wrap' | 'orbool' | 'orarray' | 'orstringarray'

/** A built-in kind, as an object's apiVersion and kind name it. */
export interface Kind {
  readonly apiVersion: string
  readonly kind: string
  readonly type: MessageType
  /** Whether a default kube-apiserver serves the group version; `storage` is not served, but found in etcd. */
  readonly served: 'default' | 'optional' | 'storage' | 'no'
}

/** A built-in REST resource, as in resources.json. */
export interface BuiltInResource {
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly singular: string
  readonly kind: string
  readonly listKind: string | null
  readonly namespaced: boolean
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly verbs: readonly string[]
  readonly subresources: readonly Subresource[]
  readonly defaultServed: boolean
  readonly preferredVersion: boolean
  readonly storageVersionHash?: string
  readonly storage: BuiltInStorage | null
  readonly fieldLabels?: readonly FieldLabel[]
  readonly fieldLabelError?: string
  readonly otherVersions?: readonly OtherVersion[]
}

export interface Subresource {
  readonly name: string
  readonly kind: string
  readonly verbs: readonly string[]
  /** Only when the body is of another group and version. */
  readonly group?: string | undefined
  readonly version?: string | undefined
}

/** Where and how a resource is kept in etcd. */
export interface BuiltInStorage {
  /** With a slash at the end: `/registry/pods/`. */
  readonly prefix: string
  readonly key: '{namespace}/{name}' | '{name}'
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly encoding: 'protobuf' | 'json'
  readonly conversion: 'same' | 'relabel' | 'convert'
}

/** A label of a field selector: its value is the first non-empty of `paths`, else `default`. */
export interface FieldLabel {
  readonly label: string
  readonly paths: readonly string[]
  readonly default: string
}

export interface OtherVersion {
  readonly group: string
  readonly version: string
  readonly defaultServed: boolean
}

/** The Table of a resource. */
export interface ResourceTable {
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly columnDefinitions: readonly ColumnDefinition[]
}

export interface ColumnDefinition {
  readonly name: string
  readonly type: string
  readonly format: string
  readonly description: string
  readonly priority: number
}

/** A default that the server applies on every read, when the field is zero (a pointer: absent). */
export interface ReadDefault {
  readonly type: string
  readonly field: string
  readonly value: unknown
  /** Applies only when this sibling field has this value. */
  readonly when?: readonly [field: string, value: unknown]
  /** Applies only inside objects of this kind. */
  readonly root?: string
  /** Applies only at this field path. */
  readonly path?: string
}

/** A default on read that a rule in words describes. */
export interface SpecialReadDefault {
  readonly id: string
  readonly types?: readonly string[]
  readonly kinds?: readonly string[]
  readonly rule: string
}

/** What the server changes on read even in values that a kube-apiserver wrote. */
export interface ReadFixup {
  readonly type: string
  readonly field: string
  /** The value of an empty field. */
  readonly whenEmpty?: string
  /** What the list's elements carry in JSON. */
  readonly apiVersion?: string
  readonly kind?: string
}

/** The Kubernetes version that the data describes, as `1.36.2`. */
export function kubernetesVersion(): string {
  return schema().kubernetesVersion
}

/** The message type of that name, as `core/v1.PodSpec`; scalars and specials are none. */
export function findMessageType(name: string): MessageType | undefined {
  const { types } = schema()
  const row = Object.hasOwn(types, name) ? types[name] : undefined
  if (row === undefined) return undefined
  let type = messageTypes.get(name)
  if (type === undefined) {
    type = messageTypeFromRow(name, row)
    messageTypes.set(name, type)
  }
  return type
}

/** The same, for a name that the schema itself gave. */
export function messageType(name: string): MessageType {
  const type = findMessageType(name)
  if (type === undefined) throw new CacheError('not_found', `no message type ${name} in the schema`)
  return type
}

/** The built-in kind, or `undefined` for custom ones and for what we have no schema of. */
export function findKind(apiVersion: string, kind: string): Kind | undefined {
  const { kinds, groupVersions } = schema()
  const names = Object.hasOwn(kinds, apiVersion) ? kinds[apiVersion] : undefined
  const name = names !== undefined && Object.hasOwn(names, kind) ? names[kind] : undefined
  if (name === undefined) return undefined
  return { apiVersion, kind, type: messageType(name), served: groupVersions[apiVersion] ?? 'no' }
}

/** The message types that a message of this type can contain, at any depth; itself only if it can contain itself. */
export function containedTypes(name: string): ReadonlySet<string> {
  let contained = containedBy.get(name)
  if (contained === undefined) {
    const { types } = schema()
    const found = new Set<string>()
    const add = (container: string): void => {
      for (const [, , type] of types[container]?.f ?? []) {
        if (type.includes('.')) found.add(type.replace(/^(?:\[\]|\{\})/, ''))
      }
    }
    add(name)
    // A set can be added to while it is gone through.
    for (const type of found) add(type)
    contained = found
    containedBy.set(name, contained)
  }
  return contained
}

/** Names of all message types. */
export function messageTypeNames(): readonly string[] {
  return Object.keys(schema().types)
}

/** All built-in kinds. */
export function allKinds(): readonly Kind[] {
  return Object.entries(schema().kinds).flatMap(([apiVersion, names]) =>
    Object.keys(names).flatMap(kind => findKind(apiVersion, kind) ?? []),
  )
}

/** All built-in REST resources, served by default or not. */
export function allResources(): readonly BuiltInResource[] {
  return (data('resources') as { resources: readonly BuiltInResource[] }).resources
}

/** The columns of every resource's Table, as the server lists them. */
export function allTables(): readonly ResourceTable[] {
  return (data('tables') as { tables: readonly ResourceTable[] }).tables
}

export function readDefaults(): readonly ReadDefault[] {
  return defaults().rules
}

export function specialReadDefaults(): readonly SpecialReadDefault[] {
  return defaults().special
}

export function readFixups(): readonly ReadFixup[] {
  return schema().readFixups
}

type FieldRow = readonly [
  jsonName: string,
  number: number,
  type: string,
  flags?: string,
  extra?: object,
]

interface TypeRow {
  readonly tm?: 1
  readonly np?: 1
  readonly s?: MessageForm
  readonly f: readonly FieldRow[]
}

interface SchemaFile {
  readonly kubernetesVersion: string
  readonly readFixups: readonly ReadFixup[]
  readonly groupVersions: Readonly<Record<string, Kind['served']>>
  readonly kinds: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly types: Readonly<Record<string, TypeRow>>
}

interface DefaultsFile {
  readonly rules: readonly ReadDefault[]
  readonly special: readonly SpecialReadDefault[]
}

const messageTypes = new Map<string, MessageType>()
const containedBy = new Map<string, ReadonlySet<string>>()
let schemaFile: SchemaFile | undefined

function schema(): SchemaFile {
  schemaFile ??= data('kubernetes-schema') as SchemaFile
  return schemaFile
}

function defaults(): DefaultsFile {
  return data('read-defaults') as DefaultsFile
}

function data(name: 'kubernetes-schema' | 'read-defaults' | 'resources' | 'tables'): unknown {
  return readDataFile(import.meta.url, `./data/${name}.json`)
}

function messageTypeFromRow(name: string, row: TypeRow): MessageType {
  return {
    name,
    hasTypeMeta: row.tm === 1,
    hasProtobuf: row.np !== 1,
    form: row.s ?? 'object',
    fields: row.f.map(fieldFromRow),
  }
}

function fieldFromRow([jsonName, number, type, flags = '']: FieldRow): Field {
  const container = type.startsWith('[]') ? 'list' : type.startsWith('{}') ? 'map' : 'single'
  return {
    jsonName,
    number,
    container,
    type: container === 'single' ? type : type.slice(2),
    isOmittedWhenEmpty: flags.includes('o'),
    isOmittedWhenZero: flags.includes('z'),
    isPointer: flags.includes('p'),
    isInline: flags.includes('i'),
  }
}
