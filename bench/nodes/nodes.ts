/** A cluster of 1,000 nodes as they are: each holds the 18 watches of its kubelet and its
 *  kube-proxy over one connection. Measured are their memory and their rest, the cost and lag of
 *  changes, and consistent gets beside them. */

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { ReviewCounter } from '../auth/review-server.ts'
import {
  atMost,
  type Bench,
  type BenchOptions,
  type BenchResult,
  type BenchTable,
  type Floor,
  percentile,
} from '../bench.ts'
import { Http1Client } from '../list/http1-client.ts'
import { Program } from '../list/processes.ts'
import { ProcessUsage } from '../proxy/process-usage.ts'
import type { Child } from '../watch/child.ts'
import { namespaceOf, podName } from '../watch/pods.ts'
import { startChild } from '../watch/processes.ts'
import { sleep } from '../watch/stage.ts'
import { contents, userOf, watchesOfNode } from './node-watches.ts'
import {
  type ChurnOrder,
  type ChurnReport,
  type DeliveredReport,
  memoryOrder,
  type MemoryReport,
} from './orders.ts'

export const nodesBench: Bench = {
  name: 'nodes',
  summary: '18 watches each of 1,000 nodes: memory, rest, 1,000 pods a second, gets beside them',
  run,
}

interface Scale {
  readonly nodes: number
  readonly pods: number
  readonly podsPerSecond: number
  readonly slicesPerSecond: number
  readonly ms: number
  /** For so long nothing is measured: code is compiled, and what handshakes leave is collected. */
  readonly warmMs: number
  readonly settleMs: number
}

const scales: Readonly<Record<BenchOptions['size'], Scale>> = {
  full: {
    nodes: 1_000,
    pods: 10_000,
    podsPerSecond: 1_000,
    slicesPerSecond: 5,
    ms: 20_000,
    warmMs: 10_000,
    settleMs: 5_000,
  },
  small: {
    nodes: 10,
    pods: 40,
    podsPerSecond: 50,
    slicesPerSecond: 5,
    ms: 400,
    warmMs: 100,
    settleMs: 200,
  },
}

/** Deliveries: as for 5,000 watches of a node each (bench/watch). Gets: a kubelet that renews its
 *  lease, or reads a secret, waits for one, and Kubernetes promises a second for both. Memory of a
 *  watch: all that the limits let in (docs/SECURITY.md) are 800 MB then. */
const limits = { podLagP99Ms: 50, getP99Ms: 50, restShare: 0.1, watchKib: 8 } as const

/** Kubelets renew their leases so often. */
const leaseSeconds = 10
const getters = 4
const getEveryMs = 20
/** Events that take longer are lost. */
const lateMaxMs = 60_000
const mebibyte = 1024 * 1024

interface Cluster {
  readonly source: Child
  readonly nodes: Child
  readonly program: Program
  readonly usage: ProcessUsage
  readonly reviews: ReviewCounter
}

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  const scale = scales[size]
  const stops: (() => Promise<void>)[] = []
  try {
    progress('an etcd and the program start')
    const cluster = await start(scale, stops)
    const alone = await measurePhase(cluster, podsPhase(scale, 0))
    progress(`${scale.nodes} connections`)
    const memory = [await memoryOf(cluster)]
    await cluster.nodes.ask({ type: 'connect', port: cluster.program.port, nodes: scale.nodes })
    await sleep(scale.settleMs)
    memory.push(await memoryOf(cluster))
    progress('all watches begin')
    const begun = await beginWatches(cluster, scale)
    await sleep(scale.settleMs)
    memory.push(await memoryOf(cluster))
    const phases: PhaseReport[] = [alone]
    for (const phase of phasesOf(scale)) {
      progress(phase.name)
      phases.push(await measurePhase(cluster, phase))
    }
    return report(scale, { memory, begun, phases })
  } finally {
    for (const stop of stops.toReversed()) await stop()
  }
}

async function start({ nodes, pods }: Scale, stops: (() => Promise<void>)[]): Promise<Cluster> {
  const child = async (name: string, args: string[] = []): Promise<[Child, unknown]> => {
    const started = await startChild(`../nodes/${name}`, 'others', args)
    stops.push(() => started.child.stop())
    return [started.child, started.hello]
  }
  const [source, url] = await child('source', [String(nodes), String(pods)])
  const [nodesChild] = await child('nodes-child')
  const reviews = await ReviewCounter.start(userOf)
  stops.push(() => reviews.stop())
  const program = await Program.start(
    [`--etcd=${String(url)}`, '--auth=delegate', `--review-server=${reviews.url}`],
    new URL('memory-probe.js', import.meta.url),
  )
  stops.push(() => program.stop())
  const usage = new ProcessUsage(program.process, program.port)
  return { source, nodes: nodesChild, program, usage, reviews }
}

interface Phase {
  readonly name: string
  readonly churn: ChurnOrder
  readonly warmMs: number
  /** Nodes that watch. */
  readonly watchers: number
}

const atRest = 'at rest'

function podsName({ podsPerSecond }: Scale): string {
  return `${podsPerSecond} pods/s`
}

function podsPhase(scale: Scale, watchers: number): Phase {
  const { podsPerSecond, nodes, ms, warmMs } = scale
  const leasesPerSecond = nodes / leaseSeconds
  const churn = { type: 'churn', ms, podsPerSecond, slicesPerSecond: 0, leasesPerSecond } as const
  const name = podsName(scale)
  return { name: watchers === 0 ? `${name}, nobody watches` : name, churn, warmMs, watchers }
}

function phasesOf(scale: Scale): readonly Phase[] {
  const pods = podsPhase(scale, scale.nodes)
  const leases = { ...pods, name: 'leases', churn: { ...pods.churn, podsPerSecond: 0 }, warmMs: 0 }
  const { slicesPerSecond } = scale
  const slices = `${slicesPerSecond} slices/s`
  return [
    { ...leases, name: atRest, churn: { ...leases.churn, leasesPerSecond: 0 } },
    leases,
    pods,
    { ...pods, name: slices, churn: { ...leases.churn, slicesPerSecond } },
    { ...pods, name: `${pods.name} and ${slices}`, churn: { ...pods.churn, slicesPerSecond } },
  ]
}

interface BeginReport {
  readonly seconds: number
  readonly cpuSeconds: number
  readonly reviews: number
}

/** Begins all watches, and waits for their first events. */
async function beginWatches(cluster: Cluster, scale: Scale): Promise<BeginReport> {
  const { nodes, usage, reviews } = cluster
  const before = { cpu: await usage.cpuSeconds(), reviews: reviews.reviews, ms: performance.now() }
  await nodes.ask({ type: 'begin' })
  await nodes.ask({ type: 'watch' })
  const slices = scale.nodes * contents.slices
  await nodes.ask({ type: 'delivered', pods: scale.pods, slices, waitMaxMs: lateMaxMs })
  return {
    seconds: (performance.now() - before.ms) / 1000,
    cpuSeconds: (await usage.cpuSeconds()) - before.cpu,
    reviews: reviews.reviews - before.reviews,
  }
}

/** The memory of the program, once collections find no more. */
async function memoryOf({ program }: Cluster): Promise<MemoryReport> {
  program.process.send(memoryOrder)
  const [memory] = (await once(program.process, 'message')) as [MemoryReport]
  return memory
}

interface PhaseReport {
  readonly name: string
  readonly changes: ChurnReport
  readonly seconds: number
  readonly cpuSeconds: number
  readonly delivered: DeliveredReport
  /** Events that should have come. */
  readonly expected: number
  readonly gets: { readonly p50Ms: number; readonly p99Ms: number }
}

async function measurePhase(cluster: Cluster, phase: Phase): Promise<PhaseReport> {
  const { name, churn, warmMs } = phase
  if (warmMs > 0) await deliverAll(cluster, { ...phase, churn: { ...churn, ms: warmMs } })
  // Rest is what watches cost by themselves.
  const getting = new Gets(cluster.program.port, name === atRest ? 0 : getters)
  const startMs = performance.now()
  const cpuSeconds = await cluster.usage.cpuSeconds()
  const delivered = await deliverAll(cluster, phase)
  return {
    name,
    ...delivered,
    seconds: (performance.now() - startMs) / 1000,
    cpuSeconds: (await cluster.usage.cpuSeconds()) - cpuSeconds,
    gets: await getting.end(),
  }
}

type Deliveries = Pick<PhaseReport, 'changes' | 'delivered' | 'expected'>

/** Makes the changes of a phase, and waits until all events have come. */
async function deliverAll(
  { source, nodes }: Cluster,
  { churn, watchers }: Phase,
): Promise<Deliveries> {
  await nodes.ask({ type: 'begin' })
  const changes = await source.ask<ChurnReport>(churn)
  const pods = watchers === 0 ? 0 : changes.pods
  const slices = changes.slices * watchers
  const order = { type: 'delivered', pods, slices, waitMaxMs: lateMaxMs }
  const delivered = await nodes.ask<DeliveredReport>(order)
  return { changes, delivered, expected: pods + slices }
}

/** Consistent gets of one pod at a steady rate, while others watch. */
class Gets {
  readonly #tookMs: number[] = []
  readonly #loops: Promise<unknown>
  #isOver = false

  constructor(port: number, count: number) {
    this.#loops = Promise.all(Array.from({ length: count }, () => this.#loop(port)))
  }

  async #loop(port: number): Promise<void> {
    const client = await Http1Client.connect(port)
    while (!this.#isOver) {
      const startMs = performance.now()
      const { status } = await client.get(
        `/api/v1/namespaces/${namespaceOf(0)}/pods/${podName(0)}`,
        {
          authorization: 'Bearer reader.0.x',
        },
      )
      if (status !== 200) throw new Error(`a get is answered with ${status}`)
      const tookMs = performance.now() - startMs
      this.#tookMs.push(tookMs)
      await sleep(Math.max(0, getEveryMs - tookMs))
    }
    client.close()
  }

  async end(): Promise<PhaseReport['gets']> {
    this.#isOver = true
    await this.#loops
    if (this.#tookMs.length === 0) return { p50Ms: 0, p99Ms: 0 }
    const [p50Ms, p99Ms] = [percentile(this.#tookMs, 0.5), percentile(this.#tookMs, 0.99)]
    return { p50Ms, p99Ms }
  }
}

interface Figures {
  readonly memory: readonly MemoryReport[]
  readonly begun: BeginReport
  readonly phases: readonly PhaseReport[]
}

function report(scale: Scale, figures: Figures): BenchResult {
  const watches = scale.nodes * watchesOfNode(0).length
  return {
    tables: [
      memoryTable(scale.nodes, watches, figures.memory),
      beginTable(watches - scale.nodes, figures.begun),
      phasesTable(figures.phases),
    ],
    floors: floorsOf(scale, watches, figures),
    resultHash: createHash('sha256')
      .update(JSON.stringify(Array.from({ length: scale.nodes }, (_, i) => watchesOfNode(i))))
      .digest('hex')
      .slice(0, 16),
  }
}

/** The bytes that each of so many takes, between two states. */
function bytesOfEach(
  name: keyof MemoryReport,
  [before, after]: readonly MemoryReport[],
  count: number,
): number {
  return Math.round((after![name] - before![name]) / count)
}

function memoryTable(nodes: number, watches: number, memory: readonly MemoryReport[]): BenchTable {
  const row = (name: string, states: readonly MemoryReport[], count: number): Row => [
    name,
    count,
    bytesOfEach('heapBytes', states, count),
    bytesOfEach('externalBytes', states, count),
    bytesOfEach('rssBytes', states, count),
    Math.round(states[1]!.rssBytes / mebibyte),
  ]
  return {
    title: 'Memory of each, after collections',
    columns: ['', 'count', 'heap bytes', 'external bytes', 'RSS bytes', 'RSS of all, MiB'],
    rows: [
      row('connections with a watch', memory.slice(0, 2), nodes),
      row('other watches', memory.slice(1), watches - nodes),
    ],
  }
}

type Row = readonly (string | number)[]

function beginTable(watches: number, { seconds, cpuSeconds, reviews }: BeginReport): BenchTable {
  return {
    title: 'The other watches begin, with their first events',
    columns: ['watches', 'seconds', 'processor s', 'µs a watch', 'reviews'],
    rows: [[watches, seconds, cpuSeconds, Math.round((1e6 * cpuSeconds) / watches), reviews]],
  }
}

function phasesTable(phases: readonly PhaseReport[]): BenchTable {
  return {
    title: 'Changes, what they cost, how late they come, and consistent gets beside them',
    columns: [
      '',
      'changes/s',
      'events/s',
      'processor %',
      'µs a change',
      'lag p50 ms',
      'lag p99 ms',
      'lag max ms',
      'get p50 ms',
      'get p99 ms',
    ],
    rows: phases.map(phase => {
      const { name, changes, seconds, cpuSeconds, delivered, gets } = phase
      const all = changes.pods + changes.slices + changes.leases
      const { pods, slices } = delivered
      const slowest = pods.events > 0 ? pods : slices
      return [
        name,
        Math.round(all / seconds),
        Math.round((pods.events + slices.events) / seconds),
        (100 * cpuSeconds) / seconds,
        all === 0 ? '' : Math.round((1e6 * cpuSeconds) / all),
        slowest.lagP50Ms,
        slowest.lagP99Ms,
        Math.max(pods.lagMaxMs, slices.lagMaxMs),
        gets.p50Ms,
        gets.p99Ms,
      ]
    }),
  }
}

function floorsOf(scale: Scale, watches: number, { memory, phases }: Figures): Floor[] {
  const sumOf = (figure: (phase: PhaseReport) => number): number =>
    phases.reduce((sum, phase) => sum + figure(phase), 0)
  const events = sumOf(({ delivered: { pods, slices } }) => pods.events + slices.events)
  const ended = Math.max(...phases.map(({ delivered }) => delivered.ended))
  const rest = phases.find(({ name }) => name === atRest)!
  const busy = phases.find(({ name }) => name === podsName(scale))!
  const watchBytes = bytesOfEach('heapBytes', memory.slice(1), watches - scale.nodes)
  return [
    {
      name: 'delivered',
      value: events / sumOf(({ expected }) => expected),
      bound: 'at least',
      limit: 1,
      unit: 'of all',
    },
    atMost('watches refused or ended', ended, 0, 'watches'),
    atMost('p99 of deliveries', busy.delivered.pods.lagP99Ms, limits.podLagP99Ms, 'ms'),
    atMost('p99 of consistent gets beside them', busy.gets.p99Ms, limits.getP99Ms, 'ms'),
    atMost('processor at rest', rest.cpuSeconds / rest.seconds, limits.restShare, 'processors'),
    atMost('heap of a watch', watchBytes / 1024, limits.watchKib, 'KiB'),
  ]
}
