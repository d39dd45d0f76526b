/** Cells and values as what their column has: numbers, quantities, times and durations as numbers
 *  that compare, texts as texts. */

import { canonicalQuantity, millisecondsFromText, quantityNanos } from '@watchglass/go'
import type { Cell, ColumnKind } from '@watchglass/codec'

/** The number of a value in a condition, in the unit of the column's cells; undefined if it is
 *  none. A time is compared by its age, so its values are durations. */
export function numberOfValue(kind: ColumnKind, text: string): number | undefined {
  switch (kind) {
    case 'quantity':
      return quantityOf(text)
    case 'time':
    case 'duration':
      return durationOf(text)
    case 'number':
    case 'text':
      return plainNumber.test(text) ? Number(text) : undefined
  }
}

/** The number of a cell: of a time its milliseconds since 1970, of a duration its milliseconds;
 *  undefined for a cell that has none. */
export function numberOfCell(kind: ColumnKind, cell: Cell): number | undefined {
  if (typeof cell === 'number') return Number.isNaN(cell) ? undefined : cell
  if (typeof cell === 'bigint') return Number(cell)
  if (typeof cell !== 'string') return undefined
  switch (kind) {
    case 'number':
      return leadingNumber.test(cell) ? Number.parseFloat(cell) : undefined
    case 'quantity':
      return quantityOf(cell)
    case 'time':
      return millisecondsFromText(cell) ?? undefined
    case 'duration':
      return plainNumber.test(cell) ? Number(cell) : durationOf(cell)
    case 'text':
      return undefined
  }
}

/** True for a cell that says that there is nothing. */
export function isAbsent(cell: Cell): boolean {
  return cell === null || cell === '' || (typeof cell === 'string' && absent.has(cell))
}

const absent: ReadonlySet<string> = new Set(['<none>', '<unset>', '<unknown>', '<no value>'])

const plainNumber = /^[+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,3})?$/
/** Restarts say how long ago the last one was: `5 (2d ago)`. */
const leadingNumber = /^-?\d{1,20}(?:\.\d{1,20})?(?: \(|$)/

function quantityOf(text: string): number | undefined {
  return canonicalQuantity(text) === undefined ? undefined : Number(quantityNanos(text)) / 1e9
}

const unitsMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 7 * 86_400_000,
  y: 365 * 86_400_000,
}
const durationPattern = /^(?:\d{1,12}(?:\.\d{1,9})?(?:ms|[smhdwy]))+$/
const durationPart = /(\d+(?:\.\d+)?)(ms|[smhdwy])/g

/** The milliseconds of a duration as kubectl shows ages, `2y10d`, or as Go writes them. */
function durationOf(text: string): number | undefined {
  if (text === '0') return 0
  if (text.length > 64 || !durationPattern.test(text)) return undefined
  let sum = 0
  for (const [, number = '', unit = ''] of text.matchAll(durationPart)) {
    sum += Number(number) * (unitsMs[unit] ?? 0)
  }
  return sum
}
