/** Many watches of what changes all the time: how much they are sent in a second, and what it
 *  costs. */

import type { BenchTable, Floor } from '../bench.ts'
import { Program } from '../list/processes.ts'
import type { Child } from '../watch/child.ts'
import { BareServer } from './bare.ts'
import { bareNames, controlsOf, type Figure, floorsOf, tableOf } from './figures.ts'
import { type Measurable, UsageMeter } from './usage.ts'
import { startWatching, type WatchingReport } from './watching.ts'

export interface FanOut {
  readonly table: BenchTable
  readonly floors: readonly Floor[]
}

interface Subject {
  readonly threads: number
  readonly program: Measurable & { stop(): Promise<void> }
  readonly load: Child
}

/** Twice what one thread can just send on to all watches (540 MB/s of these): with as many as it
 *  can, two threads had nothing more to send, and were idle for three quarters of the time. With
 *  four times as many the main thread, which makes the changes, has too much to do. */
const full = { pods: 2_000, changes: 2_000, watches: 200, rounds: 5, roundMs: 1_500, warmMs: 4_000 }
const small = { pods: 50, changes: 100, watches: 4, rounds: 1, roundMs: 200, warmMs: 20 }

/** The bare server sends without any work, so what it gains is bounded by the client. */
const gain = { factorMin: 1.4 }

export async function measureFanOut(counts: readonly number[], isSmall: boolean): Promise<FanOut> {
  const size = isSmall ? small : full
  const rounds: Figure[][] = Array.from({ length: size.rounds }, () => [])
  const starts = [
    ...counts.map(threads => () => start(threads, size)),
    ...[1, 2].map(threads => () => startBare(threads, size)),
  ]
  for (const begin of starts) {
    const subject = await begin()
    try {
      await sleep(size.warmMs)
      for (const round of rounds) round.push(await measure(subject, size.roundMs))
    } finally {
      await subject.load.stop()
      await subject.program.stop()
    }
  }
  const controls = controlsOf(bareNames, counts.length)
  const measured = { name: 'watches', counted: 'MB', unit: 'MB', counts, controls, rounds }
  return { table: tableOf(measured), floors: floorsOf(measured, gain) }
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
  const load = startWatching()
  const list = await fetch(`http://127.0.0.1:${program.port}/api/v1/pods?limit=1`)
  const { metadata } = (await list.json()) as { metadata: { resourceVersion: string } }
  const path = `/api/v1/pods?watch=true&resourceVersion=${metadata.resourceVersion}`
  await load.ask({ port: program.port, path, watches })
  return { threads, program, load }
}

/** The size of a frame of ours. */
const frameBytes = 2_900

/** A bare server that sends frames as fast as they are taken. */
async function startBare(threads: number, { watches }: typeof full): Promise<Subject> {
  const program = await BareServer.start(threads, 'http')
  const load = startWatching()
  await load.ask({ port: program.port, path: `/flood?bytes=${frameBytes}`, watches })
  return { threads, program, load }
}

async function measure({ threads, program, load }: Subject, ms: number): Promise<Figure> {
  const before = await load.ask<WatchingReport>('count')
  const meter = new UsageMeter(program, threads, { pids: [load.pid] })
  const startMs = performance.now()
  await sleep(ms)
  const after = await load.ask<WatchingReport>('count')
  const seconds = (performance.now() - startMs) / 1000
  return { amount: (after.bytes - before.bytes) / 1e6, seconds, usage: meter.read() }
}

function sleep(ms: number): Promise<void> {
  return new Promise(resolve => {
    setTimeout(resolve, ms)
  })
}
