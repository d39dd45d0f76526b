/** Many watches of what changes all the time: how much they are sent in a second, and what it costs. */

import { type BenchTable, type Floor, median } from '../bench.ts'
import { Program } from '../list/processes.ts'
import { ProcessUsage } from '../proxy/process-usage.ts'
import { WatchingLoad } from './watching.ts'

export interface FanOut {
  readonly table: BenchTable
  readonly floors: readonly Floor[]
}

interface Subject {
  readonly threads: number
  readonly program: Program
  readonly usage: ProcessUsage
  readonly load: WatchingLoad
}

interface Figure {
  readonly megabytesPerSecond: number
  readonly cpuMsPerMegabyte: number
}

/** More changes than one thread can send on to all watches. */
const full = { pods: 2_000, changes: 2_000, watches: 100, rounds: 5, roundMs: 2_000 }
const small = { pods: 200, changes: 100, watches: 4, rounds: 1, roundMs: 200 }

const factorMin = 1.4

export async function measureFanOut(counts: readonly number[], isSmall: boolean): Promise<FanOut> {
  const size = isSmall ? small : full
  const rounds: Figure[][] = Array.from({ length: size.rounds }, () => [])
  for (const threads of counts) {
    const subject = await start(threads, size)
    try {
      for (const round of rounds) round.push(await measure(subject, size.roundMs))
    } finally {
      await subject.load.stop()
      await subject.program.stop()
    }
  }
  return { table: tableOf(counts, rounds), floors: floorsOf(counts, rounds) }
}

async function start(threads: number, { pods, changes, watches }: typeof full): Promise<Subject> {
  const program = await Program.start(
    [
      '--etcd=embedded',
      '--auth=none',
      `--generate=pods=${pods}`,
      `--churn=${changes}/s`,
      `--threads=${threads}`,
    ],
    undefined,
    'http',
  )
  const usage = new ProcessUsage(program.process, program.port)
  const load = new WatchingLoad()
  const list = await fetch(`http://127.0.0.1:${program.port}/api/v1/pods?limit=1`)
  const { metadata } = (await list.json()) as { metadata: { resourceVersion: string } }
  const path = `/api/v1/pods?watch=true&resourceVersion=${metadata.resourceVersion}`
  await load.start({ port: program.port, path, watches })
  return { threads, program, usage, load }
}

async function measure({ usage, load }: Subject, ms: number): Promise<Figure> {
  // What was under way is not counted.
  await sleep(ms / 2)
  const [before, cpuBefore] = [await load.count(), await usage.cpuSeconds()]
  const startMs = performance.now()
  await sleep(ms)
  const [after, cpuAfter] = [await load.count(), await usage.cpuSeconds()]
  const seconds = (performance.now() - startMs) / 1000
  const megabytes = (after.bytes - before.bytes) / 1e6
  return {
    megabytesPerSecond: megabytes / seconds,
    cpuMsPerMegabyte: ((cpuAfter - cpuBefore) * 1000) / Math.max(1e-9, megabytes),
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise(resolve => {
    setTimeout(resolve, ms)
  })
}

function against(rounds: readonly Figure[][], at: number, name: keyof Figure): number {
  return median(rounds.map(figures => figures[at]![name] / Math.max(1e-9, figures[0]![name])))
}

function tableOf(counts: readonly number[], rounds: readonly Figure[][]): BenchTable {
  return {
    title: 'watches',
    columns: ['threads', 'MB/s', 'processor/MB', 'sent, of one', 'processor, of one'],
    rows: counts.map((threads, i) => [
      threads,
      median(rounds.map(figures => figures[i]!.megabytesPerSecond)).toFixed(0),
      `${median(rounds.map(figures => figures[i]!.cpuMsPerMegabyte)).toFixed(2)} ms`,
      against(rounds, i, 'megabytesPerSecond').toFixed(2),
      against(rounds, i, 'cpuMsPerMegabyte').toFixed(2),
    ]),
  }
}

function floorsOf(counts: readonly number[], rounds: readonly Figure[][]): Floor[] {
  const at = counts.indexOf(2)
  if (at < 0) return []
  const value = against(rounds, at, 'megabytesPerSecond')
  const name = 'watches with two threads, of one'
  return [{ name, value, bound: 'at least', limit: factorMin, unit: '' }]
}
