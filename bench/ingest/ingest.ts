/** The changes that a mirror takes from an etcd that makes more than it can: leases and pods, with
 *  nobody who watches, and with those who watch the pods of a node. bchess/k8s-1m found that
 *  kube-apiserver's cache stops at 40,000 updates of a kind a second on 72 cores, and that watches
 *  by node stall for tens of seconds above 5,000 pods a second. */

import { createHash } from 'node:crypto'
import type { Bench, BenchOptions, BenchResult, Floor } from '../bench.ts'
import { Http1Client } from '../list/http1-client.ts'
import type { CountReport, UsageReport } from '../watch/orders.ts'
import { nodeName } from '../watch/pods.ts'
import { type Started, startChild } from '../watch/processes.ts'
import type { PourReport, ProfileReport } from './orders.ts'
import type { PouredKind } from './poured-changes.ts'
import { stageNames } from './stages.ts'

export const ingestBench: Bench = {
  name: 'ingest',
  summary:
    'changes a second that are mirrored, and where their time goes, without and with watches',
  run,
}

interface Case {
  readonly kind: PouredKind
  readonly objects: number
  readonly changes: number
  /** Watches of the pods of a node. */
  readonly watchers: number
  /** As fast as they are taken, if there is none. */
  readonly perSecond?: number
}

interface Scale {
  readonly cases: readonly Case[]
  /** The changes that come first: until all code is compiled, and the history holds as many batches
   *  as it may. Before that each change takes memory that nobody has touched yet, which costs more
   *  than all else and does not go on. */
  readonly warmChanges: number
  /** The share of a case's changes that come once more under a profile, which itself costs a
   *  third. */
  readonly profiledShare: number
}

const scales: Readonly<Record<'full' | 'small', Scale>> = {
  full: {
    warmChanges: 120_000,
    profiledShare: 0.5,
    cases: [
      { kind: 'leases', objects: 20_000, changes: 200_000, watchers: 0 },
      { kind: 'pods', objects: 20_000, changes: 80_000, watchers: 0 },
      { kind: 'pods', objects: 10_000, changes: 60_000, watchers: 100, perSecond: 20_000 },
      { kind: 'pods', objects: 10_000, changes: 60_000, watchers: 1_000, perSecond: 5_000 },
      { kind: 'pods', objects: 10_000, changes: 60_000, watchers: 1_000, perSecond: 20_000 },
    ],
  },
  small: {
    warmChanges: 200,
    profiledShare: 0.5,
    cases: [
      { kind: 'leases', objects: 100, changes: 400, watchers: 0 },
      { kind: 'pods', objects: 100, changes: 400, watchers: 10, perSecond: 500 },
    ],
  },
}

/** Changes a second of the server's processor, which has a core; and the lag of deliveries. */
const floors = { leases: 100_000, pods: 40_000, lagP99Ms: 100, perSecond: 20_000 }

interface Measured extends Case {
  readonly poured: PourReport
  /** From the first change to the last one, as a reader sees it. */
  readonly seconds: number
  readonly cpuSeconds: number
  readonly grownBytes: number
  /** Microseconds of a change by stage. */
  readonly stages: ReadonlyMap<string, number>
  readonly turnMaxMs: number
  readonly delivered: CountReport | undefined
}

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  const { cases, ...scale } = scales[size]
  const measured: Measured[] = []
  for (const each of cases) {
    const rate = each.perSecond === undefined ? '' : `, ${each.perSecond} a second`
    progress(`${each.changes} changes of ${each.kind}, ${each.watchers} watchers${rate}`)
    measured.push(await measure(each, scale))
  }
  const revisions = measured.map(({ poured }) => poured.revision)
  return {
    tables: [ratesOf(measured), stagesOf(measured)],
    floors: measured.flatMap(floorsOf),
    resultHash: createHash('sha256').update(revisions.join(' ')).digest('hex').slice(0, 16),
  }
}

async function measure(each: Case, scale: Omit<Scale, 'cases'>): Promise<Measured> {
  const started: Started[] = []
  const start = async (...args: Parameters<typeof startChild>): Promise<Started> => {
    const child = await startChild(...args)
    started.push(child)
    return child
  }
  try {
    const source = await start('../ingest/source', 'others', [
      each.kind,
      String(each.objects),
      String(Math.max(1, each.watchers)),
      // The last state of what is deleted has the moment of an earlier change.
      String(each.watchers === 0 ? 0.05 : 0),
    ])
    const server = await start('../ingest/server', 'alone', [String(source.hello)])
    const watchers = await start('watchers', 'others')
    return await pour(each, scale, { source, server, watchers })
  } finally {
    for (const { child } of started.toReversed()) await child.stop()
  }
}

interface Children {
  readonly source: Started
  readonly server: Started
  readonly watchers: Started
}

async function pour(
  { kind, objects, changes, watchers: count, ...rest }: Case,
  { warmChanges, profiledShare }: Omit<Scale, 'cases'>,
  { source, server, watchers }: Children,
): Promise<Measured> {
  const port = Number(server.hello)
  const client = await Http1Client.connect(port)
  const until = async (revision: number): Promise<void> => {
    const path = kind === 'pods' ? '/api/v1/pods' : '/apis/coordination.k8s.io/v1/leases'
    const { status } = await client.get(`${path}?limit=1&resourceVersion=${revision}`, {})
    if (status !== 200) throw new Error(`a list is answered with ${status}`)
  }
  const prepare = async (number: number): Promise<void> => {
    await source.child.ask({ type: 'prepare', changes: number })
  }
  const pourAll = async (perSecond?: number): Promise<PourReport> => {
    const report = await source.child.ask<PourReport>({ type: 'pour', perSecond })
    await until(report.revision)
    return report
  }
  const usage = (isSettled: boolean): Promise<UsageReport> =>
    server.child.ask<UsageReport>({ type: 'usage', isSettled })
  const profile = (isOn: boolean): Promise<ProfileReport> =>
    server.child.ask<ProfileReport>({ type: 'profile', isOn })

  await prepare(objects + warmChanges)
  await pourAll()
  if (count > 0) await watchers.child.ask(openOrder(port, count))
  await prepare(changes)
  const held = await usage(true)
  // What it took to settle is not of the changes.
  const before = await usage(false)
  const startMs = performance.now()
  const counting = countWhile(watchers, { count, changes, perSecond: rest.perSecond })
  const poured = await pourAll(rest.perSecond)
  const seconds = (performance.now() - startMs) / 1000
  const delivered = await counting
  const spent = await usage(false)
  const after = await usage(true)
  const profiled = Math.round(changes * profiledShare)
  await prepare(profiled)
  await profile(true)
  await pourAll(rest.perSecond)
  const { stages, turnMaxMs } = await profile(false)
  client.close()
  return {
    kind,
    objects,
    changes,
    watchers: count,
    ...rest,
    poured,
    seconds,
    cpuSeconds: spent.cpuSeconds - before.cpuSeconds,
    grownBytes: after.heapBytes - held.heapBytes,
    stages: new Map([...stages].map(([stage, ms]) => [stage, (ms * 1000) / profiled])),
    turnMaxMs,
    delivered,
  }
}

function openOrder(port: number, count: number): object {
  const from = '&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=3600'
  const paths = Array.from(
    { length: count },
    (_, i) => `/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3D${nodeName(i)}${from}`,
  )
  return { type: 'open', name: 'ours', port, version: '1.1', paths }
}

/** Counts for as long as changes are poured at their rate, and a second more. */
function countWhile(
  watchers: Started,
  { count, changes, perSecond }: { count: number; changes: number; perSecond?: number | undefined },
): Promise<CountReport | undefined> {
  if (count === 0 || perSecond === undefined) return Promise.resolve(undefined)
  const ms = (changes / perSecond) * 1000 + 1000
  return watchers.child.ask<CountReport>({ type: 'count', name: 'ours', ms })
}

function ratesOf(measured: readonly Measured[]): BenchResult['tables'][number] {
  const rows = measured.map(each => [
    each.kind,
    each.watchers,
    each.perSecond ?? 'all',
    Math.round(each.changes / each.seconds),
    Math.round(each.changes / each.cpuSeconds),
    Math.round((each.cpuSeconds * 1e6) / each.changes),
    each.delivered?.events ?? '',
    each.delivered?.lagP50Ms ?? '',
    each.delivered?.lagP99Ms ?? '',
    each.turnMaxMs.toFixed(1),
    Math.round(each.grownBytes / 1024 ** 2),
  ])
  const rates = ['asked a second', 'taken a second', 'a processor second', 'µs a change']
  const lags = ['delivered', 'lag p50 ms', 'lag p99 ms', 'largest turn ms', 'memory grew MiB']
  return {
    title: 'Changes that are mirrored',
    columns: ['kind', 'watchers by node', ...rates, ...lags],
    rows,
  }
}

function stagesOf(measured: readonly Measured[]): BenchResult['tables'][number] {
  const rows = measured.map(({ kind, watchers, perSecond = 'all', stages }) => [
    kind,
    watchers,
    perSecond,
    ...stageNames.map(stage => (stages.get(stage) ?? 0).toFixed(2)),
  ])
  return {
    title: 'Where the time of a change goes, in µs',
    columns: ['kind', 'watchers', 'asked', ...stageNames],
    rows,
  }
}

function floorsOf({
  kind,
  watchers,
  perSecond,
  changes,
  cpuSeconds,
  delivered,
}: Measured): Floor[] {
  if (watchers === 0) {
    const name = `${kind} without watchers`
    const unit = 'a processor second'
    return [{ name, value: changes / cpuSeconds, bound: 'at least', limit: floors[kind], unit }]
  }
  if (perSecond !== floors.perSecond || delivered === undefined) return []
  const name = `${perSecond} pods a second, ${watchers} watches by node`
  return [
    {
      name: `${name}: p99`,
      value: delivered.lagP99Ms,
      bound: 'at most',
      limit: floors.lagP99Ms,
      unit: 'ms',
    },
    {
      name: `${name}: delivered`,
      value: delivered.events / changes,
      bound: 'at least',
      limit: 0.99,
      unit: '',
    },
  ]
}
