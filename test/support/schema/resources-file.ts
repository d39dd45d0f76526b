/** resources.json: the built-in REST resources, a row for all minors in which one is served and
 *  stored in the same way. */

import { createHash } from 'node:crypto'
import { mergeRows } from './minors.ts'
import { type FieldRow, type SchemaFile, schemaIn } from './schema-file.ts'

interface ResourceRow {
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly kind: string
  readonly defaultServed: boolean
  readonly storageVersionHash?: string
  readonly storage: {
    readonly group: string
    readonly version: string
    readonly kind: string
    readonly encoding: string
    readonly conversion: string
  } | null
}

export interface StorageDeltas {
  /** By minor and `group/version/resource`: the stored version; null where the resource is not
   *  served. */
  readonly minors: Readonly<Record<string, Readonly<Record<string, string | null>>>>
}

/** Resources that 1.32 has, though its table of stored objects lacks them. */
const untested: readonly string[] = ['storage.k8s.io/v1/csidrivers', 'storage.k8s.io/v1/csinodes']

/** Resources that the minor has, and serves only when asked to (versions/README.md, "Served by
 *  default"). */
const optional: Readonly<Record<string, readonly string[]>> = {}

export function resourcesFile(
  { resources }: { readonly resources: readonly ResourceRow[] },
  deltas: StorageDeltas,
  { minors, schema }: { readonly minors: readonly string[]; readonly schema: SchemaFile },
): { readonly resources: readonly object[] } {
  const lists = new Map(
    minors.map(minor => [
      minor,
      resources.flatMap(row => {
        const name = `${row.group}/${row.version}/${row.resource}`
        const stored = untested.includes(name) ? undefined : deltas.minors[minor]?.[name]
        if (stored === null) return []
        const isServed = row.defaultServed && optional[minor]?.includes(name) !== true
        const served = { ...row, defaultServed: isServed }
        return [
          stored === undefined ? served : withStorage(served, stored, schemaIn(schema, minor)),
        ]
      }),
    ]),
  )
  const merged = mergeRows(lists, minors.at(-1) as string)
  return { resources: merged.map(({ row, period }) => ({ ...row, ...period })) }
}

function withStorage(row: ResourceRow, stored: string, schema: SchemaFile): ResourceRow {
  const { storage, kind } = row
  if (storage === null) return row
  const [version = '', group = ''] = stored.split('/').reverse()
  if (storage.group === group && storage.version === version) return row
  const served = schema.kinds[groupVersion(row)]?.[kind]
  const kept = schema.kinds[groupVersion({ group, version })]?.[storage.kind]
  const isSame = row.group === group && row.version === version
  const conversion = isSame ? 'same' : isSameShape(schema, served, kept) ? 'relabel' : 'convert'
  return {
    ...row,
    storage: { ...storage, group, version, conversion },
    ...(row.storageVersionHash === undefined
      ? {}
      : { storageVersionHash: hashOf(`${group}/${version}/${storage.kind}`) }),
  }
}

/** The hash by which discovery shows the stored version. */
function hashOf(text: string): string {
  return createHash('sha256').update(text).digest().subarray(0, 8).toString('base64')
}

function groupVersion({ group, version }: { group: string; version: string }): string {
  return group === '' ? version : `${group}/${version}`
}

/** True if two types have the same members and numbers at all depths. */
function isSameShape(
  schema: SchemaFile,
  a: string | undefined,
  b: string | undefined,
  seen: Set<string> = new Set(),
): boolean {
  if (a === undefined || b === undefined) return false
  if (a === b || seen.has(`${a} ${b}`)) return true
  seen.add(`${a} ${b}`)
  const [left, right] = [fieldsOf(schema, a), fieldsOf(schema, b)]
  return (
    left.length === right.length &&
    left.every(([name, number, type, flags = ''], i) => {
      const [otherName, otherNumber, otherType, otherFlags = ''] = right[i] as FieldRow
      if (name !== otherName || number !== otherNumber || flags !== otherFlags) return false
      if (!type.includes('.')) return type === otherType
      const container = /^(?:\[\]|\{\})?/.exec(type)?.[0] ?? ''
      return (
        otherType.startsWith(container) &&
        isSameShape(schema, type.slice(container.length), otherType.slice(container.length), seen)
      )
    })
  )
}

function fieldsOf(schema: SchemaFile, type: string): readonly FieldRow[] {
  return schema.types[type]?.f ?? []
}
