/** `npm run plots`: makes the plots in bench/results from the results there. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
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
