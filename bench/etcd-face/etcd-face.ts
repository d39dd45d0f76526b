/** etcd's own API out of the mirror, side by side with etcd itself and with `etcd grpc-proxy`: eight clients list everything in pages, then
 *  watch everything while it changes, as API servers do when they start. Each side has an etcd of its own with the same contents. */

import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { keyFromText } from '../../lib/base/keys.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { startEtcd } from '../../test/support/etcd/etcd-cluster.ts'
import { findEtcd, type Program } from '../../test/support/etcd/real-etcd.ts'
import { type Bench, type BenchOptions, type BenchResult, percentile } from '../bench.ts'
import { ProcessUsage } from '../proxy/process-usage.ts'
import type { ClientsOrder, ClientsReport } from './clients.ts'

interface Sizes {
  readonly objects: number
  readonly pageEntries: number
  readonly clients: number
  readonly seconds: number
  readonly writesPerSecond: number
}

const sizes: Readonly<Record<BenchOptions['size'], Sizes>> = {
  small: { objects: 2000, pageEntries: 500, clients: 2, seconds: 1, writesPerSecond: 100 },
  full: { objects: 100_000, pageEntries: 10_000, clients: 8, seconds: 10, writesPerSecond: 500 },
}

const prefix = '/registry/'
const valueBytes = 1024
const loadedAtOnce = 100

/** What stands between the clients and etcd. */
type Front = 'etcd' | 'grpc-proxy' | 'watchglass'

/** What one side has cost. */
interface Costs {
  readonly front: Front
  readonly listSeconds: number
  readonly etcdSeconds: number
  readonly frontSeconds: number
  readonly frontListSeconds: number
  readonly frontWatchSeconds: number
  readonly entries: number
  readonly bytes: number
  readonly events: number
  readonly lagP50Ms: number
  readonly lagP99Ms: number
}

export const etcdFaceBench: Bench = {
  name: 'etcd-face',
  summary: 'eight clients of etcd list and watch everything: etcd, etcd grpc-proxy, and Watchglass',
  run: runEtcdFace,
}

export async function runEtcdFace(options: BenchOptions): Promise<BenchResult> {
  const etcd = await findEtcd('3.5')
  if (etcd.skip !== false) throw new Error(etcd.skip)
  const size = sizes[options.size]
  const sides: Costs[] = []
  for (const front of ['etcd', 'grpc-proxy', 'watchglass'] as const) {
    options.progress(`etcd-face: ${front}`)
    sides.push(await measureSide(front, etcd, size))
  }
  const [bare, , ours] = sides as [Costs, Costs, Costs]
  const wanted = size.objects * size.clients
  for (const { front, entries } of sides) {
    if (entries !== wanted) throw new Error(`${front}: ${entries} entries instead of ${wanted}`)
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
        name: 'lag p99 above that of etcd itself',
        value: ours.lagP99Ms - bare.lagP99Ms,
        bound: 'at most',
        limit: 5,
        unit: 'ms',
      },
    ],
    resultHash: `${wanted}`,
  }
}

async function measureSide(front: Front, etcd: Program, size: Sizes): Promise<Costs> {
  const tasks: (() => Promise<void> | void)[] = []
  try {
    const scope = { teardown: (task: () => Promise<void>) => void tasks.push(task) }
    const cluster = await startEtcd(scope, etcd)
    const [endpoint] = cluster.endpoints as [string]
    const client = new GrpcClient({ endpoints: [endpoint] })
    tasks.push(() => client.close())
    await load(client, size)
    const etcdUsage = new ProcessUsage({ pid: cluster.members[0]!.processId }, 0)
    const program = await startFront(front, etcd, endpoint)
    tasks.push(() => program.stop())
    const clients = fork(fileURLToPath(new URL('./clients.js', import.meta.url)))
    tasks.push(() => void clients.kill())
    return await measure({ front, size, client, program, clients, etcdUsage })
  } finally {
    for (const task of tasks.toReversed()) await task()
  }
}

interface Side {
  readonly front: Front
  readonly size: Sizes
  readonly client: GrpcClient
  readonly program: FrontProgram
  readonly clients: ChildProcess
  readonly etcdUsage: ProcessUsage
}

async function measure(side: Side): Promise<Costs> {
  const { front, size, client, program, clients, etcdUsage } = side
  const order: ClientsOrder = {
    address: program.address,
    clients: size.clients,
    prefix,
    pageEntries: size.pageEntries,
  }
  const [etcdBefore, frontBefore] = [await etcdUsage.cpuSeconds(), await program.cpuSeconds()]
  const startMs = performance.now()
  const listed = await ask(clients, order, 'listed')
  const listSeconds = (performance.now() - startMs) / 1000
  const frontListed = await program.cpuSeconds()
  clients.send('watch')
  await new Promise(resolve => setTimeout(resolve, 300))
  await write(client, size)
  await new Promise(resolve => setTimeout(resolve, 500))
  const [etcdAfter, frontAfter] = [await etcdUsage.cpuSeconds(), await program.cpuSeconds()]
  const watched = await ask(clients, 'stop', 'watched')
  return {
    front,
    listSeconds,
    etcdSeconds: etcdAfter - etcdBefore,
    frontSeconds: frontAfter - frontBefore,
    frontListSeconds: frontListed - frontBefore,
    frontWatchSeconds: frontAfter - frontListed,
    entries: listed.entries,
    bytes: listed.bytes,
    events: watched.events,
    lagP50Ms: percentile(watched.lagsMs, 0.5),
    lagP99Ms: percentile(watched.lagsMs, 0.99),
  }
}

async function ask<Type extends ClientsReport['type']>(
  clients: ChildProcess,
  message: ClientsOrder | 'stop',
  type: Type,
): Promise<Extract<ClientsReport, { type: Type }>> {
  clients.send(message)
  const [report] = (await once(clients, 'message')) as [ClientsReport]
  if (report.type !== type) throw new Error(`the clients have ${report.type} instead of ${type}`)
  return report as Extract<ClientsReport, { type: Type }>
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
async function write(client: GrpcClient, { objects, seconds, writesPerSecond }: Sizes) {
  const startMs = performance.now()
  const under: Promise<unknown>[] = []
  for (let i = 0; i < seconds * writesPerSecond; i++) {
    const dueMs = startMs + (i * 1000) / writesPerSecond
    const waitMs = dueMs - performance.now()
    if (waitMs > 0) await new Promise(resolve => setTimeout(resolve, waitMs))
    const value = Buffer.alloc(valueBytes, 121)
    value.writeDoubleBE(performance.timeOrigin + performance.now(), 0)
    const put = { type: 'put' as const, key: keyFromText(keyOf((i * 7919) % objects)), value }
    under.push(client.txn({ compares: [], success: [put], failure: [] }))
  }
  await Promise.all(under)
}

interface FrontProgram {
  readonly address: string
  cpuSeconds(): Promise<number>
  stop(): Promise<void>
}

async function startFront(front: Front, etcd: Program, endpoint: string): Promise<FrontProgram> {
  if (front === 'etcd') {
    return {
      address: endpoint.replace('http://', ''),
      cpuSeconds: () => Promise.resolve(0),
      stop: () => Promise.resolve(),
    }
  }
  const address = `127.0.0.1:${await freePort()}`
  const child =
    front === 'grpc-proxy'
      ? spawn(
          etcd.binary,
          ['grpc-proxy', 'start', `--endpoints=${endpoint}`, `--listen-addr=${address}`],
          { stdio: ['ignore', 'ignore', 'pipe'] },
        )
      : spawn(process.execPath, watchglassArgs(endpoint, address), {
          stdio: ['ignore', 'ignore', 'pipe'],
        })
  const isReady = front === 'grpc-proxy' ? /listening for gRPC proxy|started gRPC proxy/ : /"ready"/
  for await (const line of createInterface({ input: child.stderr! })) if (isReady.test(line)) break
  child.stderr?.resume()
  const usage = new ProcessUsage(child, 0)
  return {
    address,
    cpuSeconds: () => usage.cpuSeconds(),
    async stop() {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}

function watchglassArgs(endpoint: string, address: string): string[] {
  const args = ['serve', '--listen=none', `--etcd=${endpoint}`, `--etcd-listen=${address}`]
  return ['dist/lib/cli.js', ...args]
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}

function tableOf(sides: readonly Costs[], size: Sizes): BenchResult['tables'][number] {
  const columns = ['', ...sides.map(({ front }) => front)]
  const row = (name: string, figure: (costs: Costs) => number | string): (string | number)[] => [
    name,
    ...sides.map(figure),
  ]
  const each = (count: number, seconds: number): number | string =>
    seconds === 0 ? '-' : Math.round(count / seconds)
  return {
    title: `${size.clients} clients list ${size.objects.toLocaleString('en-US')} objects, then watch ${size.writesPerSecond} writes/s`,
    columns,
    rows: [
      row("etcd's processor time, s", one => one.etcdSeconds),
      row('processor time of what stands before it, s', one => one.frontSeconds),
      row('until all have listed, s', one => one.listSeconds),
      row('entries for each processor second', one => each(one.entries, one.frontListSeconds)),
      row('events for each processor second', one => each(one.events, one.frontWatchSeconds)),
      row('events', one => one.events),
      row('lag p50, ms', one => one.lagP50Ms),
      row('lag p99, ms', one => one.lagP99Ms),
    ],
  }
}
