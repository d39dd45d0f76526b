/** The page of rows that a question asks for. */

import type { Key, Revision } from '@watchglass/base'
import type { KeyValue, Snapshot } from '@watchglass/store'
import type { ViewQuestion } from '../question/parse-view.ts'
import type { RowOrder } from './placed-row.ts'

/** The rows of a page, and where it lies among those that are chosen. */
export interface PageRows {
  readonly revision: Revision
  readonly total: number
  readonly matched: number
  /** Index of the first row. */
  readonly from: number
  readonly entries: readonly KeyValue[]
  /** The place of the last row. */
  readonly last: Key | undefined
}

/** Rows in order, and the contents that they are of. */
export interface OrderedRows {
  readonly order: RowOrder
  readonly snapshot: Snapshot
}

export function pageOf(question: ViewQuestion, { order, snapshot }: OrderedRows): PageRows {
  const from = firstIndex(question, order)
  const rows = order.rows(from, question.pageSize)
  return {
    revision: snapshot.revision,
    total: snapshot.count(question.plan.range),
    matched: order.size,
    from,
    entries: rows.map(({ target }) => snapshot.get(target)!),
    last: rows.at(-1)?.key,
  }
}

/** The index of a page's first row: by its number, or behind a place. */
export function firstIndex({ page, pageSize, after }: ViewQuestion, order: RowOrder): number {
  if (after === undefined) return ((page ?? 1) - 1) * pageSize
  return order.rank(`${after}\0` as Key)
}
