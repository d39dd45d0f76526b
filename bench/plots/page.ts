/** The tables of a result in a page: each stands below a heading that is its title. */

import type { BenchTable } from '../bench.ts'

/** The page with the tables of a result in the place of those that stand there. The formatter
 *  aligns their columns. */
export function pageWith(page: string, tables: readonly BenchTable[]): string {
  let written = page
  for (const table of tables) {
    const heading = `### ${table.title}\n\n`
    const start = written.indexOf(heading)
    if (start < 0) throw new Error(`the page has no heading "${table.title}"`)
    const from = start + heading.length
    const length = written.slice(from).search(/^(?!\|)/m)
    written = written.slice(0, from) + tableText(table) + written.slice(from + length)
  }
  return written
}

/** The cells of the rows below a heading, without the heads. */
export function cellsBelow(page: string, title: string): string[][] {
  const [, after = ''] = page.split(`### ${title}\n\n`)
  const [table = ''] = after.split('\n\n')
  const rows = table.split('\n').filter(line => line.startsWith('|'))
  return rows.slice(2).map(row =>
    row
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim()),
  )
}

export function cellsOf({ rows }: BenchTable): string[][] {
  return rows.map(row => row.map(cell => cell.toLocaleString('en-US')))
}

function tableText(table: BenchTable): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`
  const [first = '', ...others] = table.columns.map(() => '---')
  const marks = [first, ...others.map(mark => `${mark}:`)]
  return line(table.columns) + line(marks) + cellsOf(table).map(line).join('')
}
