/** Tiers: a root that mirrors an etcd, two relays that mirror the root by etcd's API, and an edge
 *  behind them with half of all watchers on each of two edges. What a change costs in each tier,
 *  how late it comes, how long a consistent read takes there, and what its clients notice when a
 *  relay is killed. */

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type Floor,
  percentile,
} from '../bench.ts'
import { Http1Client } from '../list/http1-client.ts'
import { Program } from '../list/processes.ts'
import type { ChangeReport, CountReport } from '../watch/orders.ts'
import { nodeName } from '../watch/pods.ts'
import { type Started, startChild } from '../watch/processes.ts'
import { sleep } from '../watch/stage.ts'

export const tiersBench: Bench = {
  name: 'tiers',
  summary: 'a root, two relays and two edges: the cost and lag of a change in each, a relay killed',
  run,
}

const scales = {
  full: { pods: 1_000, watchers: 2_000, perSecond: 200, ms: 10_000, reads: 300 },
  small: { pods: 20, watchers: 40, perSecond: 20, ms: 500, reads: 10 },
} as const

/** Milliseconds that a hop adds to the lag of a change at most, and a fraction of what is
 *  delivered. */
const floors = { hopP99Ms: 50, delivered: 1 }

const fromNow = '&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=3600'
const everything = `/api/v1/pods?watch=1${fromNow}`
/** Watchers of everything in each tier, whose lag is that of the tier. */
const observers = 5

/** Quarters of a second for events that come late. */
const lateRoundsMax = 240

type TierName = 'root' | 'relay' | 'edge'

interface Tier {
  readonly name: TierName
  readonly programs: readonly Program[]
  readonly watchers: Started
}

interface Tiers {
  readonly source: Started
  readonly root: Tier
  readonly relay: Tier
  readonly edge: Tier
  /** Those that look at parts, half of them at each edge. */
  readonly many: Started
}

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  const scale = scales[size]
  const stops: (() => Promise<void>)[] = []
  try {
    progress('a root, two relays and two edges start')
    const tiers = await start(scale.pods, stops)
    await watch(tiers, scale)
    progress('changes come')
    const peace = await measure(tiers, scale)
    progress('consistent reads')
    const reads = await readAll(tiers, scale.reads)
    progress('a relay is killed')
    const killed = await killRelay(tiers, scale)
    return report(peace, reads, killed)
  } finally {
    for (const stop of stops.toReversed()) await stop()
  }
}

async function start(pods: number, stops: (() => Promise<void>)[]): Promise<Tiers> {
  const child = async (name: string, args: string[] = []): Promise<Started> => {
    const started = await startChild(name, 'others', args)
    stops.push(() => started.child.stop())
    return started
  }
  const program = async (args: readonly string[]): Promise<Program> => {
    const started = await Program.start(args)
    stops.push(async () => {
      if (isAlive(started)) await started.stop()
    })
    return started
  }
  const source = await child('source', [String(pods)])
  const [rootPort, ...relayPorts] = [await freePort(), await freePort(), await freePort()]
  const listen = (port: number): string => `--etcd-listen=127.0.0.1:${port}`
  const root = await program([`--etcd=${String(source.hello)}`, listen(rootPort)])
  const relays: Program[] = []
  for (const port of relayPorts) {
    relays.push(await program([`--etcd=http://127.0.0.1:${rootPort}`, listen(port)]))
  }
  // Each edge knows both relays, its own first.
  const edges: Program[] = []
  for (const ports of [relayPorts, relayPorts.toReversed()]) {
    const urls = ports.map(port => `http://127.0.0.1:${port}`)
    edges.push(await program([`--etcd=${urls.join(',')}`]))
  }
  return {
    source,
    root: { name: 'root', programs: [root], watchers: await child('watchers') },
    relay: { name: 'relay', programs: relays, watchers: await child('watchers') },
    edge: { name: 'edge', programs: edges, watchers: await child('watchers') },
    many: await child('watchers'),
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

function tiersOf({ root, relay, edge }: Tiers): readonly Tier[] {
  return [root, relay, edge]
}

async function watch(tiers: Tiers, { pods, watchers }: Scale): Promise<void> {
  for (const { programs, watchers: observer } of tiersOf(tiers)) {
    const { port } = programs[0]!
    const paths = Array.from({ length: observers }, () => everything)
    await observer.child.ask({ type: 'open', name: 'tier', port, version: '1.1', paths })
  }
  for (const [i, { port }] of tiers.edge.programs.entries()) {
    const paths = Array.from(
      { length: watchers / 2 },
      (_, n) =>
        `/api/v1/pods?watch=1&fieldSelector=spec.nodeName%3D${nodeName(n % pods)}${fromNow}`,
    )
    await tiers.many.child.ask({ type: 'open', name: `edge ${i}`, port, version: '1.1', paths })
  }
}

interface Scale {
  readonly pods: number
  readonly watchers: number
  readonly perSecond: number
  readonly ms: number
}

interface TierFigures {
  readonly name: TierName
  readonly cpuSeconds: number
  readonly seen: CountReport
}

interface Figures {
  readonly changes: number
  readonly tiers: readonly TierFigures[]
}

/** Changes come at their rate; whoever watches is given a second more for the last of them. */
async function measure(tiers: Tiers, scale: Scale): Promise<Figures> {
  const before = await cpusOf(tiers)
  const { perSecond, ms, pods } = scale
  const counts = tiersOf(tiers).map(({ watchers }) =>
    watchers.child.ask<CountReport>({ type: 'count', name: 'tier', ms: ms + 1_000 }),
  )
  const order = { type: 'change', perSecond, ms, toldTo: 'all', pods }
  const { changes } = await tiers.source.child.ask<ChangeReport>(order)
  const seen = await Promise.all(
    tiersOf(tiers).map(async (tier, i) => withLate(tier, await counts[i]!, changes)),
  )
  const after = await cpusOf(tiers)
  return {
    changes,
    tiers: tiersOf(tiers).map(({ name }, i) => ({
      name,
      cpuSeconds: after[i]! - before[i]!,
      seen: seen[i]!,
    })),
  }
}

/** The count of a tier, with the events that a busy machine brings later. */
async function withLate(
  { watchers }: Tier,
  seen: CountReport,
  changes: number,
): Promise<CountReport> {
  let { events } = seen
  for (let i = 0; i < lateRoundsMax && events < changes * observers; i++) {
    const order = { type: 'count', name: 'tier', ms: 250 }
    events += (await watchers.child.ask<CountReport>(order)).events
  }
  return { ...seen, events }
}

/** The processor's time of each tier, by process. */
function cpusOf(tiers: Tiers): Promise<number[]> {
  return Promise.all(
    tiersOf(tiers).map(async ({ programs }) => {
      const seconds = await Promise.all(
        programs.filter(isAlive).map(program => program.cpuSeconds()),
      )
      return seconds.reduce((sum, each) => sum + each, 0) / programs.length
    }),
  )
}

function isAlive(program: Program): boolean {
  return program.process.exitCode === null && program.process.signalCode === null
}

interface ReadFigures {
  readonly name: TierName
  readonly p50Ms: number
  readonly p99Ms: number
}

/** One consistent get after the other on each of a few connections. */
async function readAll(tiers: Tiers, reads: number): Promise<readonly ReadFigures[]> {
  const figures: ReadFigures[] = []
  for (const { name, programs } of tiersOf(tiers)) {
    const took: number[] = []
    const loop = async (): Promise<void> => {
      const client = await Http1Client.connect(programs[0]!.port)
      while (took.length < reads) {
        const startMs = performance.now()
        const { status } = await client.get('/api/v1/namespaces/bench-0/pods/pod-000000', {})
        if (status !== 200) throw new Error(`a get of the ${name} is answered with ${status}`)
        took.push(performance.now() - startMs)
      }
      client.close()
    }
    await Promise.all(Array.from({ length: 8 }, loop))
    figures.push({ name, p50Ms: percentile(took, 0.5), p99Ms: percentile(took, 0.99) })
  }
  return figures
}

interface KillFigures {
  readonly changes: number
  readonly delivered: CountReport
}

/** The relay of the first edge is killed while changes come. */
async function killRelay(tiers: Tiers, { perSecond, ms, pods }: Scale): Promise<KillFigures> {
  const { child } = tiers.edge.watchers
  const counting = child.ask<CountReport>({ type: 'count', name: 'tier', ms: ms + 2_000 })
  const order = { type: 'change', perSecond, ms, toldTo: 'all', pods }
  const changing = tiers.source.child.ask<ChangeReport>(order)
  await sleep(ms / 4)
  tiers.relay.programs[0]!.process.kill('SIGKILL')
  const { changes } = await changing
  return { changes, delivered: await withLate(tiers.edge, await counting, changes) }
}

function report(
  { changes, tiers }: Figures,
  reads: readonly ReadFigures[],
  killed: KillFigures,
): BenchResult {
  const rows = tiers.map(({ name, cpuSeconds, seen }, i) => [
    name,
    Math.round((cpuSeconds * 1e6) / changes),
    seen.lagP50Ms,
    seen.lagP99Ms,
    seen.events,
    reads[i]!.p50Ms.toFixed(1),
    reads[i]!.p99Ms.toFixed(1),
  ])
  const costs = ['tier', 'µs of the processor a change', 'lag p50 ms', 'lag p99 ms']
  const { delivered } = killed
  return {
    tables: [
      {
        title: 'A change in each tier, and a consistent get',
        columns: [...costs, 'events', 'get p50 ms', 'get p99 ms'],
        rows,
      },
      {
        title: 'A relay is killed: what the watchers of the edge behind it get',
        columns: ['changes', 'events', 'watches ended', 'latest ms'],
        rows: [[killed.changes, delivered.events, delivered.ended, delivered.lagMaxMs]],
      },
    ],
    floors: floorsOf({ changes, tiers }, killed),
    resultHash: createHash('sha256')
      .update(rows.map(([name]) => name).join())
      .digest('hex')
      .slice(0, 16),
  }
}

function floorsOf({ changes, tiers }: Figures, killed: KillFigures): Floor[] {
  const hops = tiers.length - 1
  const added = (tiers.at(-1)!.seen.lagP99Ms - tiers[0]!.seen.lagP99Ms) / hops
  const seen = Math.min(...tiers.map(({ seen: { events } }) => events))
  return [
    {
      name: 'p99 that a hop adds',
      value: added,
      bound: 'at most',
      limit: floors.hopP99Ms,
      unit: 'ms',
    },
    atLeastAll('delivered in each tier', seen, changes),
    atLeastAll('delivered though a relay was killed', killed.delivered.events, killed.changes),
  ]
}

function atLeastAll(name: string, events: number, changes: number): Floor {
  const value = events / (changes * observers)
  return { name, value, bound: 'at least', limit: floors.delivered, unit: 'of all' }
}
