/** `npm run way -- lines`: how large the house is. Lines of TypeScript, with comments and empty
 *  ones, but without rows of data. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const wings = ['cluster', 'front', 'threads', 'door']
const above = ['compose', 'commands', 'cli.ts']

/** Rows that are read from upstream's sources, by tools. */
const data = join('lib', 'codec', 'schema', 'data')

/** A table of the rooms of lib/, and the sum of those that are the core. */
export function linesTable(): string {
  const files = readdirSync('lib', { recursive: true, encoding: 'utf8' })
    .map(name => join('lib', name))
    .filter(name => name.endsWith('.ts') && !name.startsWith(data))
  const lines = new Map<string, number>()
  for (const file of files) {
    const [, room = ''] = file.split('/')
    const count = readFileSync(file, 'utf8').split('\n').length - 1
    lines.set(room, (lines.get(room) ?? 0) + count)
  }
  const rows = [...lines].toSorted(([, a], [, b]) => b - a)
  const core = rows.filter(([room]) => !wings.includes(room) && !above.includes(room))
  const sums = [
    ['the core', sumOf(core)],
    ['all', sumOf(rows)],
  ] as const
  return [...rows, ...sums].map(([name, count]) => `${name.padEnd(12)} ${count}\n`).join('')
}

function sumOf(rows: readonly (readonly [string, number])[]): number {
  return rows.reduce((sum, [, count]) => sum + count, 0)
}
