/** The tables and floors of this bench. */

import { type BenchTable, type Floor, median, percentile } from '../bench.ts'
import type { TurnReport } from '../mirror/turns.ts'
import type { ChangesReport } from './changes.ts'
import type { ListReport, ReadReport } from './reads.ts'

export interface StartReport {
  readonly objects: number
  readonly seconds: number
  /** Bytes that the program holds then. */
  readonly bytes: number
}

export interface Figures {
  readonly fillSeconds: number
  /** Without an object, with a tenth, with all. */
  readonly starts: readonly [StartReport, StartReport, StartReport]
  readonly pages: ReadReport
  readonly firstSelections: ReadReport
  readonly laterSelections: ReadReport
  readonly cold: ListReport
  readonly warm: ListReport
  readonly ceilingMs: readonly number[]
  readonly changes: ChangesReport
  /** Memory of the program at the end, and at most; and of etcd. */
  readonly heldBytes: number
  readonly peakBytes: number
  readonly etcdBytes: number
}

/** Ready with 1,144,000 objects took 253 s when every page cost etcd a count of all keys that
 *  remain; a fifth of that for each object. */
const startMaxMicroseconds = (253e6 / 1_144_000) * 0.2

export function tablesOf(figures: Figures): BenchTable[] {
  return [startTable(figures), readTable(figures), turnTable(figures), memoryTable(figures)]
}

function startTable({ starts, fillSeconds }: Figures): BenchTable {
  const [empty] = starts
  return {
    title: `Start (filling etcd took ${fillSeconds.toFixed(0)} s)`,
    columns: ['objects', 'ready after s', 'µs an object', 'memory MB'],
    rows: starts.map(start => [
      start.objects,
      start.seconds,
      start.objects === 0 ? '' : microseconds(start, empty),
      start.bytes / 1e6,
    ]),
  }
}

/** The time that each object adds to a start without any. */
function microseconds({ objects, seconds }: StartReport, empty: StartReport): number {
  return ((seconds - empty.seconds) * 1e6) / objects
}

function readTable(figures: Figures): BenchTable {
  const { pages, firstSelections, laterSelections, cold, warm, ceilingMs, changes } = figures
  const row = (name: string, timesMs: readonly number[]): (string | number)[] => [
    name,
    timesMs.length,
    percentile(timesMs, 0.5),
    percentile(timesMs, 0.99),
    Math.max(...timesMs),
  ]
  const { counted } = changes
  return {
    title: `Reads; a whole list has ${(cold.bytes / 1e6).toFixed(0)} MB`,
    columns: ['', 'answers', 'p50 ms', 'p99 ms', 'longest ms'],
    rows: [
      row('pages of 500', pages.timesMs),
      row('first selections, 8 at once', firstSelections.timesMs),
      row('later selections, 8 at once', laterSelections.timesMs),
      row('first whole list', cold.timesMs),
      ['a get beside it', '', '', cold.bystanderP99Ms, cold.bystanderMaxMs],
      row('whole lists afterwards', warm.timesMs),
      ['a get beside them', '', '', warm.bystanderP99Ms, warm.bystanderMaxMs],
      row('the same bytes of a bare server', ceilingMs),
      ['delay of a watch event', counted.events, counted.lagP50Ms, counted.lagP99Ms, ''],
    ],
  }
}

function turnsOf(figures: Figures): [string, TurnReport][] {
  return [
    ['pages', figures.pages.turns],
    ['first selections', figures.firstSelections.turns],
    ['later selections', figures.laterSelections.turns],
    ['first whole list', figures.cold.turns],
    ['whole lists afterwards', figures.warm.turns],
    ['changes', figures.changes.turns],
  ]
}

function turnTable(figures: Figures): BenchTable {
  return {
    title: 'The longest turns of the event loop',
    columns: ['', 'our own ms', 'collector p99 ms', 'collector ms', 'any ms'],
    rows: turnsOf(figures).map(([name, turns]) => [
      name,
      turns.ownMaxMs,
      turns.collectorP99Ms,
      turns.collectorMaxMs,
      turns.maxMs,
    ]),
  }
}

function memoryTable({ heldBytes, peakBytes, etcdBytes }: Figures): BenchTable {
  return {
    title: 'Memory at the end',
    columns: ['', 'MB'],
    rows: [
      ['the program', heldBytes / 1e6],
      ['the program at most', peakBytes / 1e6],
      ['etcd', etcdBytes / 1e6],
    ],
  }
}

export function floorsOf(figures: Figures): Floor[] {
  const { starts, warm, ceilingMs } = figures
  const [empty, tenth, all] = starts
  const turns = turnsOf(figures)
  return [
    {
      name: 'start with all, for each object',
      value: microseconds(all, empty) / microseconds(tenth, empty),
      bound: 'at most',
      limit: 1.3,
      unit: 'times that with a tenth',
    },
    {
      name: 'start with all, for each object',
      value: microseconds(all, empty),
      bound: 'at most',
      limit: startMaxMicroseconds,
      unit: 'µs',
    },
    {
      name: 'whole lists, again and again',
      value: median(ceilingMs) / median(warm.timesMs),
      bound: 'at least',
      limit: 0.5,
      unit: 'of the ceiling',
    },
    ...turns.map(([name, { ownMaxMs }]): Floor => ({
      name: `longest turn of our own code, ${name}`,
      value: ownMaxMs,
      bound: 'at most',
      limit: 10,
      unit: 'ms',
    })),
    ...turns.map(([name, { collectorP99Ms }]): Floor => ({
      name: `p99 of the collector's pauses, ${name}`,
      value: collectorP99Ms,
      bound: 'at most',
      limit: 50,
      unit: 'ms',
    })),
  ]
}
