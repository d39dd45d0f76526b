/** Views as text: the table that kubectl would print, and CSV (RFC 4180). */

import { humanDuration } from '@watchglass/codec'
import type { PrintedCell, PrintedColumn, ViewDocument } from './view-document.ts'

/** The heads and cells of a table. */
interface Cells {
  readonly heads: readonly string[]
  readonly rows: readonly (readonly PrintedCell[])[]
}

/** Columns are three spaces apart, heads in capitals, as kubectl's. */
export function tableText(view: ViewDocument, nowMs: number): string {
  const { heads, rows } = cellsOf(view)
  if (rows.length === 0) return 'No resources found\n'
  const ages = new Set(
    (view.groups === undefined ? (view.columns ?? []) : []).flatMap(({ kind }, i) =>
      kind === 'time' ? [i] : [],
    ),
  )
  const lines = [
    heads.map(head => head.toUpperCase()),
    ...rows.map(row => row.map((cell, i) => shown(cell, ages.has(i), nowMs))),
  ]
  const widths = heads.map((_, i) => Math.max(...lines.map(line => line[i]?.length ?? 0)))
  return lines
    .map(
      line =>
        `${line
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('   ')
          .trimEnd()}\n`,
    )
    .join('')
}

/** Times stay timestamps: a file is read later. */
export function csvText(view: ViewDocument): string {
  const { heads, rows } = cellsOf(view)
  return [heads, ...rows].map(row => `${row.map(csvCell).join(',')}\r\n`).join('')
}

function cellsOf({ columns = [], rows = [], by = [], groups }: ViewDocument): Cells {
  if (groups !== undefined) {
    return {
      heads: [...by, 'count'],
      rows: groups.map(({ values, count }) => [...values, count]),
    }
  }
  return { heads: columns.map(titleOf), rows: rows.map(({ cells }) => cells) }
}

function titleOf({ title }: PrintedColumn): string {
  return title
}

function shown(cell: PrintedCell, isTime: boolean, nowMs: number): string {
  if (cell === null) return '<none>'
  if (!isTime || typeof cell !== 'string') return harmless(String(cell))
  const timeMs = Date.parse(cell)
  return Number.isNaN(timeMs) ? harmless(cell) : humanDuration(nowMs - timeMs)
}

/** Text from a cluster must not steer a terminal; and a row is one line. */
function harmless(text: string): string {
  // oxlint-disable-next-line no-control-regex
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, sign => {
    const code = sign.charCodeAt(0)
    return code < 0x20 ? `^${String.fromCharCode(code + 0x40)}` : '?'
  })
}

function csvCell(cell: PrintedCell): string {
  const text = String(cell ?? '')
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
