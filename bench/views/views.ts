/** Views beside what they replace: a page of rows beside the get of one object, and pages that are
 *  looked at beside watches of everything, whose clients sort and count for themselves. */

import { fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  atMost,
  type Bench,
  type BenchOptions,
  type BenchResult,
  type Floor,
  median,
  percentile,
} from '../bench.ts'
import { Http1Client } from '../list/http1-client.ts'
import { Program } from '../list/processes.ts'
import { Child } from '../watch/child.ts'
import type { PodChangeOrder, ViewersOrder, ViewersReport } from './orders.ts'

export const viewsBench: Bench = {
  name: 'views',
  summary:
    'pages of 100,000 pods sorted by age and restarts, counts by node, and 200 live pages under 500 changes a second',
  run,
}

const sizes = {
  small: { pods: 300, warmUp: 6, requests: 20, viewers: 4, perSecond: 100, ms: 300 },
  full: { pods: 100_000, warmUp: 5_000, requests: 2_000, viewers: 200, perSecond: 500, ms: 30_000 },
} as const

const questions = [
  { name: 'page 40 by age', path: '/views/api/v1/pods?sort=age&page=40', isPage: true },
  { name: 'page 1 by restarts', path: '/views/api/v1/pods?sort=-restarts', isPage: true },
  {
    name: 'page of those not running',
    path: '/views/api/v1/pods?where=status!%3DRunning&sort=-age',
    isPage: true,
  },
  { name: 'count by node', path: '/views/api/v1/pods?countBy=node', isPage: false },
]

/** Times that a get takes, and milliseconds; a live page costs a tenth of a watch at most. */
const floors = { getTimes: 2, p99Ms: 5, share: 0.1 }

/** In which everything is asked for; each is long enough for the clock of processor time. */
const turns = 10

const columns = ['age', '-age', '-restarts', 'status,name', 'node', '-node', 'name', '']

interface Stage {
  readonly size: (typeof sizes)[BenchOptions['size']]
  readonly program: Program
  readonly source: Child
  readonly viewers: Child
  readonly progress: BenchOptions['progress']
}

/** The times of requests for the same thing. */
interface Timed {
  readonly name: string
  readonly ms: readonly number[]
  readonly cpuMs: number
  readonly bytes: number
}

/** The processor time that streams cost beyond the changes, in a second. */
interface Streamed {
  readonly name: string
  readonly cpuMs: number
  readonly bytes: number
}

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  progress(`${sizes[size].pods} pods are made`)
  const source = new Child(fork(moduleOf('source'), [String(sizes[size].pods)]))
  const viewers = new Child(fork(moduleOf('viewers')))
  let program: Program | undefined
  try {
    await viewers.message()
    program = await Program.start([`--etcd=${String(await source.message())}`])
    await program.atRest()
    return await measured({ size: sizes[size], program, source, viewers, progress })
  } finally {
    await Promise.all([program?.stop(), source.stop(), viewers.stop()])
  }
}

function moduleOf(name: string): string {
  return fileURLToPath(new URL(`${name}.js`, import.meta.url))
}

async function measured(stage: Stage): Promise<BenchResult> {
  const { size, program } = stage
  const list = JSON.parse((await program.get('/api/v1/pods?limit=1', {})).toString()) as {
    readonly items: readonly { metadata: { namespace: string; name: string } }[]
  }
  const { namespace, name } = list.items[0]!.metadata
  const one = { name: 'get', path: `/api/v1/namespaces/${namespace}/pods/${name}` }
  const [get, ...asked] = (await timed(stage, [one, ...questions])) as [Timed, ...Timed[]]
  const hash = await digestOf(program)
  const rest = await streamed(stage, 'the changes alone', [])
  const live = await streamed(stage, 'live pages', livePaths(size.viewers))
  const all = Array<string>(size.viewers).fill(
    '/api/v1/pods?watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan',
  )
  const plain = await streamed(stage, 'watches of everything', all)
  return {
    tables: [
      {
        title: `${size.pods} pods, ${size.requests} requests each`,
        columns: ['request', 'p50 ms', 'p99 ms', 'processor ms', 'times a get', 'bytes'],
        rows: [get, ...asked].map(one => [
          one.name,
          median(one.ms).toFixed(2),
          percentile(one.ms, 0.99).toFixed(2),
          one.cpuMs.toFixed(3),
          (one.cpuMs / get.cpuMs).toFixed(2),
          one.bytes,
        ]),
      },
      {
        title: `${size.viewers} streams under ${size.perSecond} changes a second`,
        columns: ['streams', 'processor ms a second', 'beyond the changes', 'kB a second'],
        rows: [rest, live, plain].map(one => [
          one.name,
          one.cpuMs.toFixed(1),
          (one.cpuMs - rest.cpuMs).toFixed(1),
          (one.bytes / 1000).toFixed(1),
        ]),
      },
    ],
    floors: floorsOf(get, asked, (live.cpuMs - rest.cpuMs) / (plain.cpuMs - rest.cpuMs)),
    resultHash: hash,
  }
}

/** Asks for each thing until it is warm, and then for all of them in turns: so that what else the
 *  machine does meanwhile is felt by each. */
async function timed(
  { size, program, progress }: Stage,
  asked: readonly { readonly name: string; readonly path: string }[],
): Promise<Timed[]> {
  const client = await Http1Client.connect(program.port)
  const times = asked.map(({ name, path }) => ({
    name,
    path,
    ms: [] as number[],
    bytes: 0,
    cpuMs: 0,
  }))
  try {
    for (const { name, path } of times) {
      progress(name)
      for (let i = 0; i < size.warmUp; i++) await answered(client, path)
    }
    for (let turn = 0; turn < turns; turn++) {
      progress(`turn ${turn + 1} of ${turns}`)
      for (const one of times) {
        const before = await program.cpuSeconds()
        for (let i = 0; i < size.requests / turns; i++) {
          const startMs = performance.now()
          one.bytes = await answered(client, one.path)
          one.ms.push(performance.now() - startMs)
        }
        one.cpuMs += (((await program.cpuSeconds()) - before) * 1000) / size.requests
      }
    }
    return times
  } finally {
    client.close()
  }
}

async function answered(client: Http1Client, path: string): Promise<number> {
  const { status, bytes } = await client.get(path, {})
  if (status !== 200) throw new Error(`${path} is answered with ${status}`)
  return bytes
}

/** Pages that people look at: each order from its first page on. */
function livePaths(count: number): string[] {
  return Array.from({ length: count }, (_, i) => {
    const sort = columns[i % columns.length]
    const page = 1 + Math.floor(i / columns.length)
    return `/views/api/v1/pods?watch=1&sort=${sort}&page=${page}`
  })
}

async function streamed(
  { size, program, source, viewers, progress }: Stage,
  name: string,
  paths: readonly string[],
): Promise<Streamed> {
  progress(name)
  const { port } = program
  const open: ViewersOrder = { type: 'open', port, paths }
  await viewers.ask<ViewersReport>(open)
  const change = (ms: number): Promise<object> => {
    const order: PodChangeOrder = { perSecond: size.perSecond, ms }
    return source.ask(order)
  }
  // What is compiled at the first changes is no matter.
  await change(size.ms)
  await viewers.ask<ViewersReport>({ type: 'read' } satisfies ViewersOrder)
  const before = await program.cpuSeconds()
  await change(size.ms)
  const bytes = await untilQuiet(viewers)
  const cpuSeconds = (await program.cpuSeconds()) - before
  const { ended } = await viewers.ask<ViewersReport>({ type: 'close' } satisfies ViewersOrder)
  if (ended > 0) throw new Error(`${ended} streams of ${name} have ended`)
  return { name, cpuMs: (cpuSeconds * 1e6) / size.ms, bytes: (bytes * 1000) / size.ms }
}

/** Streams that have more to send than they can in the time of the changes are read to their
 *  end. */
async function untilQuiet(viewers: Child): Promise<number> {
  let bytes = 0
  for (;;) {
    await sleep(quietMs)
    const report = await viewers.ask<ViewersReport>({ type: 'read' } satisfies ViewersOrder)
    bytes += report.bytes
    if (report.bytes < quietBytes) return bytes
  }
}

/** Less than so much in so long is no more than bookmarks. */
const quietMs = 1_500
const quietBytes = 50_000

/** The counts that both kinds of answers agree on. */
async function digestOf(program: Program): Promise<string> {
  const text = (await program.get('/views/api/v1/pods?countBy=status,ready', {})).toString()
  const { total, groups } = JSON.parse(text) as { readonly total: number; readonly groups: object }
  return createHash('sha256').update(JSON.stringify({ total, groups })).digest('hex').slice(0, 16)
}

function floorsOf(get: Timed, asked: readonly Timed[], share: number): Floor[] {
  const pages = questions.flatMap(({ isPage }, i) => (isPage ? [asked[i]!] : []))
  return [
    ...pages.map(page =>
      atMost(`${page.name}: processor time`, page.cpuMs / get.cpuMs, floors.getTimes, 'gets'),
    ),
    ...asked.map(one => atMost(`${one.name}: p99`, percentile(one.ms, 0.99), floors.p99Ms, 'ms')),
    atMost('live pages', share, floors.share, 'of watches of everything'),
  ]
}
