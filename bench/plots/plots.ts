/** The plots of bench/results: one of each result's floors, and the overview that README shows,
 *  made from what was measured beside a real kube-apiserver (bench/README.md, "A client of
 *  others"). */

import type { BenchResult } from '../bench.ts'
import { type BarGroup, barChart } from './bars.ts'

/** A result as `npm run bench -- NAME --json FILE` writes it. */
export interface SavedResult extends BenchResult {
  readonly bench: string
  readonly size: 'small' | 'full'
  readonly commit: string
  readonly measuredOn: string
  readonly machine: { readonly cpu: string; readonly cores: number; readonly node: string }
}

/** SVG texts by the names of their files. */
export function plotsOf(results: readonly SavedResult[]): Map<string, string> {
  const plots = new Map<string, string>()
  for (const result of results) {
    if (result.floors.length > 0) plots.set(`${result.bench}.svg`, floorsPlot(result))
  }
  const beside = results.find(({ bench }) => bench === 'kube-apiserver')
  if (beside !== undefined) plots.set('overview.svg', overviewPlot(beside))
  return plots
}

/** Each floor with its figure above its limit. */
function floorsPlot(result: SavedResult): string {
  const groups = result.floors.map(({ name, value, bound, limit, unit }): BarGroup => {
    const limitLabel = bound === 'at least' ? 'at least' : 'at most'
    return {
      title: name,
      unit,
      bars: [
        { label: 'measured', value, isOurs: true },
        { label: limitLabel, value: limit, isOurs: false },
      ],
    }
  })
  return barChart(groups, captionOf(result))
}

/** The rows of the overview: of the request, what is measured, and which is better. */
const overviewRows = [
  ['list of all pods as JSON, 4 at a time', 'requests/s', 'more'],
  ['list of all pods as JSON, 4 at a time', 'ms of its processor', 'less'],
  ['page of 500 pods, 8 at a time', 'requests/s', 'more'],
  ['pods by label, 8 at a time', 'requests/s', 'more'],
  ['consistent get of one pod, 64 at a time', 'requests/s', 'more'],
  ['an event to one of 100 watchers, 100 changes a second', 'µs of its processor', 'less'],
  ['memory resident with 10,000 pods, at most', 'MB', 'less'],
  ['memory resident with 10,000 pods and 18,000 watches of 1,000 nodes', 'MB', 'less'],
] as const

function overviewPlot({ tables, measuredOn, machine }: SavedResult): string {
  const columns = tables[0]?.columns ?? []
  const rows = tables.flatMap(table => table.rows)
  const groups = overviewRows.map(([request, unit, better]): BarGroup => {
    const row = rows.find(one => one[0] === request && one[1] === unit)
    if (row === undefined) throw new Error(`the result has no row "${request}", ${unit}`)
    // Values stand to the right of the bars, where there is room for a short unit only.
    const [shortUnit = unit, ofWhat] = unit.split(' of its ')
    const measured = ofWhat === undefined ? request : `${request}: ${ofWhat} time`
    return {
      title: `${measured.slice(0, 1).toUpperCase()}${measured.slice(1)} (${better} is better)`,
      unit: shortUnit,
      bars: [2, 3].map(at => ({
        label: String(columns[at]),
        value: Number(row[at]),
        isOurs: at === 2,
      })),
    }
  })
  const clients = tables.map(({ title }) => title.split(',')[0]).join('; ')
  return barChart(groups, `${clients}; ${machine.cpu}, ${machine.cores} cores, ${measuredOn}`)
}

function captionOf({ bench, size, measuredOn, machine }: SavedResult): string {
  const what = `npm run bench -- ${bench}${size === 'small' ? ' --small' : ''}`
  return `${what}: ${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, ${measuredOn}`
}
