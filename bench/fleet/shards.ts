/** A fleet that shares the work by shards (KEP-5866): its replicas list everything once together,
 *  and each event concerns one of them. What it costs the server should not depend on how many they
 *  are. */

import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type BenchTable,
  type Floor,
  median,
} from '../bench.ts'
import { Program } from '../list/processes.ts'
import { Connection, shardParameter, shardSelectors } from './requests.ts'

export const shardsBench: Bench = {
  name: 'shards',
  summary: 'lists and watches of fleets of 1 to 16 replicas, by shards, against one that has all',
  run,
}

interface Size {
  readonly pods: readonly number[]
  readonly fleets: readonly number[]
  readonly rounds: number
  readonly watchers: readonly number[]
  readonly churnPerSecond: number
  readonly watchMs: number
  readonly watchRounds: number
}

const sizes: Readonly<Record<BenchOptions['size'], Size>> = {
  small: {
    pods: [200],
    fleets: [16],
    rounds: 1,
    watchers: [1, 16],
    churnPerSecond: 50,
    watchMs: 100,
    watchRounds: 1,
  },
  full: {
    pods: [10_000, 100_000],
    fleets: [2, 4, 8, 16],
    rounds: 9,
    watchers: [1, 16, 256],
    churnPerSecond: 500,
    watchMs: 4_000,
    watchRounds: 5,
  },
}

const protobuf = 'application/vnd.kubernetes.protobuf'

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  const scale = sizes[size]
  const tables: BenchTable[] = []
  const floors: Floor[] = []
  const hash = createHash('sha256')
  for (const pods of scale.pods) {
    const lists = new Map<number, FleetLists>()
    for (const count of scale.fleets) {
      progress(`lists of ${pods} pods by ${count} replicas`)
      const program = await started(pods, 0)
      try {
        lists.set(count, await measureLists(program, count, scale.rounds))
        if (count === 16) hash.update(`${await itemsOf(program)}`)
      } finally {
        await program.stop()
      }
    }
    tables.push(listTable(pods, lists))
    floors.push(...listFloors(pods, lists.get(16)!))
  }
  progress('watches')
  const program = await started(scale.pods[0]!, scale.churnPerSecond)
  try {
    const watches = await measureWatches(program, scale)
    tables.push(watches.table)
    floors.push(...watches.floors)
  } finally {
    await program.stop()
  }
  return { tables, floors, resultHash: hash.digest('hex').slice(0, 16) }
}

function started(pods: number, churnPerSecond: number): Promise<Program> {
  const churn = churnPerSecond === 0 ? [] : [`--churn=${churnPerSecond}/s`]
  const generated = [`--generate=pods=${pods}`, ...churn]
  return Program.start(['--etcd=embedded', '--auth=none', '--serve-shards', ...generated])
}

interface FleetCost {
  readonly cpuMs: number
  readonly bytes: number
}

/** All replicas of a fleet list their shards, one after the other. */
async function costOf(program: Program, connection: Connection, count: number): Promise<FleetCost> {
  const paths = count === 1 ? ['/api/v1/pods'] : shardPaths('/api/v1/pods?', count)
  const before = await program.cpuSeconds()
  let bytes = 0
  for (const path of paths) bytes += await connection.bytesOf(path, protobuf)
  return { cpuMs: ((await program.cpuSeconds()) - before) * 1000, bytes }
}

function shardPaths(path: string, count: number): string[] {
  return shardSelectors(count).map(selector => `${path}${shardParameter(selector)}`)
}

/** Costs of a fleet’s lists, and of one replica’s in turns with them. */
interface FleetLists {
  readonly cpuMs: number
  readonly bytes: number
  readonly oneCpuMs: number
  readonly oneBytes: number
  /** The processor’s times of both, as the median of the rounds. */
  readonly ratio: number
}

/** The fleet and one replica take turns, so that a busy machine is busy for both. Each fleet has a
 *  program of its own: a cluster has fleets of one size, and encoded lists of all sizes together
 *  are more than the program keeps. */
async function measureLists(program: Program, count: number, rounds: number): Promise<FleetLists> {
  const connection = new Connection(program.port)
  const [ones, costs]: [FleetCost[], FleetCost[]] = [[], []]
  for (let round = 0; round <= rounds; round++) {
    const one = await costOf(program, connection, 1)
    const cost = await costOf(program, connection, count)
    if (round === 0) continue
    ones.push(one)
    costs.push(cost)
  }
  connection.close()
  const cpuOf = (all: readonly FleetCost[]): number => median(all.map(({ cpuMs }) => cpuMs))
  return {
    cpuMs: cpuOf(costs),
    bytes: costs[0]!.bytes,
    oneCpuMs: cpuOf(ones),
    oneBytes: ones[0]!.bytes,
    ratio: median(costs.map(({ cpuMs }, i) => cpuMs / ones[i]!.cpuMs)),
  }
}

function listTable(pods: number, lists: ReadonlyMap<number, FleetLists>): BenchTable {
  return {
    title: `Fleets that list ${pods} pods once, by shards, warm`,
    columns: ['replicas', 'ms of the processor', 'of one replica', 'ratio', 'bytes', 'of one'],
    rows: [...lists].map(([count, { cpuMs, oneCpuMs, ratio, bytes, oneBytes }]) => [
      count,
      cpuMs,
      oneCpuMs,
      ratio,
      bytes,
      oneBytes,
    ]),
  }
}

function listFloors(pods: number, { ratio, bytes, oneBytes }: FleetLists): Floor[] {
  const name = `16 shards of ${pods} pods against one list`
  return [
    { name: `${name}: processor`, value: ratio, bound: 'at most', limit: 1.25, unit: 'x' },
    { name: `${name}: bytes`, value: bytes / oneBytes, bound: 'at most', limit: 1.05, unit: 'x' },
  ]
}

/** Number of pods in four shards together. */
async function itemsOf(program: Program): Promise<number> {
  let items = 0
  for (const path of shardPaths('/api/v1/pods?', 4)) {
    const list = JSON.parse((await program.get(path, {})).toString()) as { items: unknown[] }
    items += list.items.length
  }
  return items
}

const fromNow =
  'watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&timeoutSeconds=3600'

interface WatchCost {
  readonly events: number
  readonly cpuSeconds: number
}

/** Cost of one event beyond what the changes themselves cost, which is measured in between with
 *  nobody watching. */
async function measureWatches(
  program: Program,
  { watchers, watchMs, watchRounds }: Size,
): Promise<{ table: BenchTable; floors: Floor[] }> {
  const costs = new Map<number, number[]>(watchers.map(count => [count, []]))
  const seen = new Map<number, number>()
  for (let round = 0; round <= watchRounds; round++) {
    for (const count of watchers) {
      const idle = await watched(program, 0, watchMs)
      const busy = await watched(program, count, watchMs)
      if (round === 0) continue
      const each = (busy.cpuSeconds - idle.cpuSeconds) / Math.max(1, busy.events)
      costs.get(count)!.push(each * 1_000_000)
      seen.set(count, (seen.get(count) ?? 0) + busy.events)
    }
  }
  const costOfOne = median(costs.get(watchers[0]!)!)
  return {
    table: {
      title: 'Watchers of one shard each, all of them together of everything',
      columns: ['watchers', 'events', 'microseconds of the processor an event', 'against one'],
      rows: watchers.map(count => {
        const cost = median(costs.get(count)!)
        return [count, seen.get(count) ?? 0, cost, cost / costOfOne]
      }),
    },
    floors: watchers.slice(1).map(count => ({
      name: `an event for ${count} watchers of a shard each, against one of all: processor`,
      value: median(costs.get(count)!) / costOfOne,
      bound: 'at most',
      limit: 1.3,
      unit: 'x',
    })),
  }
}

/** So many watch, each on a connection of its own, for some time. */
async function watched(program: Program, count: number, ms: number): Promise<WatchCost> {
  let events = 0
  const connections = Array.from({ length: count }, () => new Connection(program.port))
  const paths =
    count === 1 ? [`/api/v1/pods?${fromNow}`] : shardPaths(`/api/v1/pods?${fromNow}&`, count)
  await Promise.all(
    connections.map((connection, i) =>
      connection.watch(paths[i]!, more => {
        events += more
      }),
    ),
  )
  await sleep(ms / 4)
  const [eventsBefore, cpuBefore] = [events, await program.cpuSeconds()]
  await sleep(ms)
  const cost = {
    events: events - eventsBefore,
    cpuSeconds: (await program.cpuSeconds()) - cpuBefore,
  }
  for (const connection of connections) connection.close()
  return cost
}
