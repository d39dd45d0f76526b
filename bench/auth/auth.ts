/** The cost of authorization with cached decisions, how often the upstream is asked, and how one
 *  user's lists delay another's gets. */

import { createHash } from 'node:crypto'
import type { Bench, BenchOptions, BenchResult, BenchTable, Floor } from '../bench.ts'
import { median, percentile } from '../bench.ts'
import { Http1Client } from '../list/http1-client.ts'
import type { LoadOrder } from '../list/load.ts'
import { Load, Program } from '../list/processes.ts'
import { ReviewCounter } from './review-server.ts'

export const authBench: Bench = {
  name: 'auth',
  summary: 'authorized gets against open ones, reviews sent, gets beside whole lists of others',
  run,
}

/** The path of one pod, which everybody asks for. */
interface Subject {
  readonly program: Program
  readonly path: string
}

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  const isSmall = size === 'small'
  const pods = isSmall ? 200 : 10_000
  const pace = isSmall ? smallPace : fullPace
  const counter = await ReviewCounter.start()
  const tasks: (() => Promise<unknown>)[] = [() => counter.stop()]
  try {
    const start = async (...args: string[]): Promise<Subject> => {
      const program = await Program.start(['--etcd=embedded', `--generate=pods=${pods}`, ...args])
      tasks.push(() => program.stop())
      return { program, path: '' }
    }
    progress('starting')
    const open = await start('--auth=none')
    const guarded = await start('--auth=delegate', `--review-server=${counter.url}`)
    const path = await firstPod(guarded.program)
    const load = new Load()
    const greedy = new Load()
    tasks.push(
      () => load.stop(),
      () => greedy.stop(),
    )
    progress('gets')
    const gets = await measureGets(load, {
      open: open.program,
      guarded: guarded.program,
      path,
      pace,
    })
    progress('reviews')
    const reviews = await measureReviews(
      guarded.program.port,
      counter,
      path,
      isSmall ? 300 : 10_000,
    )
    progress('gets beside lists')
    const beside = await measureBeside({ load, greedy }, { program: guarded.program, path, pace })
    const body = await guarded.program.get(path, bearer('reader'))
    return {
      tables: [gets.table, reviews, beside.table],
      floors: [gets.floor, beside.floor],
      resultHash: createHash('sha256').update(String(body.length)).digest('hex').slice(0, 16),
    }
  } finally {
    for (const task of tasks.toReversed()) await task()
  }
}

function bearer(user: string): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${user}-${'x'.repeat(800)}` }
}

async function firstPod(program: Program): Promise<string> {
  const body = await program.get('/api/v1/pods?limit=1', bearer('reader'))
  const { items } = JSON.parse(body.toString()) as {
    items: { metadata: { name: string; namespace: string } }[]
  }
  const metadata = items[0]?.metadata
  return `/api/v1/namespaces/${metadata?.namespace}/pods/${metadata?.name}`
}

interface Pace {
  readonly rounds: number
  readonly roundMs: number
  /** Who get one pod again and again. */
  readonly getters: number
  /** Who list all of them. */
  readonly listers: number
}

const smallPace: Pace = { rounds: 1, roundMs: 20, getters: 4, listers: 8 }
const fullPace: Pace = { rounds: 31, roundMs: 300, getters: 32, listers: 64 }

interface GetSubjects {
  readonly open: Program
  readonly guarded: Program
  readonly path: string
  readonly pace: Pace
}

/** In turns, so that a busy machine is busy for both. What is judged is requests for each second of
 *  the processor: what a server that has nothing else to do answers in a second, however busy the
 *  machine is. */
async function measureGets(
  load: Load,
  { open, guarded, path, pace }: GetSubjects,
): Promise<{ table: BenchTable; floor: Floor }> {
  const rates = { open: [] as Rate[], guarded: [] as Rate[] }
  const ratios: number[] = []
  const rateOf = async (program: Program): Promise<Rate> => {
    const order = orderOf(program, path, {
      user: 'reader',
      inFlight: pace.getters,
      ms: pace.roundMs,
    })
    const before = await cpuSecondsOf(program)
    const { requests, seconds } = await load.run(order)
    const cpuSeconds = (await cpuSecondsOf(program)) - before
    return { perSecond: requests / seconds, perCpuSecond: requests / cpuSeconds }
  }
  for (let round = 0; round <= pace.rounds; round++) {
    const first = await rateOf(open)
    const authorized = await rateOf(guarded)
    const second = await rateOf(open)
    if (round === 0) continue
    rates.open.push(first, second)
    rates.guarded.push(authorized)
    ratios.push((2 * authorized.perCpuSecond) / (first.perCpuSecond + second.perCpuSecond))
  }
  const row = (name: string, of: readonly Rate[]): (string | number)[] => [
    name,
    Math.round(median(of.map(({ perSecond }) => perSecond))),
    Math.round(median(of.map(({ perCpuSecond }) => perCpuSecond))),
  ]
  return {
    table: {
      title: `A get of one pod of ${pace.getters} clients, all decisions known`,
      columns: ['--auth', 'requests/s', 'requests for a second of the processor'],
      rows: [row('none', rates.open), row('delegate', rates.guarded)],
    },
    floor: {
      name: 'authorized gets against open ones',
      value: median(ratios),
      bound: 'at least',
      limit: 0.85,
      unit: 'x',
    },
  }
}

interface Rate {
  readonly perSecond: number
  readonly perCpuSecond: number
}

async function cpuSecondsOf(program: Program): Promise<number> {
  const text = (await program.get('/metrics', bearer('reader'))).toString()
  return Number(/^process_cpu_seconds_total (\S+)/m.exec(text)?.[1])
}

const userCount = 100

/** A hundred users who each read a pod, a namespace's list and one of their own, again and
 *  again. */
async function measureReviews(
  port: number,
  counter: ReviewCounter,
  path: string,
  requests: number,
): Promise<BenchTable> {
  const namespace = path.slice(0, path.lastIndexOf('/pods/'))
  const paths = [path, `${namespace}/pods?limit=5`, `${namespace}/configmaps`]
  const clients = await Promise.all(Array.from({ length: 8 }, () => Http1Client.connect(port)))
  const before = counter.reviews
  const startMs = performance.now()
  let next = 0
  await Promise.all(
    clients.map(async client => {
      for (let i = next++; i < requests; i = next++) {
        const asked = paths[Math.floor(i / userCount) % paths.length] ?? path
        const { status } = await client.get(asked, bearer(`user-${i % userCount}`))
        if (status !== 200) throw new Error(`${asked} is answered with ${status}`)
      }
    }),
  )
  const seconds = (performance.now() - startMs) / 1000
  for (const client of clients) client.close()
  const reviews = counter.reviews - before
  return {
    title: 'Reviews sent for 100 users with three questions each',
    columns: ['requests', 'seconds', 'reviews', 'reviews per 1,000 requests'],
    rows: [
      [
        requests,
        Number(seconds.toFixed(1)),
        reviews,
        Number(((1000 * reviews) / requests).toFixed(1)),
      ],
    ],
  }
}

/** Gets of one user, alone and while another's clients ask for nothing but all pods. */
async function measureBeside(
  { load, greedy }: { readonly load: Load; readonly greedy: Load },
  {
    program,
    path,
    pace,
  }: { readonly program: Program; readonly path: string; readonly pace: Pace },
): Promise<{ table: BenchTable; floor: Floor }> {
  const order = orderOf(program, path, { user: 'reader', inFlight: 1, ms: 8 * pace.roundMs })
  await load.run(order)
  const alone = await load.run(order)
  const lists = orderOf(program, '/api/v1/pods', {
    user: 'greedy',
    inFlight: pace.listers,
    ms: 16 * pace.roundMs,
  })
  const listing = greedy.run(lists)
  await new Promise(resolve => setTimeout(resolve, 2 * pace.roundMs))
  const beside = await load.run(order)
  const { requests, bytes, seconds } = await listing
  const [aloneMs, besideMs] = [alone, beside].map(({ timesMs }) => percentile(timesMs, 0.99))
  const ratio = (besideMs ?? 0) / (aloneMs ?? 1)
  const row = (name: string, times: readonly number[]): (string | number)[] => [
    name,
    times.length,
    Number(percentile(times, 0.5).toFixed(2)),
    Number(percentile(times, 0.99).toFixed(2)),
  ]
  return {
    table: {
      title: `A get beside ${pace.listers} clients of another user who list all pods (${requests} lists, ${Math.round(bytes / seconds / 1e6)} MB/s)`,
      columns: ['', 'gets', 'p50 ms', 'p99 ms'],
      rows: [row('alone', alone.timesMs), row('beside lists', beside.timesMs)],
    },
    floor: {
      name: 'p99 of a get beside lists of another user',
      value: ratio,
      bound: 'at most',
      limit: 5,
      unit: 'x',
    },
  }
}

function orderOf(
  { port }: Program,
  path: string,
  { user, inFlight, ms }: { readonly user: string; readonly inFlight: number; readonly ms: number },
): LoadOrder {
  const target = { type: 'api', port, version: '1.1' } as const
  return { target, paths: [path], headers: bearer(user), inFlight, ms }
}
