/** types.json: every message type, with the fields of all minors. */

import { type Period, mergeRows, periodsOf } from './minors.ts'

export type FieldRow = readonly [string, number, string, string?, object?]

export interface TypeRow {
  readonly tm?: 1
  readonly np?: 1
  readonly s?: string
  readonly mt?: string
  readonly f: readonly FieldRow[]
}

export interface SchemaSource {
  readonly kubernetesVersion: string
  readonly readFixups: readonly object[]
  readonly groupVersions: Readonly<Record<string, string>>
  readonly kinds: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly types: Readonly<Record<string, TypeRow>>
}

export interface SchemaDeltas {
  readonly minors: Readonly<
    Record<string, { readonly types: Readonly<Record<string, TypeRow | null>> }>
  >
}

export interface SchemaFile extends Omit<SchemaSource, 'types'> {
  readonly types: Readonly<Record<string, TypeRow & Period>>
}

export function schemaFile(
  source: SchemaSource,
  deltas: SchemaDeltas,
  { minors, whole }: { readonly minors: readonly string[]; readonly whole: string },
): SchemaFile {
  const typeIn = (minor: string, name: string): TypeRow | undefined => {
    const changed = deltas.minors[minor]?.types[name]
    return changed === undefined ? source.types[name] : (changed ?? undefined)
  }
  const names = new Set([
    ...Object.keys(source.types),
    ...minors.flatMap(minor => Object.keys(deltas.minors[minor]?.types ?? {})),
  ])
  const types: Record<string, TypeRow & Period> = {}
  for (const name of [...names].sort()) {
    const present = minors.filter(minor => typeIn(minor, name) !== undefined)
    const [period] = periodsOf(minors, minor => present.includes(minor))
    if (period === undefined) continue
    const lists = new Map(
      present.map(minor => [minor, (typeIn(minor, name)?.f ?? []).map(plainRow)] as const),
    )
    const shape = source.types[name] ?? typeIn(present.at(-1) as string, name)
    const { tm, np, s, mt } = shape as TypeRow
    types[name] = {
      ...(tm === undefined ? {} : { tm }),
      ...(np === undefined ? {} : { np }),
      ...(s === undefined ? {} : { s }),
      ...(mt === undefined ? {} : { mt }),
      f: mergeRows(lists, present.includes(whole) ? whole : (present.at(-1) as string)).map(
        ({ row, period }) => withExtra(row, period, source.types[name]),
      ),
      ...period,
    }
  }
  const { kubernetesVersion, readFixups, groupVersions } = source
  return { kubernetesVersion, readFixups, groupVersions, kinds: kindsOf(source, types), types }
}

/** The types as they are in one minor. */
export function schemaIn(file: SchemaFile, minor: string): SchemaFile {
  const holds = ({ since = minor, until = minor }: Period): boolean =>
    since <= minor && minor <= until
  const types = Object.fromEntries(
    Object.entries(file.types).map(([name, row]) => {
      const fields = row.f.filter(([, , , , period]) => holds((period ?? {}) as Period))
      return [name, { ...row, f: fields.map(plainRow) }]
    }),
  )
  return { ...file, types }
}

/** The row with its period, and with what the source says of lists and patches, which it says of
 *  the whole minor only. */
function withExtra(row: FieldRow, { since, until }: Period, source: TypeRow | undefined): FieldRow {
  const said = source?.f.find(([name, , type]) => name === row[0] && type === row[2])?.[4] ?? {}
  const extra = {
    ...said,
    ...(since === undefined ? {} : { since }),
    ...(until === undefined ? {} : { until }),
  }
  return Object.keys(extra).length === 0 ? row : [row[0], row[1], row[2], row[3] ?? '', extra]
}

/** The row as it matters on the wire; the part about patches does not. */
function plainRow([name, number, type, flags = '']: FieldRow): FieldRow {
  return flags === '' ? [name, number, type] : [name, number, type, flags]
}

/** The kinds of the source, and those that only other minors have: objects have a TypeMeta and a
 *  list beside them. */
function kindsOf(
  { kinds }: SchemaSource,
  types: Readonly<Record<string, TypeRow>>,
): SchemaSource['kinds'] {
  const found: Record<string, Record<string, string>> = {}
  const groups = new Map<string, string>()
  for (const [groupVersion, names] of Object.entries(kinds)) {
    found[groupVersion] = { ...names }
    for (const [kind, type] of Object.entries(names)) {
      const [folder = ''] = type.split('/')
      const [group = ''] = groupVersion.split('/')
      if (
        type.endsWith(`.${kind}`) &&
        groupVersion.includes('/') &&
        folder === group.split('.')[0]
      ) {
        groups.set(folder, group)
      }
    }
  }
  for (const [name, { tm }] of Object.entries(types)) {
    const [, folder = '', version = '', kind = ''] = /^([^/]+)\/([^.]+)\.(.+)$/.exec(name) ?? []
    const group = groups.get(folder)
    if (tm !== 1 || group === undefined) continue
    const names = (found[`${group}/${version}`] ??= {})
    names[kind] ??= name
  }
  return found
}
