/** One face thread against several: processor time for each answer, and how many answers there are in a second. Subjects take turns, and
 *  every figure is a ratio within a round, because machines are noisy. */

import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { Bench, BenchOptions, BenchResult, BenchTable, Floor } from '../bench.ts'
import { median } from '../bench.ts'
import { Load, Program } from '../list/processes.ts'
import type { LoadOrder } from '../list/load.ts'
import { ProcessUsage } from '../proxy/process-usage.ts'

export const threadsBench: Bench = {
  name: 'threads',
  summary: 'gets, pages and whole lists with one, two and more face threads',
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
}

interface Figure {
  readonly perSecond: number
  readonly cpuMs: number
}

/** At most so much more processor time for an answer with each thread. */
const growthMax = 0.15
/** With two processors, of which the clients take a part. */
const getsFactorMin = 1.5

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  const isSmall = size === 'small'
  const pods = isSmall ? 100 : 10_000
  const pace = isSmall ? { rounds: 1, roundMs: 50 } : { rounds: 5, roundMs: 3_000 }
  const cores = availableParallelism()
  const counts = [...new Set([1, 2, ...(isSmall ? [] : [cores])])]
  const tasks: (() => Promise<unknown>)[] = []
  try {
    const subjects: Subject[] = []
    for (const threads of counts) {
      progress(`starting with ${threads} threads`)
      const program = await Program.start([
        '--etcd=embedded',
        '--auth=none',
        `--generate=pods=${pods}`,
        `--threads=${threads}`,
      ])
      tasks.push(() => program.stop())
      subjects.push({ threads, program, usage: new ProcessUsage(program.process, program.port) })
    }
    // Two processes of clients, so that these do not hold up what they measure.
    const loads = [new Load(), new Load()]
    tasks.push(...loads.map(load => () => load.stop()))
    const [first] = subjects
    const body = await first!.program.get('/api/v1/pods?limit=50', {})
    const questions = questionsOf(body)
    const tables: BenchTable[] = []
    const floors: Floor[] = []
    for (const question of questions) {
      progress(question.name)
      const figures = await measure(question, { subjects, loads, pace })
      tables.push(tableOf(question, subjects, figures))
      floors.push(...floorsOf(question, subjects, figures))
    }
    const resultHash = createHash('sha256').update(body).digest('hex').slice(0, 16)
    return { tables, floors, resultHash }
  } finally {
    for (const task of tasks.toReversed()) await task()
  }
}

function questionsOf(body: Buffer): Question[] {
  const { items } = JSON.parse(body.toString()) as {
    items: { metadata: { name: string; namespace: string } }[]
  }
  const gets = items.map(
    ({ metadata: { namespace, name } }) => `/api/v1/namespaces/${namespace}/pods/${name}`,
  )
  const gzip = { 'accept-encoding': 'gzip' }
  return [
    { name: 'gets', paths: gets, headers: {}, inFlight: 16 },
    { name: 'pages of 500', paths: ['/api/v1/pods?limit=500'], headers: {}, inFlight: 8 },
    { name: 'pages, gzip', paths: ['/api/v1/pods?limit=500'], headers: gzip, inFlight: 8 },
    { name: 'whole lists', paths: ['/api/v1/pods?resourceVersion=0'], headers: {}, inFlight: 4 },
  ]
}

interface Arena {
  readonly subjects: readonly Subject[]
  readonly loads: readonly Load[]
  readonly pace: { readonly rounds: number; readonly roundMs: number }
}

/** The figures of each subject in each round. */
async function measure(question: Question, { subjects, loads, pace }: Arena): Promise<Figure[][]> {
  const rounds: Figure[][] = []
  for (let round = 0; round < pace.rounds; round++) {
    const figures: Figure[] = []
    for (const { program, usage } of subjects) {
      const { name: _, ...asked } = question
      const order: LoadOrder = {
        ...asked,
        target: { type: 'api', port: program.port, version: '1.1' },
        ms: pace.roundMs,
      }
      const before = await usage.cpuSeconds()
      const reports = await Promise.all(loads.map(load => load.run(order)))
      const cpuSeconds = (await usage.cpuSeconds()) - before
      const requests = reports.reduce((sum, report) => sum + report.requests, 0)
      const perSecond = reports.reduce((sum, one) => sum + one.requests / one.seconds, 0)
      figures.push({ perSecond, cpuMs: (cpuSeconds * 1000) / Math.max(1, requests) })
    }
    rounds.push(figures)
  }
  return rounds
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
