/** The documents of views, as far as `watchglass get` reads them. */

export interface PrintedColumn {
  readonly id: string
  readonly title: string
  readonly kind: string
  readonly priority: number
}

export type PrintedCell = string | number | boolean | null

export interface PrintedRow {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly cells: readonly PrintedCell[]
}

export interface PrintedGroup {
  readonly values: readonly string[]
  readonly count: number
}

/** A page, or counts. */
export interface ViewDocument {
  readonly revision: string
  readonly total: number
  readonly matched: number
  readonly remaining?: number
  readonly columns?: readonly PrintedColumn[]
  readonly rows?: readonly PrintedRow[]
  readonly by?: readonly string[]
  readonly groups?: readonly PrintedGroup[]
}

/** The change of a live page. */
export interface ChangeDocument {
  readonly total?: number
  readonly matched?: number
  readonly remaining?: number
  readonly left?: readonly string[]
  readonly rows?: readonly { readonly index: number; readonly row: PrintedRow }[]
  readonly order?: readonly string[]
  readonly groups?: readonly PrintedGroup[]
  readonly removed?: readonly (readonly string[])[]
}

/** The page as it is after a change. */
export function changedView(view: ViewDocument, change: ChangeDocument): ViewDocument {
  const { total = view.total, matched = view.matched, remaining = view.remaining } = change
  const counted = { ...view, total, matched, ...(remaining === undefined ? {} : { remaining }) }
  if (view.groups !== undefined) return { ...counted, groups: changedGroups(view.groups, change) }
  return { ...counted, rows: changedRows(view.rows ?? [], change) }
}

function changedRows(before: readonly PrintedRow[], change: ChangeDocument): readonly PrintedRow[] {
  const { left = [], rows = [], order } = change
  const fresh = new Map(rows.map(({ row }) => [keyOf(row), row]))
  const gone = new Set([...left, ...fresh.keys()])
  const after = before.filter(row => !gone.has(keyOf(row)))
  for (const { index, row } of rows) after.splice(index, 0, row)
  if (order === undefined) return after
  const byKey = new Map(after.map(row => [keyOf(row), row]))
  return order.flatMap(key => byKey.get(key) ?? [])
}

/** Objects of old clusters may have no uid. */
function keyOf({ uid, namespace = '', name }: PrintedRow): string {
  return uid ?? `${namespace}/${name}`
}

function changedGroups(
  before: readonly PrintedGroup[],
  { groups = [], removed = [] }: ChangeDocument,
): readonly PrintedGroup[] {
  const gone = new Set([...removed, ...groups.map(({ values }) => values)].map(textOfValues))
  const kept = before.filter(({ values }) => !gone.has(textOfValues(values)))
  return [...kept, ...groups].toSorted(
    (a, b) => b.count - a.count || (textOfValues(a.values) < textOfValues(b.values) ? -1 : 1),
  )
}

function textOfValues(values: readonly string[]): string {
  return JSON.stringify(values)
}
