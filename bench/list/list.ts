/** Lists and gets over real sockets with TLS, against the ceiling: a bare server of the same
 *  runtime that writes the same bytes in the same pieces. The program, the ceiling and the clients
 *  are separate processes; the program and the ceiling take turns. */

import { createHash } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import type { Bench, BenchOptions, BenchResult, BenchTable, Floor } from '../bench.ts'
import {
  compare,
  type Comparison,
  type Figures,
  type HttpVersion,
  type Pace,
  warm,
} from './compare.ts'
import { Ceiling, Load, Program } from './processes.ts'
import { type Scenario, scenariosOf, selectionScenarios } from './questions.ts'
import { measureQuiet, type QuietReport, writesPerSecond } from './quiet.ts'

export const listBench: Bench = {
  name: 'list',
  summary: 'lists and gets over TLS, against a bare server that writes the same bytes',
  run,
}

interface Size {
  readonly pods: number
  readonly morePods: number
  readonly pace: Pace
}

const sizes: Readonly<Record<BenchOptions['size'], Size>> = {
  small: { pods: 100, morePods: 200, pace: { rounds: 1, roundMs: 10, inFlightMax: 2 } },
  // All of it takes less than three minutes.
  full: { pods: 10_000, morePods: 100_000, pace: { rounds: 5, roundMs: 400 } },
}

interface Row extends Comparison {
  readonly name: string
  readonly floor: Floor
  readonly bytes: number
  readonly pieces: number
}

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  const { pods, morePods, pace } = sizes[size]
  progress(`a consistent list while ${writesPerSecond} writes/s go elsewhere`)
  const quiet = await measureQuiet(pace)
  const load = new Load()
  const ceiling = await Ceiling.start()
  const program = await Program.start([`--generate=pods=${pods}`])
  try {
    const table = { load, ceiling, program, pace, progress }
    const rows = await measureAll(table)
    progress(`generating ${morePods} pods`)
    const larger = await measureLarger(table, morePods)
    return {
      tables: [
        tableOf(`${pods} pods, against the ceiling`, rows),
        tableOf(`${morePods} pods, against ${pods}`, larger),
        ...(quiet === undefined ? [] : [quietTable(quiet)]),
      ],
      floors: [...[...rows, ...larger].map(({ floor }) => floor), ...quietFloors(quiet ?? [])],
      resultHash: hashOf(rows),
    }
  } finally {
    await Promise.all([load, ceiling, program].map(process => process.stop()))
  }
}

interface Stage {
  readonly load: Load
  readonly ceiling: Ceiling
  readonly program: Program
  readonly pace: Pace
  readonly progress: (message: string) => void
}

const versions: readonly HttpVersion[] = ['1.1', '2']

async function measureAll({ load, ceiling, program, pace, progress }: Stage): Promise<Row[]> {
  const rows: Row[] = []
  for (const scenario of chosen(await scenariosOf(program))) {
    const { paths, headers, plainHeaders } = scenario
    if (plainHeaders !== undefined) await checkGzip(program, scenario)
    const copied = await ceiling.copy({
      port: program.port,
      paths,
      headers: plainHeaders ?? headers,
    })
    const about = { bytes: copied.bytes / paths.length, pieces: copied.pieces / paths.length }
    for (const version of versions) {
      const name = `${scenario.name}, HTTP/${version}`
      progress(name)
      const comparison = await compare(
        { ...scenario, subject: program },
        { ...scenario, subject: ceiling },
        { load, version, pace },
      )
      const { floorOver2 = scenario.floor, floorUnit } = scenario
      const wanted = { floor: version === '2' ? floorOver2 : scenario.floor, floorUnit }
      rows.push({ name, ...about, ...comparison, floor: floorOf(name, wanted, comparison) })
    }
  }
  return rows
}

/** For a look at one of them: `SCENARIO='get'`. */
function chosen(scenarios: readonly Scenario[]): readonly Scenario[] {
  return scenarios.filter(({ name }) => name.includes(process.env['SCENARIO'] ?? ''))
}

/** Whether selections cost what they hold: the same answers out of more objects. */
async function measureLarger(
  { load, program, pace, progress }: Stage,
  morePods: number,
): Promise<Row[]> {
  const before = chosen(await selectionScenarios(program))
  if (before.length === 0) return []
  const larger = await Program.start([`--generate=pods=${morePods}`])
  const rows: Row[] = []
  try {
    const scenarios = chosen(await selectionScenarios(larger))
    // What it is compared with has been asked for minutes.
    for (const scenario of scenarios) {
      for (const version of versions) {
        await warm({ ...scenario, subject: larger }, { load, version, pace })
      }
    }
    for (const scenario of scenarios) {
      const same = before.find(({ name }) => name === scenario.name)!
      for (const version of versions) {
        const name = `${scenario.name} of ${morePods}, HTTP/${version}`
        progress(name)
        const comparison = await compare(
          { ...scenario, subject: larger },
          { ...same, subject: program },
          { load, version, pace },
        )
        const wanted = { floor: 0.8, floorUnit: 'of the rate with fewer pods' }
        const { bytesPerSecond, requestsPerSecond } = comparison.ours
        rows.push({
          name,
          bytes: bytesPerSecond / requestsPerSecond,
          pieces: 1,
          ...comparison,
          floor: floorOf(name, wanted, comparison),
        })
      }
    }
  } finally {
    await larger.stop()
  }
  return rows
}

function floorOf(
  name: string,
  { floor, floorUnit }: Pick<Scenario, 'floor' | 'floorUnit'>,
  { ratio }: Comparison,
): Floor {
  return { name, value: ratio, bound: 'at least', limit: floor, unit: floorUnit }
}

/** A compressed list must be the list, as it was before or is after: a server that starts writes
 *  objects of its own, and a list says the revision. */
async function checkGzip(
  program: Program,
  { paths, headers, plainHeaders }: Scenario,
): Promise<void> {
  const path = paths[0]!
  let plain = await program.get(path, plainHeaders ?? headers)
  for (let i = 0; i < 2; i++) {
    const before = plain
    const list = gunzipSync(await program.get(path, headers))
    plain = await program.get(path, plainHeaders ?? headers)
    if (!list.equals(before) && !list.equals(plain)) {
      throw new Error('the compressed list is another one')
    }
  }
}

function tableOf(title: string, rows: readonly Row[]): BenchTable {
  return {
    title,
    columns: [
      'answer',
      'bytes',
      'pieces',
      'requests/s',
      'MB/s',
      'cpu ms',
      'its requests/s',
      'its MB/s',
      'its cpu ms',
      'ratio',
      'cpu ratio',
    ],
    rows: rows.map(({ name, bytes, pieces, ours, theirs, ratio }) => [
      name,
      Math.round(bytes),
      Math.round(pieces),
      ...cells(ours),
      ...cells(theirs),
      ratio,
      theirs.cpuMs / ours.cpuMs,
    ]),
  }
}

function cells({ requestsPerSecond, bytesPerSecond, cpuMs }: Figures): number[] {
  return [requestsPerSecond, bytesPerSecond / 1e6, cpuMs]
}

function quietTable(reports: readonly QuietReport[]): BenchTable {
  return {
    title: `Consistent list of no objects while ${writesPerSecond} writes/s go elsewhere, against a bare range`,
    columns: ['', 'at once', 'lists', 'p50 ms', 'p99 ms', 'ranges', 'p50 ms', 'p99 ms'],
    rows: reports.map(({ version, inFlight, list, bare }) => [
      `HTTP/${version}`,
      inFlight,
      list.count,
      list.p50Ms,
      list.p99Ms,
      bare.count,
      bare.p50Ms,
      bare.p99Ms,
    ]),
  }
}

function quietFloors(reports: readonly QuietReport[]): Floor[] {
  return reports.map(({ version, inFlight, list, bare }) => ({
    name: `consistent list of no objects, ${inFlight} at once, HTTP/${version}`,
    value: list.p99Ms / bare.p99Ms,
    bound: 'at most',
    limit: 5,
    unit: 'times the p99 of a bare range',
  }))
}

/** The hash of the answers' sizes. Tables show ages, whose texts get longer. */
function hashOf(rows: readonly Row[]): string {
  const hash = createHash('sha256')
  for (const { name, bytes } of rows) {
    if (!name.includes('Table')) hash.update(`${name} ${bytes}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}
