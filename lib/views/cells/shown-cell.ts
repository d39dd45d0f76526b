/** Cells as they are shown: numbers as numbers, times as timestamps, long texts cut. */

import { type Cell, humanDuration, type ColumnKind } from '@watchglass/codec'
import { goJsonString } from '@watchglass/go'
import { numberOfCell } from '../question/typed-value.ts'

/** A definition may print a text of a megabyte, and a page has a thousand rows. */
const textMaxLength = 1024

/** The cell of a column of that kind. */
export function shownCell(kind: ColumnKind, cell: Cell): Cell {
  if (typeof cell !== 'string') return cell
  if (kind === 'number') return numberOfCell(kind, cell) ?? cell
  if (kind === 'time') return numberOfCell(kind, cell) === undefined ? null : cell
  if (kind === 'duration' && cell !== '') {
    const milliseconds = Number(cell)
    return Number.isNaN(milliseconds) ? cell : humanDuration(milliseconds)
  }
  if (cell.length <= textMaxLength) return cell
  return `${cell.slice(0, textMaxLength - 1).replace(/[\ud800-\udbff]$/, '')}…`
}

/** The cell as JSON. */
export function cellJson(cell: Cell): string {
  if (typeof cell === 'string') return goJsonString(cell)
  return typeof cell === 'number' && !Number.isFinite(cell) ? 'null' : String(cell)
}
