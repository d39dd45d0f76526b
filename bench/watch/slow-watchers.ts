/** The tax that slow watchers put on the others: how late events are for those who read what comes,
 *  while some read little or nothing. kube-apiserver's BenchmarkSlowWatcherTax asks the same.
 *  Nobody is cut off: whoever is slow keeps its position in the history. */

import { createHash } from 'node:crypto'
import type { Bench, BenchOptions, BenchResult, Floor } from '../bench.ts'
import type { CountReport } from './orders.ts'
import { type HttpVersion, Stage } from './stage.ts'

export const slowWatchersBench: Bench = {
  name: 'slow',
  summary: 'the lag of watchers beside others who read little or nothing, in six scenarios',
  run,
}

interface Scenario {
  readonly name: string
  readonly version: HttpVersion
  /** The part of all watchers that is slow, and how much of it each reads. */
  readonly slow: number
  readonly bytesPerSecond: number
}

/** A frame has 4 KB. */
const trickle = 20_000

const scenarios: readonly Scenario[] = [
  { name: 'nobody is slow', version: '1.1', slow: 0, bytesPerSecond: 0 },
  { name: 'one in a hundred reads nothing', version: '1.1', slow: 0.01, bytesPerSecond: 0 },
  { name: 'a tenth reads nothing', version: '1.1', slow: 0.1, bytesPerSecond: 0 },
  { name: 'a tenth reads a twentieth', version: '1.1', slow: 0.1, bytesPerSecond: trickle },
  { name: 'half read a twentieth', version: '1.1', slow: 0.5, bytesPerSecond: trickle },
  { name: 'half read nothing', version: '2', slow: 0.5, bytesPerSecond: 0 },
]

const floors = { p99: 2 }
const path =
  '/api/v1/pods?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=3600'

interface Row {
  readonly scenario: Scenario
  readonly report: CountReport
  readonly cpuMicroseconds: number
  /** Watchers that were cut off. */
  readonly ended: number
}

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  const isSmall = size === 'small'
  const watchers = isSmall ? 20 : 100
  const order = { perSecond: isSmall ? 20 : 100, ms: isSmall ? 50 : 8_000, pods: 50 }
  const stage = await Stage.start(isSmall ? 50 : 1_000, isSmall ? 50 : 1_000)
  try {
    const measure = async (scenario: Scenario): Promise<Row> => {
      const { version, slow, bytesPerSecond } = scenario
      const slowPaths = Array.from({ length: Math.ceil(slow * watchers) }, () => path)
      const paths = Array.from({ length: watchers - slowPaths.length }, () => path)
      await stage.open(stage.ours, version, paths)
      const { result, ended } = await stage.besideSlow(slowPaths, bytesPerSecond, () =>
        stage.change(stage.ours, { ...order, toldTo: 'all' }),
      )
      await stage.close(stage.ours)
      const cpuMicroseconds = (result.cpuSeconds * 1e6) / (result.changes * watchers)
      return { scenario, report: result, cpuMicroseconds, ended: ended + result.ended }
    }
    const rows: Row[] = []
    for (const scenario of scenarios) {
      progress(scenario.name)
      // The first scenario is what the others are compared with: it must not pay for cold code.
      if (!isSmall && rows.length === 0) await measure(scenario)
      rows.push(await measure(scenario))
    }
    const hash = createHash('sha256').update(rows.map(({ ended }) => ended).join(' '))
    return {
      tables: [
        {
          title: `Lag of those who read, of ${watchers} watchers of ${order.perSecond} changes a second`,
          columns: ['scenario', 'HTTP', 'p50 ms', 'p99 ms', 'max ms', 'µs of cpu', 'cut off'],
          rows: rows.map(({ scenario, report, cpuMicroseconds, ended }) => [
            scenario.name,
            scenario.version,
            report.lagP50Ms,
            report.lagP99Ms,
            report.lagMaxMs,
            cpuMicroseconds,
            ended,
          ]),
        },
      ],
      floors: rows.flatMap(row => floorsOf(row, rows[0]!)),
      resultHash: hash.digest('hex').slice(0, 16),
    }
  } finally {
    await stage.stop()
  }
}

function floorsOf({ scenario, report, ended }: Row, alone: Row): Floor[] {
  const { name } = scenario
  const noEnd: Floor = { name, value: ended, bound: 'at most', limit: 0, unit: 'cut off' }
  if (scenario === alone.scenario) return [noEnd]
  const ratio = report.lagP99Ms / alone.report.lagP99Ms
  const unit = 'times the p99 without slow ones'
  return [noEnd, { name, value: ratio, bound: 'at most', limit: floors.p99, unit }]
}
