/** `npm run way -- lines`: how large the house is. Lines of TypeScript, with comments and empty
 *  ones, but without rows of data; names that a package exports; packages that it depends on. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Rows that are read from upstream's sources, by tools. */
const data = join('lib', 'codec', 'schema', 'data')

interface PackageFile {
  readonly exports: Readonly<Record<string, unknown>>
  readonly dependencies: Readonly<Record<string, string>>
}

/** A table of the packages of lib/, largest first, and its sum. */
export function linesTable(): string {
  const rows = readdirSync('lib', { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => rowOf(name))
    .toSorted((a, b) => b.lines - a.lines)
  const sum = { name: 'all', lines: 0, names: 0, late: 0, dependencies: 0 }
  for (const row of rows) {
    sum.lines += row.lines
    sum.names += row.names
    sum.late += row.late
    sum.dependencies += row.dependencies
  }
  const head = 'package          lines  names  loaded late  dependencies\n'
  const textOf = (row: Row): string =>
    `${row.name.padEnd(12)} ${pad(row.lines, 9)} ${pad(row.names, 6)} ${pad(row.late, 12)} ${pad(row.dependencies, 13)}\n`
  return head + [...rows, sum].map(textOf).join('')
}

interface Row {
  readonly name: string
  readonly lines: number
  /** Names in its index.ts. */
  readonly names: number
  /** Modules beside index.ts that others load when they need them. */
  readonly late: number
  /** Packages of lib/ that it depends on. */
  readonly dependencies: number
}

function rowOf(name: string): Row {
  const folder = join('lib', name)
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(file => join(folder, file))
    .filter(file => file.endsWith('.ts') && !file.startsWith(data))
  const lines = files.reduce(
    (sum, file) => sum + readFileSync(file, 'utf8').split('\n').length - 1,
    0,
  )
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as PackageFile
  const entrances = Object.keys(manifest.exports)
  return {
    name,
    lines,
    names: entrances.includes('.') ? namesIn(join(folder, 'index.ts')) : 0,
    late: entrances.filter(entrance => entrance !== '.').length,
    dependencies: Object.keys(manifest.dependencies).length,
  }
}

function namesIn(index: string): number {
  const lists = readFileSync(index, 'utf8').matchAll(/^export (?:type )?\{([^}]*)\}/gm)
  return [...lists].reduce(
    (sum, [, list = '']) => sum + list.split(',').filter(name => name.trim() !== '').length,
    0,
  )
}

function pad(count: number, width: number): string {
  return String(count).padStart(width)
}
