/** Says whether the cells of a row meet a condition, and when they may meet it otherwise. */

import type { Cell, ColumnKind } from '@watchglass/codec'
import { compareUtf8 } from '@watchglass/go'
import type { ComparedValue, ColumnComparison, Condition } from '../question/condition.ts'
import { isAbsent, numberOfCell } from '../question/typed-value.ts'
import type { ViewColumn } from '../question/view-column.ts'
import { shownCell } from './shown-cell.ts'

/** The cell of a column. */
export type CellOf = (column: ViewColumn) => Cell

export function meetsCondition(condition: Condition, cellOf: CellOf, wallMs: number): boolean {
  switch (condition.type) {
    case 'all':
      return condition.parts.every(part => meetsCondition(part, cellOf, wallMs))
    case 'any':
      return condition.parts.some(part => meetsCondition(part, cellOf, wallMs))
    case 'not':
      return !meetsCondition(condition.part, cellOf, wallMs)
    case 'exists':
      return !isAbsent(cellOf(condition.column))
    case 'compare':
      return meetsComparison(condition, cellOf(condition.column), wallMs)
  }
}

/** The first moment after `wallMs` from which the condition may say another thing of the same
 *  cells; Infinity if there is none. */
export function nextTurn(condition: Condition, cellOf: CellOf, wallMs: number): number {
  switch (condition.type) {
    case 'all':
    case 'any':
      return Math.min(...condition.parts.map(part => nextTurn(part, cellOf, wallMs)))
    case 'not':
      return nextTurn(condition.part, cellOf, wallMs)
    case 'exists':
      return Infinity
    case 'compare':
      return turnOfComparison(condition, cellOf, wallMs)
  }
}

function meetsComparison(
  { column, operator, values }: ColumnComparison,
  cell: Cell,
  wallMs: number,
): boolean {
  const { kind } = column
  if (operator === '~') {
    const wanted = values[0]?.text.toLowerCase() ?? ''
    return textOf(kind, cell).toLowerCase().includes(wanted)
  }
  if (operator === 'in') return values.some(value => orderOf(kind, cell, value, wallMs) === 0)
  const [value] = values
  const order = value === undefined ? undefined : orderOf(kind, cell, value, wallMs)
  if (operator === '!=') return order !== 0
  if (order === undefined) return false
  switch (operator) {
    case '=':
      return order === 0
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    case '>':
      return order > 0
    case '>=':
      return order >= 0
  }
}

/** Negative if the cell is less than the value, 0 if it is equal; undefined if they do not
 *  compare. */
function orderOf(
  kind: ColumnKind,
  cell: Cell,
  value: ComparedValue,
  wallMs: number,
): number | undefined {
  const number = numberOfCell(kind, cell)
  if (kind === 'text' && number === undefined) {
    return cell === null ? undefined : compareUtf8(String(cell), value.text)
  }
  if (number === undefined || value.number === undefined) return undefined
  return (kind === 'time' ? ageOf(number, wallMs) : number) - value.number
}

/** Ages are whole seconds, as kubectl shows them. */
function ageOf(time: number, wallMs: number): number {
  return Math.floor((wallMs - time) / 1000) * 1000
}

/** An age that is compared with a value changes its order where it reaches the value, and where it
 *  exceeds it. */
function turnOfComparison(
  { column, operator, values }: ColumnComparison,
  cellOf: CellOf,
  wallMs: number,
): number {
  if (column.kind !== 'time' || operator === '~') return Infinity
  const time = numberOfCell('time', cellOf(column))
  if (time === undefined) return Infinity
  let next = Infinity
  for (const { number } of values) {
    if (number === undefined) continue
    const reached = time + Math.ceil(number / 1000) * 1000
    const exceeded = time + (Math.floor(number / 1000) + 1) * 1000
    if (!turnsAtExcess.has(operator) && reached > wallMs) next = Math.min(next, reached)
    if (!turnsAtReach.has(operator) && exceeded > wallMs) next = Math.min(next, exceeded)
  }
  return next
}

/** The operators whose answer changes where an age reaches the value, and where it exceeds it; that
 *  of all others does at both. */
const turnsAtReach: ReadonlySet<string> = new Set(['<', '>='])
const turnsAtExcess: ReadonlySet<string> = new Set(['<=', '>'])

/** The text that is searched: that which is shown. */
export function textOf(kind: ColumnKind, cell: Cell): string {
  const shown = shownCell(kind, cell)
  return shown === null ? '' : String(shown)
}
