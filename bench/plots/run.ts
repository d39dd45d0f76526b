/** `npm run plots`: makes the plots in bench/results from the results there, and the tables of
 *  docs/SIZING.md. `npm run fix` aligns those. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { BenchTable } from '../bench.ts'
import { pageWith } from './page.ts'
import { plotsOf, type SavedResult } from './plots.ts'

const folder = 'bench/results'
const results = readdirSync(folder)
  .filter(name => name.endsWith('.json'))
  .sort()
  .map(name => JSON.parse(readFileSync(`${folder}/${name}`, 'utf8')) as SavedResult)
for (const [name, svg] of plotsOf(results)) {
  writeFileSync(`${folder}/${name}`, svg)
  process.stdout.write(`${folder}/${name}\n`)
}
const page = 'docs/SIZING.md'
const sizing = JSON.parse(readFileSync(`${folder}/sizing.json`, 'utf8')) as {
  readonly tables: readonly BenchTable[]
}
writeFileSync(page, pageWith(readFileSync(page, 'utf8'), sizing.tables))
process.stdout.write(`${page}\n`)
