/** The mirror on a real etcd: bootstrap, catching up, and what a consistent read costs. */

import { startEtcd } from '../../test/support/etcd/etcd-cluster.ts'
import { findEtcd } from '../../test/support/etcd/real-etcd.ts'
import type { Bench, BenchOptions, BenchResult, BenchTable, Floor } from '../bench.ts'
import { type ApplyReport, measureApply } from './apply.ts'
import { type BootstrapReport, measureBootstrap } from './bootstrap.ts'
import { fill, valueBytes } from './fixture.ts'
import { type LatencyReport, measureLatency, measureSharing } from './latency.ts'

export const mirrorBench: Bench = {
  name: 'mirror',
  summary: 'bootstrap, catching up and consistent reads of a mirror of a real etcd',
  run,
}

interface Figures {
  readonly bootstrap: BootstrapReport
  readonly apply: ApplyReport
  readonly latencies: readonly LatencyReport[]
  readonly sharedBy: number
}

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  const etcd = await findEtcd('3.5')
  if (etcd.skip !== false) throw new Error(etcd.skip)
  const isFull = size === 'full'
  const tasks: (() => Promise<void>)[] = []
  try {
    const cluster = await startEtcd({ teardown: task => tasks.push(task) }, etcd, {
      flags: ['--quota-backend-bytes=8589934592'],
    })
    const [endpoint = ''] = cluster.endpoints
    const objects = isFull ? 100_000 : 2000
    progress('mirror: filling etcd')
    await fill(endpoint, objects)
    progress('mirror: bootstrap')
    const bootstrap = await measureBootstrap(endpoint, { objects, rounds: isFull ? 5 : 1 })
    progress('mirror: consistent reads')
    const plan = isFull ? { rounds: 4, roundMs: 1500 } : { rounds: 1, roundMs: 100 }
    const latencies = await measureLatency(endpoint, plan)
    progress('mirror: a thousand consistent reads at once')
    const sharedBy = await measureSharing(endpoint, { waiting: 1000, forMs: isFull ? 3000 : 300 })
    progress('mirror: catching up')
    const apply = await measureApply(endpoint, isFull ? 50_000 : 1000)
    return resultOf({ bootstrap, apply, latencies, sharedBy })
  } finally {
    for (const task of tasks.toReversed()) await task()
  }
}

function resultOf(figures: Figures): BenchResult {
  return {
    tables: [bootstrapTable(figures.bootstrap), applyTable(figures.apply), latencyTable(figures)],
    floors: floorsOf(figures),
    resultHash: figures.bootstrap.hash,
  }
}

function bootstrapTable({
  objects,
  bareMs,
  bootstrapMs,
  turns,
  ...memory
}: BootstrapReport): BenchTable {
  const valueMegabytes = (objects * valueBytes) / 1e6
  const rate = (ms: number): number => Math.round((objects * 1000) / ms)
  return {
    title: `Bootstrap of ${objects} objects of ${valueBytes} bytes`,
    columns: ['', 'figure', 'unit'],
    rows: [
      ['bare paged read', rate(bareMs), 'objects/s'],
      ['bootstrap', rate(bootstrapMs), 'objects/s'],
      ['values', valueMegabytes, 'MB'],
      ['held afterwards', memory.heldBytes / 1e6, 'MB'],
      ['most at any time', memory.peakBytes / 1e6, 'MB'],
      ['longest turn of our own code', turns.ownMaxMs, 'ms'],
      ['longest pause of the collector', turns.collectorMaxMs, 'ms'],
      ['event loop delay p99.9', turns.p999Ms, 'ms'],
      ['event loop delay maximum', turns.maxMs, 'ms'],
    ],
  }
}

function applyTable({ changes, catchUpMs, ownMs }: ApplyReport): BenchTable {
  return {
    title: `Catching up with ${changes} changes of ${valueBytes} bytes, one a revision`,
    columns: ['', 'changes/s'],
    rows: [
      ['as etcd sends them', Math.round((changes * 1000) / catchUpMs)],
      ['the mirror alone', Math.round((changes * 1000) / ownMs)],
    ],
  }
}

function latencyTable({ latencies, sharedBy }: Figures): BenchTable {
  return {
    title: `Consistent read at the gate, and a bare linearizable count, in ms (1,000 waiting: ${sharedBy.toFixed(0)} share a probe)`,
    columns: ['load', 'at once', 'reads', 'gate p50', 'bare p50', 'gate p99', 'bare p99'],
    rows: latencies.map(({ load, concurrency, reads, gate, bare }) => [
      load,
      concurrency,
      reads,
      gate.p50Ms,
      bare.p50Ms,
      gate.p99Ms,
      bare.p99Ms,
    ]),
  }
}

function floorsOf({ bootstrap, latencies, sharedBy }: Figures): Floor[] {
  return [
    {
      name: 'bootstrap, of the bare paged read',
      value: bootstrap.bareMs / bootstrap.bootstrapMs,
      bound: 'at least',
      limit: 0.7,
      unit: 'times its speed',
    },
    {
      name: 'longest turn of our own code while bootstrapping',
      value: bootstrap.turns.ownMaxMs,
      bound: 'at most',
      limit: 10,
      unit: 'ms',
    },
    ...latencies.flatMap(({ load, concurrency, gate, bare }): Floor[] => [
      {
        name: `p50, ${load}, ${concurrency} at once`,
        value: gate.p50Ms / bare.p50Ms,
        bound: 'at most',
        limit: 3,
        unit: 'times a bare read',
      },
      {
        name: `p99, ${load}, ${concurrency} at once`,
        value: gate.p99Ms / bare.p99Ms,
        bound: 'at most',
        limit: 4,
        unit: 'times a bare read',
      },
    ]),
    {
      name: 'reads that share a probe, 1,000 waiting',
      value: sharedBy,
      bound: 'at least',
      limit: 50,
      unit: 'reads',
    },
  ]
}
