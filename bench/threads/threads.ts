/** One face thread against several: processor time for each answer, and how many answers there are in a second. Subjects take turns, and
 *  every figure is a ratio within a round, because machines are noisy. */

import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { Bench, BenchOptions, BenchResult, BenchTable, Floor } from '../bench.ts'
import { median } from '../bench.ts'
import { Load, Program } from '../list/processes.ts'
import { ReviewCounter } from '../auth/review-server.ts'
import { ProcessUsage } from '../proxy/process-usage.ts'
import { measureFanOut } from './fan-out.ts'
import { PipeliningLoad } from './pipelining.ts'

export const threadsBench: Bench = {
  name: 'threads',
  summary: 'gets, pages, whole lists and watches with one, two and more face threads',
  run,
}

interface Subject {
  readonly threads: number
  readonly program: Program
  readonly usage: ProcessUsage
}

/** What clients ask for. */
interface Question {
  readonly name: string
  readonly paths: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly inFlight: number
  /** By a client that costs little: see `PipeliningLoad`. */
  readonly isPipelined?: boolean
}

interface Figure {
  readonly perSecond: number
  readonly cpuMs: number
}

/** At most so much more processor time for an answer with each thread. */
const growthMax = 0.15
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
      subjects.push({ threads, program, usage: new ProcessUsage(program.process, program.port) })
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
      const figures = await measure(question, { subjects, loads, pipelining, pace })
      tables.push(tableOf(question, subjects, figures))
      floors.push(...floorsOf(question, subjects, figures))
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
  /** Each thread compiles what it runs for itself, and has only a part of the requests to learn from. */
  readonly warmMs: number
  /** Where no figure matters: each connection begins with a handshake. */
  readonly inFlightMax?: number
}

const smallPace: Pace = { rounds: 1, roundMs: 60, warmMs: 40, inFlightMax: 4 }
const fullPace: Pace = { rounds: 5, roundMs: 1_500, warmMs: 5_000 }

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
  return [
    { name: 'gets', paths: gets, headers: caller, inFlight: 32, isPipelined: true },
    { name: 'pages of 500', paths: page, headers: caller, inFlight: 8 },
    { name: 'pages, gzip', paths: page, headers: gzip, inFlight: 8 },
    { name: 'whole lists', paths: all, headers: caller, inFlight: 4 },
  ]
}

interface Arena {
  readonly subjects: readonly Subject[]
  readonly loads: readonly Load[]
  readonly pipelining: PipeliningLoad
  readonly pace: Pace
}

/** The figures of each subject in each round. */
async function measure(question: Question, arena: Arena): Promise<Figure[][]> {
  const { subjects, pace } = arena
  const inFlight = Math.min(question.inFlight, pace.inFlightMax ?? question.inFlight)
  const asked = { ...question, inFlight }
  for (const subject of subjects) {
    await askFor(asked, subject, { ...arena, ms: pace.warmMs / (question.isPipelined ? 1 : 4) })
  }
  const rounds: Figure[][] = []
  for (let round = 0; round < pace.rounds; round++) {
    const figures: Figure[] = []
    for (const subject of subjects) {
      figures.push(await askFor(asked, subject, { ...arena, ms: pace.roundMs }))
    }
    rounds.push(figures)
  }
  return rounds
}

async function askFor(
  { paths, headers, inFlight, isPipelined = false }: Question,
  { program: { port }, usage }: Subject,
  { loads, pipelining, ms }: Pick<Arena, 'loads' | 'pipelining'> & { readonly ms: number },
): Promise<Figure> {
  const before = await usage.cpuSeconds()
  const asked = { paths, headers, ms }
  const reports = isPipelined
    ? [await pipelining.run({ ...asked, port, connections: inFlight, atOnce: 8 })]
    : await Promise.all(
        loads.map(load =>
          load.run({ ...asked, inFlight, target: { type: 'api', port, version: '1.1' } }),
        ),
      )
  const cpuSeconds = (await usage.cpuSeconds()) - before
  const requests = reports.reduce((sum, report) => sum + report.requests, 0)
  const perSecond = reports.reduce((sum, one) => sum + one.requests / one.seconds, 0)
  return { perSecond, cpuMs: (cpuSeconds * 1000) / Math.max(1, requests) }
}

/** The median over the rounds of a figure against that of one thread. */
function against(rounds: readonly Figure[][], at: number, of: (figure: Figure) => number): number {
  return median(rounds.map(figures => of(figures[at]!) / Math.max(1e-9, of(figures[0]!))))
}

function tableOf({ name }: Question, subjects: readonly Subject[], rounds: Figure[][]): BenchTable {
  return {
    title: name,
    columns: ['threads', 'answers/s', 'processor/answer', 'answers, of one', 'processor, of one'],
    rows: subjects.map(({ threads }, i) => [
      threads,
      median(rounds.map(figures => figures[i]!.perSecond)).toFixed(0),
      `${median(rounds.map(figures => figures[i]!.cpuMs)).toFixed(3)} ms`,
      against(rounds, i, ({ perSecond }) => perSecond).toFixed(2),
      against(rounds, i, ({ cpuMs }) => cpuMs).toFixed(2),
    ]),
  }
}

function floorsOf({ name }: Question, subjects: readonly Subject[], rounds: Figure[][]): Floor[] {
  const floors: Floor[] = subjects.slice(1).map(({ threads }, i) => ({
    name: `processor for ${name} with ${threads} threads, of one`,
    value: against(rounds, i + 1, ({ cpuMs }) => cpuMs),
    bound: 'at most',
    limit: (1 + growthMax) ** (threads - 1),
    unit: '',
  }))
  if (name !== 'gets') return floors
  const value = against(rounds, 1, ({ perSecond }) => perSecond)
  const floor = { name: 'gets with two threads, of one', value, unit: '' } as const
  return [...floors, { ...floor, bound: 'at least', limit: getsFactorMin }]
}
