/** The knowledge of one minor version of Kubernetes: the wire schema of its objects, its REST
 *  resources, the columns of its Tables, its defaults on read, and how it behaves where versions
 *  differ.
 *
 *  **How a version is chosen.** `schemaOf('1.34')` is the one place. The `Schema` is then passed on
 *  as a value, and nothing below asks for a number: a `Registry` is made with one, each of its
 *  `Resource`s carries it (`resource.schema`), and so do the outputs, Tables, selectors and
 *  documents that are made of these. A `MessageType` has the `schema` that it came from. What
 *  depends on the version and is kept (compiled functions, Tables) is kept for each schema
 *  (`perSchema`), so that two can be in use at once, and a changed version means another registry
 *  and nothing else. Standalone, `--kubernetes-version` chooses.
 *
 *  **Where versions differ** is data: rows with `since` and `until` in data/*.json (FORMAT.md), all
 *  of it made by `npm run regenerate` but behaviours.json, which names what is neither a field nor
 *  a column: `schema.has('watchList')`.
 *
 *  Files are parsed when they are first asked for, so that a command that needs none pays
 *  nothing. */

import { CacheError, readDataFile } from '@watchglass/base'
import type {
  Behaviour,
  BuiltInResource,
  ColumnDefinition,
  MessageField,
  FieldMerging,
  ListType,
  MapType,
  MessageForm,
  Period,
  ReadDefault,
  ReadFixup,
  ResourceTable,
} from './rows.ts'

export type * from './rows.ts'

/** A message type. Fields are in the order of JSON output. */
export interface MessageType {
  readonly name: string
  /** Schema that has the types of its fields. */
  readonly schema: Schema
  /** Its JSON begins with `kind` and `apiVersion`, which are not protobuf fields. */
  readonly hasTypeMeta: boolean
  readonly hasProtobuf: boolean
  /** Its JSON form is another than an object of its fields (FORMAT.md, section 2). */
  readonly form: MessageForm
  /** x-kubernetes-map-type: an atomic message is owned whole. */
  readonly mapType: MapType | undefined
  readonly fields: readonly MessageField[]
}

/** A built-in kind, as an object's apiVersion and kind name it. */
export interface Kind {
  readonly apiVersion: string
  readonly kind: string
  readonly type: MessageType
  /** Whether a default kube-apiserver serves the group version; `storage` is not served, but found
   *  in etcd. */
  readonly served: 'default' | 'optional' | 'storage' | 'no'
}

/** The minors that there is data of, as `1.36`, oldest first. */
export function minors(): readonly string[] {
  return behaviours().minors
}

/** The minors of which answers of a real server were recorded and compared with ours
 *  (test/golden/data). What is known of others is derived from Kubernetes' sources and documents. */
export function recordedMinors(): readonly string[] {
  return behaviours().recorded
}

/** The minor that is answered as when nothing else is chosen. */
export function defaultMinor(): string {
  return behaviours().whole
}

/** The schema of a minor version, as `1.36`; left out where all are alike, as in a Status. Fails
 *  with `unsupported` on one that there is no data of. */
export function schemaOf(minor: string = defaultMinor()): Schema {
  let schema = schemas.get(minor)
  if (schema === undefined) {
    if (!minors().includes(minor)) {
      const known = `${minors()[0] ?? ''} to ${minors().at(-1) ?? ''}`
      throw new CacheError(
        'unsupported',
        `there is no data of Kubernetes ${minor}: choose one of ${known}`,
      )
    }
    schema = new Schema(minor)
    schemas.set(minor, schema)
  }
  return schema
}

/** Something made once for each schema, when it is first asked for. */
export function perSchema<T>(make: (schema: Schema) => T): (schema: Schema) => T {
  const made = new Map<Schema, T>()
  return schema => {
    let one = made.get(schema)
    if (one === undefined) {
      one = make(schema)
      made.set(schema, one)
    }
    return one
  }
}

/** Objects without a time of creation say so: `"creationTimestamp":null`. */
export const hasZeroTimes: (schema: Schema) => boolean = perSchema(schema => {
  const { fields } = schema.messageType('meta/v1.ObjectMeta')
  return fields.some(
    ({ jsonName, isOmittedWhenZero }) => jsonName === 'creationTimestamp' && !isOmittedWhenZero,
  )
})

export class Schema {
  /** As `1.36`. */
  readonly minor: string
  readonly #place: number
  readonly #types = new Map<string, MessageType | undefined>()
  readonly #contained = new Map<string, ReadonlySet<string>>()
  #resources: readonly BuiltInResource[] | undefined
  #tables: readonly ResourceTable[] | undefined
  #behaviours: ReadonlySet<Behaviour> | undefined
  #defaults: readonly ReadDefault[] | undefined

  constructor(minor: string) {
    this.minor = minor
    this.#place = minors().indexOf(minor)
  }

  /** The message type of that name, as `core/v1.PodSpec`; scalars and specials are none. */
  findMessageType(name: string): MessageType | undefined {
    const known = this.#types.get(name)
    if (known !== undefined || this.#types.has(name)) return known
    const { types } = typesFile()
    const row = Object.hasOwn(types, name) ? types[name] : undefined
    if (row === undefined || !this.#has(row)) return undefined
    const type: MessageType = {
      name,
      schema: this,
      hasTypeMeta: row.tm === 1,
      hasProtobuf: row.np !== 1,
      form: row.s ?? 'object',
      mapType: row.mt,
      fields: row.f.filter(([, , , , extra]) => this.#has(extra ?? {})).map(fieldFromRow),
    }
    this.#types.set(name, type)
    return type
  }

  /** The message type of a name that the schema itself gave. */
  messageType(name: string): MessageType {
    const type = this.findMessageType(name)
    if (type === undefined) {
      throw new CacheError('not_found', `no message type ${name} in the schema of ${this.minor}`)
    }
    return type
  }

  /** The built-in kind, or `undefined` for custom ones and for what we have no schema of. */
  findKind(apiVersion: string, kind: string): Kind | undefined {
    const { kinds, groupVersions } = typesFile()
    const names = Object.hasOwn(kinds, apiVersion) ? kinds[apiVersion] : undefined
    const name = names !== undefined && Object.hasOwn(names, kind) ? names[kind] : undefined
    const type = name === undefined ? undefined : this.findMessageType(name)
    if (type === undefined) return undefined
    return { apiVersion, kind, type, served: groupVersions[apiVersion] ?? 'no' }
  }

  /** The message types that a message of this type can contain, at any depth; itself only if it can
   *  contain itself. */
  containedTypes(name: string): ReadonlySet<string> {
    let contained = this.#contained.get(name)
    if (contained === undefined) {
      const found = new Set<string>()
      const add = (container: string): void => {
        for (const { type } of this.findMessageType(container)?.fields ?? []) {
          if (type.includes('.')) found.add(type)
        }
      }
      add(name)
      // A set can be added to while it is gone through.
      for (const type of found) add(type)
      contained = found
      this.#contained.set(name, contained)
    }
    return contained
  }

  /** Names of all message types. */
  messageTypeNames(): readonly string[] {
    return Object.entries(typesFile().types).flatMap(([name, row]) => (this.#has(row) ? name : []))
  }

  /** All built-in kinds. */
  allKinds(): readonly Kind[] {
    return Object.entries(typesFile().kinds).flatMap(([apiVersion, names]) =>
      Object.keys(names).flatMap(kind => this.findKind(apiVersion, kind) ?? []),
    )
  }

  /** All built-in REST resources, served by default or not. */
  get resources(): readonly BuiltInResource[] {
    this.#resources ??= (
      data('resources') as { resources: readonly (BuiltInResource & Period)[] }
    ).resources.filter(row => this.#has(row))
    return this.#resources
  }

  /** The columns of every resource's Table, as the server lists them. */
  get tables(): readonly ResourceTable[] {
    this.#tables ??= (data('tables') as { tables: readonly (ResourceTable & Period)[] }).tables
      .filter(row => this.#has(row))
      .map(({ columnDefinitions, ...table }) => ({
        ...table,
        columnDefinitions: (columnDefinitions as readonly (ColumnDefinition & Period)[])
          .filter(column => this.#has(column))
          .map(({ name, type, format, description, priority }) => ({
            name,
            type,
            format,
            description,
            priority,
          })),
      }))
    return this.#tables
  }

  /** Defaults of fields that this minor has, in the order in which they are applied. */
  get readDefaults(): readonly ReadDefault[] {
    this.#defaults ??= this.#allDefaults()
    return this.#defaults
  }

  get readFixups(): readonly ReadFixup[] {
    return typesFile().readFixups
  }

  /** Whether servers of this minor behave so. */
  has(behaviour: Behaviour): boolean {
    this.#behaviours ??= new Set(
      behaviours()
        .behaviours.filter(row => this.#has(row))
        .map(({ id }) => id),
    )
    return this.#behaviours.has(behaviour)
  }

  /** The behaviours that concern how objects with a message of this type are written, in this minor
   *  or in another. */
  behavioursOf(type: string): readonly Behaviour[] {
    return behaviours().behaviours.flatMap(({ id, types }) =>
      types?.includes(type) === true ? [id] : [],
    )
  }

  #allDefaults(): readonly ReadDefault[] {
    const { rules: more } = data('more-defaults') as MoreDefaultsFile
    const replaced = new Set(more.map(({ type, field }) => `${type}.${field}`))
    const rules = defaultsFile().rules.filter(row => !replaced.has(`${row.type}.${row.field}`))
    return [...rules.map(defaultFromRow), ...more.filter(row => this.#has(row))].filter(row => {
      const type = this.findMessageType(row.type)
      const isMissing = (path: string): boolean =>
        type?.fields.every(({ jsonName }) => jsonName !== firstName(path)) !== false
      const { behaviour, field, from, when = {} } = row
      return (
        type !== undefined &&
        (behaviour === undefined || this.has(behaviour)) &&
        ![field, from].some(path => path !== undefined && isMissing(path)) &&
        !Object.keys(when).some(path => /^[a-z]/i.test(path) && isMissing(path))
      )
    })
  }

  #has({ since, until }: Period): boolean {
    const all = minors()
    return (
      (since === undefined || all.indexOf(since) <= this.#place) &&
      (until === undefined || all.indexOf(until) >= this.#place)
    )
  }
}

const schemas = new Map<string, Schema>()

type FieldRow = readonly [
  jsonName: string,
  number: number,
  type: string,
  flags?: string,
  extra?: Period & MergingRow,
]

/** The merging of a field as the rows have it, in short. */
interface MergingRow {
  readonly lt?: ListType
  readonly lk?: readonly string[]
  readonly mt?: MapType
  readonly ps?: string
  readonly pk?: string
}

interface TypeRow extends Period {
  readonly tm?: 1
  readonly np?: 1
  readonly s?: MessageForm
  readonly mt?: MapType
  readonly f: readonly FieldRow[]
}

interface TypesFile {
  readonly readFixups: readonly ReadFixup[]
  readonly groupVersions: Readonly<Record<string, Kind['served']>>
  readonly kinds: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly types: Readonly<Record<string, TypeRow>>
}

interface DefaultsFile {
  readonly rules: readonly (Omit<ReadDefault, 'when'> & {
    readonly when?: readonly [field: string, value: unknown]
  })[]
}

function defaultFromRow({ when, ...row }: DefaultsFile['rules'][number]): ReadDefault {
  return when === undefined ? row : { ...row, when: { [when[0]]: { in: [String(when[1])] } } }
}

function firstName(path: string): string {
  const [name = ''] = path.split('.')
  return name
}

/** Kept by hand; its rows stand in for those of the same fields in the other file. */
interface MoreDefaultsFile {
  readonly rules: readonly (ReadDefault & Period)[]
}

interface BehavioursFile {
  readonly minors: readonly string[]
  /** The minor that the reference data describes whole; of others, it has the differences. */
  readonly whole: string
  readonly recorded: readonly string[]
  readonly behaviours: readonly (Period & {
    readonly id: Behaviour
    readonly types?: readonly string[]
  })[]
}

function typesFile(): TypesFile {
  return data('types') as TypesFile
}

function defaultsFile(): DefaultsFile {
  return data('read-defaults') as DefaultsFile
}

function behaviours(): BehavioursFile {
  return data('behaviours') as BehavioursFile
}

type DataFile = 'behaviours' | 'more-defaults' | 'read-defaults' | 'resources' | 'tables' | 'types'

function data(name: DataFile): unknown {
  return readDataFile(import.meta.url, `./data/${name}.json`)
}

function fieldFromRow([jsonName, number, type, flags = '', extra]: FieldRow): MessageField {
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
    merging: extra === undefined ? nothingOfMerging : mergingFromRow(extra),
  }
}

const nothingOfMerging: FieldMerging = {}

function mergingFromRow({ lt, lk, mt, ps, pk }: MergingRow): FieldMerging {
  return {
    listType: lt,
    listKeys: lk,
    mapType: mt,
    patchStrategy: ps?.split(','),
    patchKey: pk,
  }
}
