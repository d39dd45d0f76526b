/** tables.json: the columns of every resource's Table, with those of all minors. */

import { type Period, mergeRows, periodsOf } from './minors.ts'

interface Column {
  readonly name: string
}

interface Table {
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly kind: string
  readonly columnDefinitions: readonly Column[]
}

export interface TableDeltas {
  /** By minor and internal type; null where there is no printer. */
  readonly minors: Readonly<Record<string, Readonly<Record<string, readonly Column[] | null>>>>
}

export function tablesFile(
  { tables }: { readonly tables: readonly Table[] },
  deltas: TableDeltas,
  { minors, whole }: { readonly minors: readonly string[]; readonly whole: string },
): { readonly tables: readonly object[] } {
  return {
    tables: tables.flatMap(({ group, version, resource, kind, columnDefinitions }) => {
      const columnsIn = (minor: string): readonly Column[] | null => {
        const changed = deltas.minors[minor]?.[`${packageOf(group)}/${kind}`]
        return changed === undefined ? columnDefinitions : changed
      }
      return periodsOf(minors, minor => columnsIn(minor) !== null).map((period: Period) => {
        const lists = new Map(
          minors.flatMap(minor => {
            const columns = columnsIn(minor)
            return columns === null ? [] : [[minor, columns] as const]
          }),
        )
        const columns = mergeRows(lists, lists.has(whole) ? whole : (minors.at(-1) as string))
        return {
          group,
          version,
          resource,
          ...period,
          columnDefinitions: columns.map(column => ({ ...column.row, ...column.period })),
        }
      })
    }),
  }
}

/** The internal package of a group, as Go's printers name it. */
function packageOf(group: string): string {
  if (group === '' || group === 'events.k8s.io') return 'api'
  if (group === 'internal.apiserver.k8s.io') return 'apiserverinternal'
  return group.split('.')[0] ?? ''
}
