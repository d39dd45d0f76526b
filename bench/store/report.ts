/** The tables and floors of the measurements. */

import type { BenchTable, Floor } from '../bench.ts'
import type { MemoryFigures } from './memory.ts'
import type { OperationName } from './rounds.ts'
import type { Rounds, Timing } from './turns.ts'

/** The measurements with so many keys. */
export interface SizeResult {
  readonly size: number
  readonly rounds: Rounds
  readonly visits: ReadonlyMap<string, number>
  readonly pauses: { readonly longestMs: number; readonly ownMs: number }
  readonly memory: { readonly ours: MemoryFigures; readonly theirs: MemoryFigures }
}

export function timesTable({ size, rounds }: SizeResult): BenchTable {
  return {
    title: `${sizeText(size)} keys: nanoseconds for each, medians of rounds`,
    columns: ['operation', 'ours', 'sorted-btree', 'times as fast'],
    rows: [...rounds.timings].map(([name, { oursNs, theirsNs, ratio }]) => [
      name,
      Math.round(oursNs),
      Math.round(theirsNs),
      ratio,
    ]),
  }
}

export function visitsTable(results: readonly SizeResult[]): BenchTable {
  return {
    title: 'Nodes that an operation visits',
    columns: ['operation', ...results.map(({ size }) => sizeText(size))],
    rows: [...results[0]!.visits.keys()].map(name => [
      name,
      ...results.map(({ visits }) => visits.get(name) ?? 0),
    ]),
  }
}

/** The part of growth that is in no ratio of ratios. A change of the smallest tree takes
 *  sorted-btree twice as long as ours, since each of its clones keeps the nodes of a change alive
 *  for as long as in the largest; so its times grow less, while more nanoseconds are added. */
export function growthTable(results: readonly SizeResult[]): BenchTable {
  const first = results[0]!
  const last = results.at(-1)!
  return {
    title: `Growth from ${sizeText(first.size)} to ${sizeText(last.size)} keys: times as long, and nanoseconds added`,
    columns: [
      'operation',
      'ours, times',
      'sorted-btree, times',
      'ours, ns added',
      'sorted-btree, ns added',
    ],
    rows: [...last.rounds.timings.keys()].map(name => {
      const [from, to] = [timingOf(first.rounds, name), timingOf(last.rounds, name)]
      return [
        name,
        to.oursNs / from.oursNs,
        to.theirsNs / from.theirsNs,
        Math.round(to.oursNs - from.oursNs),
        Math.round(to.theirsNs - from.theirsNs),
      ]
    }),
  }
}

export function memoryTable(results: readonly SizeResult[]): BenchTable {
  const row = (size: number, name: string, figures: MemoryFigures): (string | number)[] => [
    `${sizeText(size)} ${name}`,
    figures.heap,
    figures.external,
    figures.resident,
    figures.beyond,
    figures.residentBeyond,
    figures.historyBytes,
  ]
  return {
    title: 'Bytes for each entry of 200 bytes, and for each change in the history',
    columns: [
      'keys',
      'heap',
      'external',
      'resident',
      'beyond key and value',
      'resident beyond',
      'a change beyond its value',
    ],
    rows: results.flatMap(({ size, memory }) => [
      row(size, 'ours', memory.ours),
      row(size, 'sorted-btree', memory.theirs),
    ]),
  }
}

export function pausesTable(results: readonly SizeResult[]): BenchTable {
  return {
    title: 'Longest pause, in milliseconds, under batches, a scan and an index being built',
    columns: ['keys', 'our own slices', 'the collector'],
    rows: results.map(({ size, pauses }) => [sizeText(size), pauses.ownMs, pauses.longestMs]),
  }
}

export function layoutsTable(
  size: number,
  layouts: readonly { readonly name: string; readonly figures: MemoryFigures }[],
): BenchTable {
  return {
    title: `Ways to keep ${sizeText(size)} values of 200 bytes: bytes for each entry, and what the collector takes`,
    columns: [
      'layout',
      'heap',
      'external',
      'resident',
      'full collection ms',
      'churn: all pauses ms',
      'churn: longest ms',
    ],
    rows: layouts.map(({ name, figures }) => [
      name,
      figures.heap,
      figures.external,
      figures.resident,
      figures.collectMs,
      figures.totalMs,
      figures.longestMs,
    ]),
  }
}

export function floorsOf(results: readonly SizeResult[]): Floor[] {
  const first = results[0]!
  const last = results.at(-1)!
  const span = `${sizeText(first.size)} to ${sizeText(last.size)}`
  const floors: Floor[] = results.map(({ size, rounds }) => ({
    name: `single-key batches against sorted-btree, ${sizeText(size)} keys`,
    value: timingOf(rounds, 'single-key batch').ratio,
    bound: 'at least',
    limit: 1.3,
    unit: 'times',
  }))
  for (const name of last.rounds.timings.keys()) {
    floors.push({
      name: `growth against sorted-btree's, ${span}: ${name}`,
      value: growthOf(timingOf(first.rounds, name), timingOf(last.rounds, name)),
      bound: 'at most',
      limit: 1,
      unit: 'times',
    })
  }
  for (const [name, visits] of last.visits) {
    floors.push({
      name: `growth of nodes visited, ${span}: ${name}`,
      value: visits / first.visits.get(name)!,
      bound: 'at most',
      limit: 1.6,
      unit: 'times',
    })
  }
  return [...floors, ...memoryFloors(last), ...results.flatMap(oldRevisionFloors)]
}

/** The growth of our time over the growth of theirs. */
function growthOf(first: Timing, last: Timing): number {
  return last.oursNs / first.oursNs / (last.theirsNs / first.theirsNs)
}

function memoryFloors({ size, memory }: SizeResult): Floor[] {
  const at = `${sizeText(size)} entries`
  const { beyond, residentBeyond, historyBytes } = memory.ours
  const bytes = (name: string, value: number, limit: number): Floor => ({
    name,
    value,
    bound: 'at most',
    limit,
    unit: 'bytes',
  })
  return [
    bytes(`heap and external for each entry beyond key and value, ${at}`, beyond, 300),
    bytes(`resident for each entry beyond key and value, ${at}`, residentBeyond, 600),
    bytes(`history for each change beyond the values, ${at}`, historyBytes, 2500),
  ]
}

function oldRevisionFloors({ size, rounds }: SizeResult): Floor[] {
  const pairs: [OperationName, OperationName][] = [
    ['point read', 'point read, old revision'],
    ['500-entry scan', '500-entry scan, old revision'],
  ]
  return pairs.map(([newest, old]) => ({
    name: `${old} against the newest, ${sizeText(size)} keys`,
    value: timingOf(rounds, old).oursNs / timingOf(rounds, newest).oursNs,
    bound: 'at most',
    limit: 1.3,
    unit: 'times',
  }))
}

function timingOf(rounds: Rounds, name: OperationName): Timing {
  const timing = rounds.timings.get(name)
  if (timing === undefined) throw new Error(`${name} was not measured`)
  return timing
}

export function sizeText(size: number): string {
  return size.toLocaleString('en-US')
}
