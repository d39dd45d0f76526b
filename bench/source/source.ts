/** The work of an API server for a hundred clients with informers on twenty resources of a cluster
 *  that never rests: asked by them directly, and by a Watchglass that mirrors it without its etcd,
 *  which they ask instead. Then the wait of consistent lists of a large resource that nobody writes
 *  to, and the memory of both kinds of mirror.
 *
 *  The upstream is a stand-in of ours, so that the bench runs anywhere. `--against URL --pid PID`
 *  measures a real kube-apiserver on this machine: its bearer token is in the file
 *  UPSTREAM_TOKEN_FILE, its certificate authority in UPSTREAM_CA, and UPSTREAM_ETCD is the address
 *  of its etcd, for the memory of a mirror of that. Pods are created in the namespace
 *  watchglass-bench, and stay.
 *
 *  All requests but the writes of the bench pass a relay that counts bytes. The processor's time of
 *  the writes alone is measured first, and subtracted. */

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { fork } from 'node:child_process'
import { ask } from '../../test/support/http/served.ts'
import { freePort } from '../../test/support/program/ports.ts'
import {
  atMost,
  type Bench,
  type BenchOptions,
  type BenchResult,
  type BenchTable,
} from '../bench.ts'
import { Program } from '../list/processes.ts'
import { ProcessUsage } from '../proxy/process-usage.ts'
import { Child } from '../watch/child.ts'
import { ApiClient } from './api-client.ts'
import { Churn, createPods, podsPath } from './churn.ts'
import type { LagsReport, RelayReport, StandInReport, SyncedReport } from './orders.ts'
import { quietLists, type QuietLists } from './quiet-lists.ts'

export const sourceBench: Bench = {
  name: 'source',
  summary: 'a mirror of the API itself before informers, against informers that ask the API',
  run,
}

export interface SourceSize {
  readonly pods: number
  readonly clients: number
  readonly perSecond: number
  readonly churnMs: number
  /** Consistent lists, and the pause before each where nobody has asked lately. */
  readonly lists: { readonly rare: number; readonly pauseMs: number; readonly often: number }
}

const sizes: Readonly<Record<BenchOptions['size'], SourceSize>> = {
  small: {
    pods: 40,
    clients: 2,
    perSecond: 20,
    churnMs: 300,
    lists: { rare: 1, pauseMs: 0, often: 3 },
  },
  full: {
    pods: 10_000,
    clients: 100,
    perSecond: 100,
    churnMs: 60_000,
    lists: { rare: 12, pauseMs: 7000, often: 40 },
  },
}

/** Twenty resources as agents of a cluster read them. */
const paths: readonly string[] = [
  podsPath,
  ...'nodes services configmaps secrets namespaces serviceaccounts persistentvolumes persistentvolumeclaims'
    .split(' ')
    .map(name => `/api/v1/${name}`),
  ...'deployments replicasets statefulsets daemonsets'
    .split(' ')
    .map(name => `/apis/apps/v1/${name}`),
  '/apis/batch/v1/jobs',
  '/apis/batch/v1/cronjobs',
  '/apis/discovery.k8s.io/v1/endpointslices',
  '/apis/networking.k8s.io/v1/ingresses',
  '/apis/networking.k8s.io/v1/networkpolicies',
  '/apis/coordination.k8s.io/v1/leases',
  '/apis/storage.k8s.io/v1/storageclasses',
]

async function run({ size, progress, against }: BenchOptions): Promise<BenchResult> {
  const scale = sizes[size]
  const upstream = await startUpstream(against)
  const closing: (() => unknown)[] = [() => upstream.stop()]
  try {
    const trial = await Trial.start(scale, upstream, closing)
    progress(`creating ${scale.pods} pods`)
    await createPods(trial.client, scale.pods)
    progress('writes that nobody reads')
    const alone = await trial.writesAlone()
    progress('informers that ask the upstream')
    const direct = await trial.informersOf(trial.relayUrl)
    progress('the start of a mirror')
    const { program, memory, warming } = await trial.mirror([])
    progress('informers that ask the mirror')
    const ours = await trial.informersOf(`https://127.0.0.1:${program.port}`)
    await trial.churn.stop()
    progress('consistent lists that wait for progress')
    const url = `https://127.0.0.1:${program.port}`
    const waits = await quietLists({
      ...scale.lists,
      url,
      token: upstream.token,
      client: trial.client,
    })
    await program.stop()
    progress('a mirror of the etcd')
    // An empty resource is known to be of that etcd once its revision has risen.
    trial.churn.start()
    const ofEtcd =
      upstream.etcd === '' ? undefined : await trial.mirror([`--etcd=${upstream.etcd}`])
    await ofEtcd?.program.stop()
    const measured = { scale, alone, direct, ours, warming, waits, memory, ofEtcd: ofEtcd?.memory }
    return resultOf(measured)
  } finally {
    for (const close of closing.toReversed()) await close()
  }
}

interface MeasuredUpstream {
  readonly url: string
  readonly pid: number
  readonly etcd: string
  readonly token: string
  /** Options of a Watchglass in front of it. */
  readonly options: readonly string[]
  readonly stop: () => Promise<void>
}

async function startUpstream(against: BenchOptions['against']): Promise<MeasuredUpstream> {
  if (against === undefined) {
    const standIn = new Child(fork(fileURLToPath(new URL('stand-in.js', import.meta.url))))
    const { url, etcd } = (await standIn.message()) as StandInReport
    const options = ['--upstream-ca=test/support/certs/ca.pem', '--auth=none']
    return { url, etcd, pid: standIn.pid, token: '', options, stop: () => standIn.stop() }
  }
  const { url, pid } = against
  const { UPSTREAM_TOKEN_FILE: file, UPSTREAM_CA: ca, UPSTREAM_ETCD: etcd = '' } = process.env
  if (pid === undefined || file === undefined || ca === undefined) {
    throw new Error('a real upstream needs --pid, UPSTREAM_TOKEN_FILE and UPSTREAM_CA')
  }
  const token = readFileSync(file, 'utf8').trim()
  const options = [`--upstream-ca=${ca}`, `--upstream-token-file=${file}`]
  return { url, etcd, pid, token, options, stop: () => Promise.resolve() }
}

interface Cost {
  readonly requests: number
  readonly bytes: number
  readonly cpuSeconds: number
  readonly seconds: number
  readonly writes: number
}

interface Informed {
  readonly start: Cost
  readonly synced: SyncedReport
  readonly churn: Cost
  readonly lags: LagsReport
}

interface MirrorMemory {
  readonly heldBytes: number
  readonly residentBytes: number
}

class Trial {
  readonly client: ApiClient
  readonly churn: Churn
  readonly relayUrl: string
  readonly #scale: SourceSize
  readonly #upstream: MeasuredUpstream
  readonly #usage: ProcessUsage
  readonly #relay: Child
  readonly #informers: Child

  private constructor(
    scale: SourceSize,
    upstream: MeasuredUpstream,
    {
      relay,
      informers,
      port,
    }: { readonly relay: Child; readonly informers: Child; readonly port: number },
  ) {
    this.#scale = scale
    this.#upstream = upstream
    this.#relay = relay
    this.#informers = informers
    this.relayUrl = `https://127.0.0.1:${port}`
    this.client = new ApiClient(upstream.url, upstream.token)
    this.churn = new Churn(this.client, scale.pods, scale.perSecond)
    this.#usage = new ProcessUsage(upstream, 0)
  }

  static async start(
    scale: SourceSize,
    upstream: MeasuredUpstream,
    closing: (() => unknown)[],
  ): Promise<Trial> {
    const relay = new Child(fork(moduleOf('relay'), [new URL(upstream.url).port]))
    closing.push(() => relay.stop())
    const informers = new Child(fork(moduleOf('informers')))
    closing.push(() => informers.stop())
    const { port } = (await relay.message()) as RelayReport
    const trial = new Trial(scale, upstream, { relay, informers, port })
    closing.push(() => trial.client.close())
    closing.push(() => trial.churn.stop())
    return trial
  }

  /** From now on the cluster never rests. */
  async writesAlone(): Promise<Cost> {
    this.churn.start()
    return await this.#costOf(() => sleep(this.#scale.churnMs))
  }

  async informersOf(url: string): Promise<Informed> {
    const { clients, churnMs } = this.#scale
    const { token } = this.#upstream
    let synced: SyncedReport | undefined
    const start = await this.#costOf(async () => {
      const order = { type: 'start', url, token, clients, paths }
      synced = await this.#informers.ask<SyncedReport>(order)
    })
    let lags: LagsReport | undefined
    const churn = await this.#costOf(async () => {
      await this.#informers.ask({ type: 'forget' })
      await sleep(churnMs)
      lags = await this.#informers.ask<LagsReport>({ type: 'report' })
      await this.#informers.ask({ type: 'stop' })
    })
    return { start, synced: synced!, churn, lags: lags! }
  }

  /** A Watchglass with the resources of the bench in its memory, all of which it answers. */
  async mirror(
    options: readonly string[],
  ): Promise<{ program: Program; memory: MirrorMemory; warming: Cost }> {
    const { token } = this.#upstream
    const adminPort = await freePort()
    let program: Program | undefined
    const warming = await this.#costOf(async () => {
      const admin = `--admin-listen=http://127.0.0.1:${adminPort}`
      const upstream = `--upstream=${this.relayUrl}`
      program = await Program.start([...options, upstream, ...this.#upstream.options, admin])
      const url = `https://127.0.0.1:${program.port}`
      await this.#informers.ask<SyncedReport>({ type: 'warm', url, token, paths })
    })
    return { program: program!, memory: await memoryOf(adminPort), warming }
  }

  async #costOf(work: () => Promise<unknown>): Promise<Cost> {
    const requests = await this.client.othersRequests()
    const { bytes } = await this.#relay.ask<RelayReport>({})
    const cpuSeconds = await this.#usage.cpuSeconds()
    const { written } = this.churn
    const began = performance.now()
    await work()
    return {
      seconds: (performance.now() - began) / 1000,
      writes: this.churn.written - written,
      cpuSeconds: (await this.#usage.cpuSeconds()) - cpuSeconds,
      bytes: (await this.#relay.ask<RelayReport>({})).bytes - bytes,
      requests: (await this.client.othersRequests()) - requests,
    }
  }
}

function moduleOf(name: string): string {
  return fileURLToPath(new URL(`${name}.js`, import.meta.url))
}

/** Garbage included: as much as there may be, and never less than there is. */
async function memoryOf(adminPort: number): Promise<MirrorMemory> {
  const { body } = await ask(adminPort, { path: '/metrics' })
  const valueOf = (name: string): number =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(body.toString())?.[1] ?? Number.NaN)
  return {
    heldBytes: valueOf('nodejs_external_memory_bytes') + valueOf('nodejs_heap_size_used_bytes'),
    residentBytes: valueOf('process_resident_memory_bytes'),
  }
}

interface SourceMeasured {
  readonly scale: SourceSize
  readonly alone: Cost
  readonly direct: Informed
  readonly ours: Informed
  readonly warming: Cost
  readonly waits: QuietLists
  readonly memory: MirrorMemory
  readonly ofEtcd: MirrorMemory | undefined
}

const megabyte = 1024 * 1024

function resultOf(measured: SourceMeasured): BenchResult {
  const { scale, alone, direct, ours, waits } = measured
  const ratioOf = (of: (cost: Cost) => number): number =>
    (of(ours.start) + of(ours.churn)) / (of(direct.start) + of(direct.churn))
  const ratios = [
    ['requests', ratioOf(cost => netRequests(cost, alone))],
    ['bytes', ratioOf(({ bytes }) => bytes)],
    ["processor's time", ratioOf(cost => netSeconds(cost, alone))],
  ] as const
  const ratioFloors = ratios.map(([name, value]) =>
    atMost(`${name} of the upstream, through us / direct`, value, 0.1, 'x'),
  )
  const hash = createHash('sha256').update(String(waits.objects >= scale.pods))
  return {
    tables: [
      costTable(measured),
      informersTable(measured),
      waitsTable(waits),
      memoryTable(measured),
    ],
    floors: [
      ...ratioFloors,
      atMost('lag of events (p99) above direct', ours.lags.p99Ms - direct.lags.p99Ms, 50, 'ms'),
      atMost('longest wait of a list where nobody asked lately', waits.rare.maxMs, 1200, 'ms'),
      atMost('mean wait of a list while others ask', waits.often.meanMs, 600, 'ms'),
    ],
    resultHash: hash.digest('hex').slice(0, 16),
  }
}

/** Without what the server asks itself all the time. */
function netRequests({ requests, seconds }: Cost, alone: Cost): number {
  return requests - (alone.requests / alone.seconds) * seconds
}

/** Without what the writes cost by themselves. */
function netSeconds({ cpuSeconds, writes }: Cost, alone: Cost): number {
  return cpuSeconds - (alone.cpuSeconds / Math.max(1, alone.writes)) * writes
}

function costTable(measured: SourceMeasured): BenchTable {
  const { alone, direct, ours, warming } = measured
  const row = (name: string, cost: Cost): BenchTable['rows'][number] => [
    name,
    Math.round(netRequests(cost, alone)),
    cost.bytes / megabyte,
    cost.cpuSeconds,
    netSeconds(cost, alone),
    cost.seconds,
    cost.writes,
  ]
  return {
    title: 'what the upstream does',
    columns: ['', 'requests', 'MB sent', 'CPU s', 'without writes', 'in s', 'writes meanwhile'],
    rows: [
      row('writes alone', alone),
      row('direct: start', direct.start),
      row('direct: churn', direct.churn),
      row('start and proofs of the mirror', warming),
      row('through us: start', ours.start),
      row('through us: churn', ours.churn),
    ],
  }
}

function informersTable({ scale, direct, ours }: SourceMeasured): BenchTable {
  const row = (name: string, { synced, lags }: Informed): BenchTable['rows'][number] => [
    name,
    synced.seconds,
    synced.mirrored,
    lags.events,
    lags.p50Ms,
    lags.p99Ms,
    lags.maxMs,
    lags.ended,
  ]
  return {
    title: `${scale.clients} clients with informers on ${paths.length} resources`,
    columns: ['', 'all synced s', 'by the mirror', 'events', 'lag p50 ms', 'p99', 'max', 'ended'],
    rows: [row('direct', direct), row('through us', ours)],
  }
}

function waitsTable({ objects, rare, often }: QuietLists): BenchTable {
  const row = (name: string, waits: QuietLists['rare']): BenchTable['rows'][number] => [
    name,
    waits.lists,
    waits.mirrored,
    waits.meanMs,
    waits.p50Ms,
    waits.maxMs,
  ]
  return {
    title: `consistent lists of ${objects} pods that nobody writes to`,
    columns: ['', 'lists', 'by the mirror', 'mean ms', 'p50', 'max'],
    rows: [row('nobody asked lately', rare), row('one after the other', often)],
  }
}

function memoryTable({ memory, ofEtcd }: SourceMeasured): BenchTable {
  const row = (name: string, { heldBytes, residentBytes }: MirrorMemory): (string | number)[] => [
    name,
    heldBytes / megabyte,
    residentBytes / megabyte,
  ]
  return {
    title: 'memory of Watchglass, warm',
    columns: ['source', 'heap and external MB', 'resident MB'],
    rows: [row('the API', memory), ...(ofEtcd === undefined ? [] : [row('its etcd', ofEtcd)])],
  }
}
