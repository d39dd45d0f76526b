/** The views of several clusters as one document, without merging them: each row has the name of
 *  its cluster, and each cluster its own revision. Rows sort across clusters as they do in one;
 *  equal ones by namespace, name and cluster. */

import type { Cell, ColumnKind } from '@watchglass/codec'
import { badRequest, type Status } from '@watchglass/kube'
import type { FleetQuestion } from './fleet-question.ts'

/** The place of a cell in an order (`lib/views/cells/place.ts`). */
export type ColumnPlace = (kind: ColumnKind, cell: Cell, isDown: boolean) => string

export interface ClusterRow {
  readonly name: string
  readonly namespace?: string
  readonly uid?: string
  readonly cells: readonly Cell[]
}

export interface ClusterGroup {
  readonly values: readonly Cell[]
  readonly count: number
}

/** The answer of a cluster. */
export interface ClusterView {
  readonly revision: string
  readonly columns?: readonly { readonly id: string; readonly kind: ColumnKind }[]
  readonly total: number
  readonly matched: number
  readonly rows?: readonly ClusterRow[]
  readonly by?: readonly string[]
  readonly groups?: readonly ClusterGroup[]
}

/** A cluster that is not among them, and the reason. */
export interface Unanswered {
  readonly name: string
  readonly code: number
  readonly reason: string
  readonly message: string
}

export type MergedPage = Pick<FleetQuestion, 'sort' | 'page' | 'pageSize'>

interface PlacedRow {
  readonly place: string
  readonly row: object
}

interface Named {
  readonly name: string
}

interface AnsweredCluster extends Named {
  readonly revision: string
  readonly total: number
  readonly matched: number
}

function byName(one: Named, other: Named): number {
  return one.name < other.name ? -1 : Number(one.name > other.name)
}

/** The most groups, as of one cluster. */
const groupsMax = 10_000

export class MergedView {
  readonly #page: MergedPage
  readonly #placeOf: ColumnPlace
  readonly #clusters: AnsweredCluster[] = []
  readonly #unanswered: Unanswered[] = []
  readonly #groups = new Map<string, { values: readonly Cell[]; count: number }>()
  #columns: ClusterView['columns']
  #by: ClusterView['by']
  #rows: PlacedRow[] = []
  #total = 0
  #matched = 0

  constructor(page: MergedPage, placeOf: ColumnPlace) {
    this.#page = page
    this.#placeOf = placeOf
  }

  /** Takes the first rows of a cluster, of which it keeps what may be on the page. */
  add(cluster: string, view: ClusterView): void {
    const { revision, total, matched, columns = [], rows = [], groups = [] } = view
    this.#columns ??= columns
    this.#by ??= view.by
    this.#clusters.push({ name: cluster, revision, total, matched })
    this.#total += total
    this.#matched += matched
    for (const { values, count } of groups) {
      const key = JSON.stringify(values)
      const known = this.#groups.get(key) ?? { values, count: 0 }
      known.count += count
      if (this.#groups.size < groupsMax || this.#groups.has(key)) this.#groups.set(key, known)
    }
    const { page, pageSize, sort } = this.#page
    const order = { sort, columns, placeOf: this.#placeOf }
    const placed = rows.map(row => ({
      place: placeOfRow(cluster, row, order),
      row: { cluster, ...row },
    }))
    this.#rows = [...this.#rows, ...placed]
      .sort((a, b) => (a.place < b.place ? -1 : Number(a.place > b.place)))
      .slice(0, page * pageSize)
  }

  lacks(unanswered: Unanswered): void {
    this.#unanswered.push(unanswered)
  }

  get document(): object {
    const { page, pageSize } = this.#page
    const common = {
      kind: 'FleetView',
      apiVersion: 'views.watchglass.dev/v1',
      // They answer in any order.
      clusters: this.#clusters.toSorted(byName),
      unanswered: this.#unanswered.toSorted(byName),
      total: this.#total,
      matched: this.#matched,
    }
    if (this.#by !== undefined) {
      const groups = [...this.#groups.values()].sort(
        (a, b) =>
          b.count - a.count || (JSON.stringify(a.values) < JSON.stringify(b.values) ? -1 : 1),
      )
      return { ...common, by: this.#by, groups }
    }
    const from = (page - 1) * pageSize
    const rows = this.#rows.slice(from).map(({ row }) => row)
    const remaining = Math.max(0, this.#matched - from - rows.length)
    return { ...common, columns: this.#columns ?? [], remaining, page, pageSize, rows }
  }
}

export interface FleetRowOrder {
  readonly sort: string
  readonly columns: NonNullable<ClusterView['columns']>
  readonly placeOf: ColumnPlace
}

/** Compares as the row of a cluster sorts. */
export function placeOfRow(cluster: string, row: ClusterRow, order: FleetRowOrder): string {
  const { sort, columns, placeOf } = order
  let place = ''
  for (const word of sort === '' ? [] : sort.split(',')) {
    const id = word.replace(/^-/, '')
    const at = columns.findIndex(column => column.id === id)
    const column = columns[at]
    if (column === undefined) continue
    place += placeOf(column.kind, row.cells[at] ?? null, word.startsWith('-'))
  }
  return `${place}${row.namespace ?? ''}\0${row.name}\0${cluster}`
}

/** A column by which rows are to be sorted that is not among theirs; undefined if there is none:
 *  clusters would have to say more than they show. */
export function strayIn(
  sort: string,
  columns: NonNullable<ClusterView['columns']>,
): string | undefined {
  const words = sort === '' ? [] : sort.split(',')
  const ids = words.map(word => word.replace(/^-/, ''))
  return ids.find(id => !columns.some(column => column.id === id))
}

/** The refusal of an order by such a column. */
export function strayColumn(id: string): Status {
  return badRequest(`sort: across clusters ${JSON.stringify(id)} has to be among the columns`)
    .status
}
