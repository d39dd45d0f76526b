/** One face thread against several: processor time for each answer, and how many answers there are in a second. Subjects take turns, and
 *  every figure is a ratio within a round, because machines are noisy. */

import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { Bench, BenchOptions, BenchResult, BenchTable, Floor } from '../bench.ts'
import { Load, Program } from '../list/processes.ts'
import { ReviewCounter } from '../auth/review-server.ts'
import { measureFanOut } from './fan-out.ts'
import { type Figure, floorsOf, type Measured, type Rounds, tableOf } from './figures.ts'
import { PipeliningLoad } from './pipelining.ts'
import { UsageMeter } from './usage.ts'

export const threadsBench: Bench = {
  name: 'threads',
  summary: 'gets, pages, whole lists and watches with one, two and more face threads',
  run,
}

interface Subject {
  readonly threads: number
  readonly program: Program
}

/** What clients ask for. */
interface Question {
  readonly name: string
  readonly paths: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly inFlight: number
  /** How long one thread needs before it is measured: what comes first is new to it. */
  readonly warmMs: number
  /** By a client that costs little: see `PipeliningLoad`. */
  readonly isPipelined?: boolean
}

/** With two processors, of which the clients take a part. */
const getsFactorMin = 1.5

async function run(options: BenchOptions): Promise<BenchResult> {
  const isSmall = options.size === 'small'
  const cores = availableParallelism()
  const counts = [...new Set([1, 2, ...(isSmall ? [] : [cores])])].filter(count => count <= 8)
  const { tables, floors, resultHash } = await measureAnswers(counts, options)
  options.progress('watches')
  const fanOut = await measureFanOut(counts, isSmall)
  return { tables: [...tables, fanOut.table], floors: [...floors, ...fanOut.floors], resultHash }
}

async function measureAnswers(
  counts: readonly number[],
  { size, progress }: BenchOptions,
): Promise<BenchResult> {
  const pods = size === 'small' ? 300 : 10_000
  const pace = size === 'small' ? smallPace : fullPace
  const tasks: (() => Promise<unknown>)[] = []
  try {
    const reviews = await ReviewCounter.start()
    tasks.push(() => reviews.stop())
    const subjects: Subject[] = []
    for (const threads of counts) {
      progress(`starting with ${threads} threads`)
      const args = [`--generate=pods=${pods}`, `--threads=${threads}`, '--etcd=embedded']
      const access = ['--auth=delegate', `--review-server=${reviews.url}`]
      const program = await Program.start([...args, ...access])
      tasks.push(() => program.stop())
      subjects.push({ threads, program })
    }
    // Two processes of clients, so that these do not hold up what they measure.
    const loads = [new Load(), new Load()]
    tasks.push(...loads.map(load => () => load.stop()))
    const pipelining = new PipeliningLoad()
    tasks.push(() => pipelining.stop())
    const body = await subjects[0]!.program.get('/api/v1/pods?limit=50', caller)
    const tables: BenchTable[] = []
    const floors: Floor[] = []
    for (const question of questionsOf(body)) {
      progress(question.name)
      const rounds = await measure(question, { subjects, loads, pipelining, pace })
      const { name } = question
      const measured: Measured = { name, counted: 'answers', unit: 'answer', counts, rounds }
      tables.push(tableOf(measured))
      floors.push(...floorsOf(measured, name === 'gets' ? getsFactorMin : undefined))
    }
    const resultHash = createHash('sha256').update(body).digest('hex').slice(0, 16)
    return { tables, floors, resultHash }
  } finally {
    for (const task of tasks.toReversed()) await task()
  }
}

interface Pace {
  readonly rounds: number
  readonly roundMs: number
  /** For each thread of a subject: each compiles what it runs for itself, and has only a part of the requests to learn from. */
  readonly warm: number
}

const smallPace: Pace = { rounds: 1, roundMs: 200, warm: 0.02 }
const fullPace: Pace = { rounds: 5, roundMs: 1_000, warm: 1 }

/** Who asks. The upstream allows everything. */
const caller = { authorization: 'Bearer of-the-bench' }

function questionsOf(body: Buffer): Question[] {
  const { items } = JSON.parse(body.toString()) as {
    items: { metadata: { name: string; namespace: string } }[]
  }
  const gets = items.map(
    ({ metadata: { namespace, name } }) => `/api/v1/namespaces/${namespace}/pods/${name}`,
  )
  const gzip = { ...caller, 'accept-encoding': 'gzip' }
  const [page, all] = [['/api/v1/pods?limit=500'], ['/api/v1/pods?resourceVersion=0']]
  const ofAny = gets.map(get => `${get}?resourceVersion=0`)
  const small = { headers: caller, inFlight: 24, isPipelined: true }
  return [
    { name: 'gets', paths: gets, ...small, warmMs: 7_000 },
    { name: 'gets of any revision', paths: ofAny, ...small, warmMs: 1_000 },
    { name: 'pages of 500', paths: page, headers: caller, inFlight: 8, warmMs: 5_000 },
    { name: 'pages, gzip', paths: page, headers: gzip, inFlight: 8, warmMs: 2_000 },
    { name: 'whole lists', paths: all, headers: caller, inFlight: 4, warmMs: 2_000 },
  ]
}

interface Arena {
  readonly subjects: readonly Subject[]
  readonly loads: readonly Load[]
  readonly pipelining: PipeliningLoad
  readonly pace: Pace
}

/** The figures of each subject in each round. */
async function measure(question: Question, arena: Arena): Promise<Rounds> {
  const { subjects, pace } = arena
  for (const subject of subjects) {
    await askFor(question, subject, { ...arena, ms: question.warmMs * pace.warm * subject.threads })
  }
  const rounds: Figure[][] = []
  for (let round = 0; round < pace.rounds; round++) {
    const figures: Figure[] = []
    for (const subject of subjects) {
      figures.push(await askFor(question, subject, { ...arena, ms: pace.roundMs }))
    }
    rounds.push(figures)
  }
  return rounds
}

/** Requests that are sent at once on a connection. */
const atOnce = 16

async function askFor(
  { paths, headers, inFlight, isPipelined = false }: Question,
  { program, threads }: Subject,
  { loads, pipelining, ms }: Pick<Arena, 'loads' | 'pipelining'> & { readonly ms: number },
): Promise<Figure> {
  const { port } = program
  const asked = { paths, headers, ms }
  const pids = [pipelining, ...loads].map(({ pid }) => pid)
  const meter = new UsageMeter(program, threads, { pids })
  const target = { type: 'api', port, version: '1.1' } as const
  const reports = isPipelined
    ? [await pipelining.run({ ...asked, port, connections: inFlight, atOnce })]
    : await Promise.all(loads.map(load => load.run({ ...asked, inFlight, target })))
  const amount = reports.reduce((sum, report) => sum + report.requests, 0)
  const seconds = Math.max(...reports.map(report => report.seconds))
  return { amount, seconds, usage: meter.read() }
}
