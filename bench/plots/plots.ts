/** The plots of bench/results: one of each result's floors, and the overview that README shows,
 *  made from the result of `list`. */

import type { BenchResult, BenchTable } from '../bench.ts'
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
  for (const result of results) plots.set(`${result.bench}.svg`, floorsPlot(result))
  const list = results.find(({ bench }) => bench === 'list')
  if (list !== undefined) plots.set('overview.svg', overviewPlot(list))
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

function overviewPlot(result: SavedResult): string {
  const [answers, , quiet] = result.tables
  const groups: BarGroup[] = []
  if (answers !== undefined) {
    const pods = Number(/^\d+/.exec(answers.title)?.[0]).toLocaleString('en-US')
    groups.push(
      pair(answers, 'all, JSON, HTTP/2', {
        title: `List of all ${pods} pods as JSON over HTTP/2 with TLS (more is better)`,
        unit: 'MB/s',
        columns: ['MB/s', 'its MB/s'],
      }),
      pair(answers, 'get, consistent, HTTP/2', {
        title: 'Consistent get of one pod over HTTP/2 with TLS (more is better)',
        unit: 'requests/s',
        columns: ['requests/s', 'its requests/s'],
      }),
    )
  }
  const row = quiet?.rows.find(([name, atOnce]) => name === 'HTTP/2' && atOnce === 1)
  if (quiet !== undefined && row !== undefined) {
    groups.push({
      title: 'Median time of a consistent list while other resources change (less is better)',
      unit: 'ms',
      bars: [
        { label: 'Watchglass', value: Number(row[3]), isOurs: true },
        { label: 'one read of etcd itself', value: Number(row[6]), isOurs: false },
      ],
    })
  }
  return barChart(groups, captionOf(result))
}

interface PairOptions {
  readonly title: string
  readonly unit: string
  readonly columns: readonly [string, string]
}

/** One row of a table against the bare server in it. */
function pair({ columns, rows }: BenchTable, name: string, options: PairOptions): BarGroup {
  const row = rows.find(([first]) => first === name)
  const valueOf = (column: string): number => Number(row?.[columns.indexOf(column)] ?? Number.NaN)
  const [ours, other] = options.columns
  if (!Number.isFinite(valueOf(ours))) throw new Error(`the result has no row "${name}"`)
  return {
    title: options.title,
    unit: options.unit,
    bars: [
      { label: 'Watchglass', value: valueOf(ours), isOurs: true },
      { label: 'bare server with the same bytes', value: valueOf(other), isOurs: false },
    ],
  }
}

function captionOf({ bench, size, measuredOn, machine }: SavedResult): string {
  const what = `npm run bench -- ${bench}${size === 'small' ? ' --small' : ''}`
  return `${what}: ${machine.cpu}, ${machine.cores} cores, Node ${machine.node}, ${measuredOn}`
}
