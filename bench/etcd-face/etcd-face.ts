/** etcd's own API out of the mirror, side by side with etcd itself and with `etcd grpc-proxy`:
 *  eight clients list everything in pages, and in parts where a server has them (etcd 3.7, named
 *  by ETCD_BIN), then watch everything while it changes, as API servers do when they start. Each
 *  side has an etcd of its own with the same contents, and what comes between two of them is the
 *  machine's own. So the sides are written to in turns, and a round says how late 1 % of its
 *  events were: the middle one of the rounds is compared, because a pause of the machine hits some
 *  of them. What a program spends on its first events is shown apart: that of ours is compiled
 *  meanwhile, and the others' were before. */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { keyFromText } from '../../lib/base/keys.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { startEtcd, type Teardown } from '../../test/support/etcd/etcd-cluster.ts'
import { findEtcd, type Program } from '../../test/support/etcd/real-etcd.ts'
import { type Bench, type BenchOptions, type BenchResult, median, percentile } from '../bench.ts'
import { ProcessUsage } from '../proxy/process-usage.ts'
import type { ClientsOrder, ClientsReport, ClientsTask, ListForm } from './clients.ts'
import { type Front, type FrontProgram, fronts, startFront } from './front.ts'

interface Sizes {
  readonly objects: number
  readonly pageEntries: number
  readonly clients: number
  /** Rounds before those that count. */
  readonly firstRounds: number
  readonly rounds: number
  readonly roundWrites: number
  readonly writesPerSecond: number
  /** Between two parts of a measurement. */
  readonly settleMs: number
}

const sizes: Readonly<Record<BenchOptions['size'], Sizes>> = {
  small: {
    objects: 2000,
    pageEntries: 500,
    clients: 2,
    firstRounds: 1,
    rounds: 2,
    roundWrites: 50,
    writesPerSecond: 200,
    settleMs: 20,
  },
  full: {
    objects: 100_000,
    pageEntries: 10_000,
    clients: 8,
    firstRounds: 10,
    rounds: 5,
    roundWrites: 400,
    writesPerSecond: 500,
    settleMs: 300,
  },
}

const prefix = '/registry/'
const valueBytes = 1024
const loadedAtOnce = 100

const listForms: readonly ListForm[] = ['pages', 'parts']

/** So long events are waited for. */
const toldMaxMs = 10_000

export const etcdFaceBench: Bench = {
  name: 'etcd-face',
  summary: 'eight clients of etcd list and watch everything: etcd, etcd grpc-proxy, and Watchglass',
  run: runEtcdFace,
}

export async function runEtcdFace(options: BenchOptions): Promise<BenchResult> {
  const etcd = await findEtcd('3.5')
  if (etcd.skip !== false) throw new Error(etcd.skip)
  const size = sizes[options.size]
  const tasks: (() => Promise<void> | void)[] = []
  const scope = { teardown: (task: () => Promise<void>) => void tasks.push(task) }
  const sides: Side[] = []
  try {
    for (const front of fronts) {
      options.progress(`etcd-face: ${front} lists`)
      const side = await Side.start(scope, { front, etcd, size })
      sides.push(side)
      if (front === 'etcd') await side.writeUnwatched()
      for (const form of listForms) await side.list(form)
      await side.watch()
    }
    for (let round = 1; round <= size.firstRounds; round++) {
      options.progress(`etcd-face: round ${round} of watching, which does not count`)
      for (const side of sides) await side.firstRound()
    }
    for (let round = 1; round <= size.rounds; round++) {
      options.progress(`etcd-face: round ${round} of watching`)
      for (const side of sides) await side.watchRound()
    }
  } finally {
    for (const task of tasks.toReversed()) await task()
  }
  return resultOf(sides, size)
}

function resultOf(sides: readonly Side[], size: Sizes): BenchResult {
  const [bare, proxy, ours] = sides as [Side, Side, Side]
  const entries = size.objects * size.clients
  const events = size.rounds * size.roundWrites * size.clients
  for (const side of sides) {
    const { front, lagsMs, lists } = side
    const seen = listForms.map(form => lists[form].entries)
    if (seen.every(count => count === entries) && lagsMs.length === events) continue
    const told = lagsMs.length
    throw new Error(`${front}: ${seen.join()} of ${entries} entries, ${told} of ${events} events`)
  }
  return {
    tables: [tableOf(sides, size)],
    floors: [
      {
        name: "etcd's processor time, of that without us",
        value: ours.etcdSeconds / bare.etcdSeconds,
        bound: 'at most',
        limit: 0.25,
        unit: '',
      },
      {
        name: 'the same, less what the writes take that nobody watches',
        value:
          (ours.etcdSeconds - bare.unwatchedSeconds) / (bare.etcdSeconds - bare.unwatchedSeconds),
        bound: 'at most',
        limit: 0.2,
        unit: '',
      },
      ...listForms.map(form => ({
        name: `entries for each processor second, ${form}, of those of grpc-proxy`,
        value: proxy.lists[form].cost.front / ours.lists[form].cost.front,
        bound: 'at least' as const,
        limit: 1,
        unit: '',
      })),
      {
        name: 'events for each processor second after the first ones, of those of grpc-proxy',
        value: proxy.watchCost.front / ours.watchCost.front,
        bound: 'at least',
        limit: 1,
        unit: '',
      },
      {
        name: 'lag p99 of a round above that of etcd itself',
        value: median(ours.roundsP99Ms) - median(bare.roundsP99Ms),
        bound: 'at most',
        limit: 5,
        unit: 'ms',
      },
    ],
    resultHash: `${entries}`,
  }
}

/** Seconds of the processor. */
interface Cost {
  readonly etcd: number
  readonly front: number
}

/** The lists of all clients in one form. */
interface Lists {
  readonly entries: number
  readonly seconds: number
  readonly cost: Cost
  /** The form in which the server has answered. */
  readonly answeredIn: ListForm
}

const noLists: Lists = {
  entries: 0,
  seconds: 0,
  cost: { etcd: 0, front: 0 },
  answeredIn: 'pages',
}

interface SideParts {
  readonly front: Front
  readonly size: Sizes
  readonly client: GrpcClient
  readonly program: FrontProgram
  readonly clients: ChildProcess
  readonly etcdUsage: ProcessUsage
}

/** An etcd with what stands before it, and its clients. */
class Side {
  readonly #parts: SideParts
  readonly lagsMs: number[] = []
  readonly roundsP99Ms: number[] = []
  readonly lists: Record<ListForm, Lists> = { pages: noLists, parts: noLists }
  watchCost: Cost = { etcd: 0, front: 0 }
  /** The same of the rounds before, and their events. */
  firstCost: Cost = { etcd: 0, front: 0 }
  firstEvents = 0
  /** The processor time of as many writes while nobody watches. */
  unwatchedSeconds = 0
  #written = 0

  private constructor(parts: SideParts) {
    this.#parts = parts
  }

  static async start(
    scope: Teardown,
    { front, etcd, size }: { front: Front; etcd: Program; size: Sizes },
  ): Promise<Side> {
    const cluster = await startEtcd(scope, etcd)
    const [endpoint] = cluster.endpoints as [string]
    const client = new GrpcClient({ endpoints: [endpoint] })
    scope.teardown(() => client.close())
    await load(client, size)
    const etcdUsage = new ProcessUsage({ pid: cluster.members[0]!.processId }, 0)
    const program = await startFront(front, etcd, endpoint)
    scope.teardown(() => program.stop())
    const clients = fork(fileURLToPath(new URL('./clients.js', import.meta.url)))
    scope.teardown(async () => void clients.kill())
    const { clients: count, pageEntries } = size
    const order: ClientsOrder = { address: program.address, clients: count, prefix, pageEntries }
    clients.send(order)
    return new Side({ front, size, client, program, clients, etcdUsage })
  }

  get front(): Front {
    return this.#parts.front
  }

  /** Processor time of etcd for everything that the clients have made of it, and for the writes. */
  get etcdSeconds(): number {
    const lists = listForms.reduce((sum, form) => sum + this.lists[form].cost.etcd, 0)
    return lists + this.watchCost.etcd
  }

  /** The cost of all rounds' writes by themselves: no cache in front of etcd can take that away. */
  async writeUnwatched(): Promise<void> {
    const { client, size } = this.#parts
    const before = await this.#cost()
    for (let round = 0; round < size.rounds; round++) {
      await write(client, size, this.#written)
      this.#written += size.roundWrites
    }
    this.unwatchedSeconds = differenceOf(await this.#cost(), before).etcd
  }

  /** All clients list everything. */
  async list(form: ListForm): Promise<void> {
    const before = await this.#cost()
    const startMs = performance.now()
    const { entries, form: answeredIn } = await this.#ask(form, 'listed')
    const seconds = (performance.now() - startMs) / 1000
    const cost = differenceOf(await this.#cost(), before)
    this.lists[form] = { entries, seconds, cost, answeredIn }
    await sleep(this.#parts.size.settleMs)
  }

  /** All clients watch from what they have listed. */
  async watch(): Promise<void> {
    await this.#ask('watch', 'watching')
    await sleep(this.#parts.size.settleMs)
  }

  /** A round of a program that has just started. V8 compiles what runs often while it runs, in
   *  threads of its own, for some 20,000 events: once in the life of a process. */
  async firstRound(): Promise<void> {
    const { cost, lagsMs } = await this.#round()
    this.firstCost = sumOf(this.firstCost, cost)
    this.firstEvents += lagsMs.length
  }

  /** A round that counts. */
  async watchRound(): Promise<void> {
    const { cost, lagsMs } = await this.#round()
    this.watchCost = sumOf(this.watchCost, cost)
    this.roundsP99Ms.push(percentile(lagsMs, 0.99))
    this.lagsMs.push(...lagsMs)
  }

  /** Writes at an even rate, and notes how late each client was told. */
  async #round(): Promise<{ readonly cost: Cost; readonly lagsMs: readonly number[] }> {
    const { client, size } = this.#parts
    const before = await this.#cost()
    await write(client, size, this.#written)
    this.#written += size.roundWrites
    const lagsMs = await this.#told(size.roundWrites * size.clients)
    return { cost: differenceOf(await this.#cost(), before), lagsMs }
  }

  /** Waits until all events have come; says how late each was. */
  async #told(events: number): Promise<readonly number[]> {
    const told: number[] = []
    for (const deadlineMs = performance.now() + toldMaxMs; told.length < events;) {
      await sleep(this.#parts.size.settleMs)
      const { lagsMs } = await this.#ask('report', 'watched')
      told.push(...lagsMs)
      if (performance.now() > deadlineMs) break
    }
    return told
  }

  async #cost(): Promise<Cost> {
    const { etcdUsage, program } = this.#parts
    return { etcd: await etcdUsage.cpuSeconds(), front: await program.cpuSeconds() }
  }

  async #ask<Type extends ClientsReport['type']>(
    message: ClientsTask,
    type: Type,
  ): Promise<Extract<ClientsReport, { type: Type }>> {
    const { clients } = this.#parts
    clients.send(message)
    const [report] = (await once(clients, 'message')) as [ClientsReport]
    if (report.type !== type) throw new Error(`the clients have ${report.type}, not ${type}`)
    return report as Extract<ClientsReport, { type: Type }>
  }
}

function sumOf(some: Cost, other: Cost): Cost {
  return { etcd: some.etcd + other.etcd, front: some.front + other.front }
}

function differenceOf(after: Cost, before: Cost): Cost {
  return { etcd: after.etcd - before.etcd, front: after.front - before.front }
}

function sleep(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}

function keyOf(i: number): string {
  return `${prefix}pods/namespace-${i % 50}/pod-${String(i).padStart(7, '0')}`
}

async function load(client: GrpcClient, { objects }: Sizes): Promise<void> {
  const value = Buffer.alloc(valueBytes, 120)
  for (let i = 0; i < objects; i += loadedAtOnce) {
    const success = Array.from({ length: Math.min(loadedAtOnce, objects - i) }, (_, j) => {
      return { type: 'put' as const, key: keyFromText(keyOf(i + j)), value }
    })
    await client.txn({ compares: [], success, failure: [] })
  }
}

/** Writes at an even rate; each value begins with the time at which it was sent. */
async function write(
  client: GrpcClient,
  { objects, roundWrites, writesPerSecond }: Sizes,
  written: number,
): Promise<void> {
  const startMs = performance.now()
  const under: Promise<unknown>[] = []
  for (let i = 0; i < roundWrites; i++) {
    const waitMs = startMs + (i * 1000) / writesPerSecond - performance.now()
    if (waitMs > 0) await sleep(waitMs)
    const value = Buffer.alloc(valueBytes, 121)
    value.writeDoubleBE(performance.timeOrigin + performance.now(), 0)
    const key = keyFromText(keyOf(((written + i) * 7919) % objects))
    under.push(client.txn({ compares: [], success: [{ type: 'put', key, value }], failure: [] }))
  }
  await Promise.all(under)
}

function tableOf(sides: readonly Side[], size: Sizes): BenchResult['tables'][number] {
  const row = (name: string, figure: (side: Side) => number | string): (string | number)[] => [
    name,
    ...sides.map(figure),
  ]
  const firstEvents = size.firstRounds * size.roundWrites * size.clients
  const each = (count: number, seconds: number): number | string =>
    seconds === 0 ? '-' : Math.round(count / seconds)
  return {
    title: `${size.clients} clients list ${size.objects.toLocaleString('en-US')} objects, then watch ${size.writesPerSecond} writes/s`,
    columns: ['', ...sides.map(({ front }) => front)],
    rows: [
      ...listForms.map(form =>
        row(
          `etcd's processor time for the lists in ${form}, s`,
          ({ lists }) => lists[form].cost.etcd,
        ),
      ),
      row('for writes and watches, s', ({ watchCost }) => watchCost.etcd),
      row('for as many writes that nobody watches, s', ({ unwatchedSeconds }) =>
        unwatchedSeconds === 0 ? '-' : unwatchedSeconds,
      ),
      ...listForms.map(form =>
        row(
          `processor time of what stands before it, for the lists in ${form}, s`,
          ({ lists }) => lists[form].cost.front,
        ),
      ),
      row('for the watches, s', ({ watchCost }) => watchCost.front),
      ...listForms.map(form =>
        row(`until all have listed in ${form}, s`, ({ lists }) => lists[form].seconds),
      ),
      row('parts were asked for, and answered were', ({ lists }) => lists.parts.answeredIn),
      ...listForms.map(form =>
        row(`entries for each processor second, ${form}`, ({ lists }) =>
          each(lists[form].entries, lists[form].cost.front),
        ),
      ),
      row(`events for each processor second, the first ${firstEvents}`, one =>
        each(one.firstEvents, one.firstCost.front),
      ),
      row('those after them', one => each(one.lagsMs.length, one.watchCost.front)),
      row('events', ({ lagsMs }) => lagsMs.length),
      row('lag p50, ms', ({ lagsMs }) => percentile(lagsMs, 0.5)),
      row('lag p99 of the middle round, ms', ({ roundsP99Ms }) => median(roundsP99Ms)),
      row('lag p99 of all rounds, ms', ({ lagsMs }) => percentile(lagsMs, 0.99)),
      row('longest lag, ms', ({ lagsMs }) => percentile(lagsMs, 1)),
    ],
  }
}
