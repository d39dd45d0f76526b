/** Many clusters in one process (`serve --clusters`): memory of each idle and awake, the first read
 *  of one that is idle, what the process takes at rest, and reads of one of many beside the same
 *  reads of a server for that cluster alone. All are below prefixes of one etcd of ours, or, with
 *  the word `real`, of several real ones. */

import type { ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { findEtcd } from '../../test/support/etcd/real-etcd.ts'
import { freePort } from '../../test/support/program/ports.ts'
import {
  atMost,
  type Bench,
  type BenchOptions,
  type BenchResult,
  median,
  percentile,
} from '../bench.ts'
import { Http1Client } from '../list/http1-client.ts'
import { Program } from '../list/processes.ts'
import { memoryOf } from '../million/subject.ts'
import { fillClusters, nameOf, readAtLast, startOwnEtcd, startRealEtcd } from './etcds.ts'
import { loadOf } from './load.ts'

export const clustersBench: Bench = {
  name: 'clusters',
  summary: 'many clusters in one process: memory idle and awake, first reads, reads of one of them',
  run,
}

interface Size {
  readonly clusters: number
  readonly objects: number
  /** First reads that are timed, of idle clusters one after the other. */
  readonly firstReads: number
  /** Rounds of reads of one cluster in the fleet and alone, in turns. */
  readonly rounds: number
  readonly getsPerRound: number
  readonly listsPerRound: number
  readonly restMs: number
  /** Seconds: all reads are done by then. */
  readonly idleAfter: number
}

const sizes: Readonly<Record<BenchOptions['size'], Size>> = {
  small: {
    clusters: 5,
    objects: 20,
    firstReads: 2,
    rounds: 2,
    getsPerRound: 5,
    listsPerRound: 2,
    restMs: 100,
    idleAfter: 5,
  },
  full: {
    clusters: 500,
    objects: 200,
    firstReads: 50,
    rounds: 20,
    getsPerRound: 300,
    listsPerRound: 40,
    restMs: 10_000,
    idleAfter: 300,
  },
}

/** With the word `real`: the clusters are spread over so many. */
const realEtcds = 3

/** kplane's figure for a virtual control plane at rest. */
const kplaneBytes = 2 * 1024 * 1024

const maps = '/api/v1/namespaces/default/configmaps'

interface Figures {
  readonly idleBytes: number
  readonly awakeBytes: number
  readonly aloneBytes: number
  readonly againBytes: number
  readonly firstMs: readonly number[]
  /** Processor seconds in a second, with all clusters idle, and awake. */
  readonly idleLoad: number
  readonly awakeLoad: number
  readonly gets: Pair
  readonly lists: Pair
}

/** Milliseconds of a read in the fleet and alone, in each round. */
interface Pair {
  readonly fleet: readonly number[]
  readonly alone: readonly number[]
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { size, progress } = options
  const plan = sizes[size]
  const folder = await mkdtemp(join(tmpdir(), 'watchglass-clusters-'))
  let etcds: Etcds | undefined
  try {
    progress('filling etcd')
    etcds = await startEtcds(plan, options, folder)
    const { endpointOf, kind } = etcds
    const file = join(folder, 'clusters.yaml')
    const entries = Array.from(
      { length: plan.clusters },
      (_, i) => `- {name: ${nameOf(i)}, etcd: '${endpointOf(i)}'}\n`,
    )
    await writeFile(file, `clusters:\n${entries.join('')}`)
    const figures = await measure(plan, endpointOf(0), { file, progress })
    return resultOf(plan, { ...figures, kind })
  } finally {
    etcds?.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

interface Etcds {
  /** The endpoint of each cluster's etcd. */
  readonly endpointOf: (i: number) => string
  readonly kind: string
  stop(): void
}

/** One of ours, or, with the word `real`, several real ones. */
async function startEtcds(plan: Size, { only = [] }: BenchOptions, folder: string): Promise<Etcds> {
  const isReal = only.includes('real')
  const ports = await Promise.all(Array.from({ length: isReal ? realEtcds : 1 }, () => freePort()))
  const binary = isReal ? await realBinary() : ''
  const started: ChildProcess[] = []
  for (const [i, port] of ports.entries()) {
    started.push(
      isReal ? await startRealEtcd(binary, port, join(folder, `etcd-${i}`)) : startOwnEtcd(port),
    )
  }
  const endpointOf = (i: number): string => `http://127.0.0.1:${ports[i % ports.length]}`
  for (const i of ports.keys()) {
    await fillClusters(endpointOf(i), { ...plan, isHere: one => one % ports.length === i })
  }
  return {
    endpointOf,
    kind: isReal ? `${realEtcds} real etcds` : 'one etcd of ours',
    stop: () => started.forEach(one => one.kill()),
  }
}

async function realBinary(): Promise<string> {
  const { binary, skip } = await findEtcd('3.5')
  if (skip !== false) throw new Error(skip)
  return binary
}

interface Place {
  readonly file: string
  readonly progress: (message: string) => void
}

async function measure(plan: Size, etcd: string, { file, progress }: Place): Promise<Figures> {
  const common = ['--admin-listen=none', '--auth=none', `--etcd=${etcd}`]
  progress('starting')
  const alone = await Program.start([
    '--auth=none',
    `--etcd=${etcd}`,
    `--prefix=/${nameOf(0)}`,
    '--read-only',
  ])
  const empty = await Program.start([
    ...common,
    '--prefix=/{cluster}',
    `--clusters=${await without(file)}`,
  ])
  const fleet = await Program.start([
    ...common,
    '--prefix=/{cluster}',
    '--read-only',
    `--clusters=${file}`,
    `--idle-after=${plan.idleAfter}`,
  ])
  try {
    const bytes = (program: Program): number => memoryOf(program.process.pid).now
    await sleep(plan.restMs / 4)
    const idleBytes = (bytes(fleet) - bytes(empty)) / plan.clusters
    const idleLoad = await loadOf(fleet, plan.restMs)
    progress('first reads')
    const client = await Http1Client.connect(fleet.port)
    const firstMs: number[] = []
    for (let i = 0; i < plan.clusters; i++) {
      const startMs = performance.now()
      await readAtLast(client, `/clusters/${nameOf(i)}${maps}`)
      // The first of all compiles the code of all.
      if (i > 0 && i <= plan.firstReads) firstMs.push(performance.now() - startMs)
    }
    await sleep(plan.restMs / 4)
    const awakeBytes = (bytes(fleet) - bytes(empty)) / plan.clusters
    progress('at rest')
    const awakeLoad = await loadOf(fleet, plan.restMs)
    progress('reads')
    const own = await Http1Client.connect(alone.port)
    const reads = await compare(plan, { fleet: client, alone: own })
    const aloneBytes = bytes(alone)
    own.close()
    client.close()
    progress('idle again')
    await sleep(plan.idleAfter * 1_000 + plan.restMs / 2)
    const againBytes = (bytes(fleet) - bytes(empty)) / plan.clusters
    return { idleBytes, awakeBytes, aloneBytes, againBytes, firstMs, idleLoad, awakeLoad, ...reads }
  } finally {
    await Promise.all([alone, empty, fleet].map(program => program.stop()))
  }
}

/** A file without clusters, beside that with all. */
async function without(file: string): Promise<string> {
  const path = `${file}.empty`
  await writeFile(path, 'clusters: []\n')
  return path
}

async function read(client: Http1Client, path: string): Promise<number> {
  const { status, bytes } = await client.get(path, {})
  if (status !== 200) throw new Error(`${path} is answered with ${status}`)
  return bytes
}

/** In turns, so that both meet the same machine. */
async function compare(
  plan: Size,
  clients: { readonly fleet: Http1Client; readonly alone: Http1Client },
): Promise<Pick<Figures, 'gets' | 'lists'>> {
  const prefix = `/clusters/${nameOf(0)}`
  const round = async (client: Http1Client, path: string, count: number): Promise<number> => {
    const times: number[] = []
    for (let i = 0; i < count; i++) {
      const startMs = performance.now()
      await read(client, path)
      times.push(performance.now() - startMs)
    }
    return median(times)
  }
  const gets = { fleet: [] as number[], alone: [] as number[] }
  const lists = { fleet: [] as number[], alone: [] as number[] }
  for (let i = 0; i < plan.rounds; i++) {
    const get = `${maps}/map-0007`
    gets.fleet.push(await round(clients.fleet, prefix + get, plan.getsPerRound))
    gets.alone.push(await round(clients.alone, get, plan.getsPerRound))
    lists.fleet.push(await round(clients.fleet, prefix + maps, plan.listsPerRound))
    lists.alone.push(await round(clients.alone, maps, plan.listsPerRound))
  }
  return { gets, lists }
}

const kibibytes = (bytes: number): number => Math.round(bytes / 1024)
const rounded = (ms: number): number => Math.round(ms * 1000) / 1000
/** The middle of the ratios of each round: a slow round concerns both. */
const ratioOf = ({ fleet, alone }: Pair): number =>
  median(fleet.map((ms, i) => ms / (alone[i] ?? Infinity)))

function resultOf(
  { clusters, objects }: Size,
  figures: Figures & { readonly kind: string },
): BenchResult {
  const { idleBytes, awakeBytes, aloneBytes, againBytes, firstMs, gets, lists } = figures
  return {
    tables: [
      {
        title: `${clusters} clusters of ${objects} objects in ${figures.kind}: memory a cluster`,
        columns: ['state', 'KiB'],
        rows: [
          ['idle, never asked for', kibibytes(idleBytes)],
          ['awake', kibibytes(awakeBytes)],
          ['idle again', kibibytes(againBytes)],
          ['a process of its own', kibibytes(aloneBytes)],
        ],
      },
      {
        title: 'time',
        columns: ['what', 'median', 'p99', 'unit'],
        rows: [
          [
            'first read of an idle cluster',
            rounded(median(firstMs)),
            rounded(percentile(firstMs, 0.99)),
            'ms',
          ],
          ['get in the fleet', rounded(median(gets.fleet)), rounded(Math.max(...gets.fleet)), 'ms'],
          ['get alone', rounded(median(gets.alone)), rounded(Math.max(...gets.alone)), 'ms'],
          [
            'list in the fleet',
            rounded(median(lists.fleet)),
            rounded(Math.max(...lists.fleet)),
            'ms',
          ],
          ['list alone', rounded(median(lists.alone)), rounded(Math.max(...lists.alone)), 'ms'],
          ['processor at rest, all idle', rounded(figures.idleLoad), '', 's/s'],
          ['processor at rest, all awake', rounded(figures.awakeLoad), '', 's/s'],
        ],
      },
    ],
    floors: [
      atMost('memory of an idle cluster', kibibytes(idleBytes), 16, 'KiB'),
      atMost('memory of an awake cluster', kibibytes(awakeBytes), kibibytes(kplaneBytes), 'KiB'),
      atMost('first read of an idle cluster', median(firstMs), 250, 'ms'),
      atMost('get in the fleet beside alone', ratioOf(gets), 1.1, 'times'),
      atMost('list in the fleet beside alone', ratioOf(lists), 1.1, 'times'),
      atMost('processor at rest, all awake', figures.awakeLoad, 0.5, 's/s'),
    ],
    resultHash: createHash('sha256').update(`${clusters} ${objects}`).digest('hex').slice(0, 16),
  }
}
