/** A fleet that shares the work by shards (KEP-5866): its replicas list everything once together,
 *  and each event concerns one of them. What it costs the server should not depend on how many they
 *  are. */

import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type BenchTable,
  type Floor,
  median,
} from '../bench.ts'
import { Ceiling, Program } from '../list/processes.ts'
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
    watchers: [16],
    churnPerSecond: 50,
    watchMs: 100,
    watchRounds: 1,
  },
  full: {
    pods: [10_000, 100_000],
    fleets: [2, 4, 8, 16],
    rounds: 9,
    watchers: [16, 256],
    churnPerSecond: 500,
    watchMs: 3_000,
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
  for (const count of scale.watchers) {
    progress(`${count} watchers`)
    const program = await started(scale.pods[0]!, scale.churnPerSecond, count)
    try {
      const watches = await measureWatches(program, count, scale)
      tables.push(watches.table)
      floors.push(...watches.floors)
    } finally {
      await program.stop()
    }
  }
  return { tables, floors, resultHash: hash.digest('hex').slice(0, 16) }
}

function started(pods: number, churnPerSecond: number, namespaces?: number): Promise<Program> {
  const churn = churnPerSecond === 0 ? [] : [`--churn=${churnPerSecond}/s`]
  const among = namespaces === undefined ? '' : `,namespaces=${namespaces}`
  const generated = [`--generate=pods=${pods}${among}`, ...churn]
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

/** Watchers that together get each event once, and the connections that they share. */
interface Watchers {
  readonly name: string
  readonly paths: readonly string[]
  readonly connections: number
}

/** Processes behind a proxy share connections to it. */
const sharedConnections = 4

/** Watchers of namespaces get what watchers of shards get, one write for each event, and nothing
 *  looks at shards: they tell the cost of shards from that of connections. A single watcher is
 *  sent the events of a turn together, in one write. */
async function watchersOf(
  program: Program,
  count: number,
): Promise<Record<'one' | 'shards' | 'shared' | 'namespaces', Watchers>> {
  const all = `/api/v1/pods?${fromNow}`
  const shards = shardPaths(`${all}&`, count)
  const list = JSON.parse((await program.get('/api/v1/namespaces', {})).toString()) as {
    items: { metadata: { name: string } }[]
  }
  const namespaces = list.items.map(
    ({ metadata }) => `/api/v1/namespaces/${metadata.name}/pods?${fromNow}`,
  )
  return {
    one: { name: 'one of everything', paths: [all], connections: 1 },
    shards: { name: `${count} of a shard each`, paths: shards, connections: count },
    shared: { name: 'the same', paths: shards, connections: sharedConnections },
    namespaces: {
      name: `${namespaces.length} of a namespace each`,
      paths: namespaces,
      connections: namespaces.length,
    },
  }
}

interface WatchCost {
  readonly events: number
  readonly cpuSeconds: number
}

/** Cost of one event beyond what the changes themselves cost, which is measured in between with
 *  nobody watching. */
async function measureWatches(
  program: Program,
  count: number,
  { watchMs, watchRounds, churnPerSecond }: Size,
): Promise<{ table: BenchTable; floors: Floor[] }> {
  const watchers = await watchersOf(program, count)
  const measured = Object.values(watchers).map(one => ({
    ...one,
    costs: [] as number[],
    events: 0,
  }))
  const [pod] = (
    JSON.parse((await program.get('/api/v1/pods?limit=1', {})).toString()) as { items: object[] }
  ).items
  const bare = { name: 'a bare server, as many bytes', connections: count }
  const bareCosts: number[] = []
  let bareEvents = 0
  for (let round = 0; round <= watchRounds; round++) {
    const order = { count, perSecond: churnPerSecond, bytes: JSON.stringify(pod).length }
    const written = await writtenBare(order, watchMs)
    if (round > 0) {
      bareCosts.push((written.cpuSeconds / Math.max(1, written.events)) * 1_000_000)
      bareEvents += written.events
    }
    const idle = await watched(program, { name: '', paths: [], connections: 0 }, watchMs)
    for (const one of measured) {
      const busy = await watched(program, one, watchMs)
      if (round === 0) continue
      const each = (busy.cpuSeconds - idle.cpuSeconds) / Math.max(1, busy.events)
      one.costs.push(each * 1_000_000)
      one.events += busy.events
    }
  }
  const [one = 0, shards = 0, , namespaces = 0] = measured.map(({ costs }) => median(costs))
  return {
    table: {
      title: `Watchers who together get each event once: ${count} shards against others`,
      columns: ['watchers', 'connections', 'events', 'µs of the processor an event', 'against one'],
      rows: [...measured, { ...bare, events: bareEvents, costs: bareCosts }].map(
        ({ name, connections, events, costs }) => [
          name,
          connections,
          events,
          median(costs),
          median(costs) / one,
        ],
      ),
    },
    floors: [
      {
        name: `an event for ${count} watchers of a shard each, against one of all: processor`,
        value: shards / one,
        bound: 'at most',
        limit: 1.3,
        unit: 'x',
      },
      {
        name: `an event for ${count} watchers of a shard each, against a namespace each: processor`,
        value: shards / namespaces,
        bound: 'at most',
        limit: 1.3,
        unit: 'x',
      },
    ],
  }
}

/** All watch for some time. */
async function watched(
  program: Program,
  { paths, connections: count }: Watchers,
  ms: number,
): Promise<WatchCost> {
  let events = 0
  const connections = Array.from({ length: count }, () => new Connection(program.port))
  await Promise.all(
    paths.map((path, i) =>
      connections[i % count]!.watch(path, more => {
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

interface BareOrder {
  readonly count: number
  readonly perSecond: number
  readonly bytes: number
}

/** A bare server writes as many bytes to as many connections, a write for each event: the control
 *  for what watchers on a connection each cost. */
async function writtenBare({ count, perSecond, bytes }: BareOrder, ms: number): Promise<WatchCost> {
  const file = new URL('bare-writes.js', import.meta.url)
  const server = await Ceiling.start(file, [String(perSecond), String(bytes)])
  let got = 0
  const sockets = Array.from({ length: count }, () =>
    connect({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false }),
  )
  try {
    for (const socket of sockets) {
      socket.on('data', piece => {
        got += piece.length
      })
    }
    await Promise.all(sockets.map(socket => once(socket, 'secureConnect')))
    await sleep(ms / 4)
    const [gotBefore, cpuBefore] = [got, await server.cpuSeconds()]
    await sleep(ms)
    const cpuSeconds = (await server.cpuSeconds()) - cpuBefore
    return { events: Math.round((got - gotBefore) / bytes), cpuSeconds }
  } finally {
    for (const socket of sockets) socket.destroy()
    await server.stop()
  }
}
