/** One worker against several: processor time for each answer, and how many answers there are
 *  in a second. Subjects take turns, and every figure is a ratio within a round, because machines
 *  are noisy. */

import { createHash } from 'node:crypto'
import { availableParallelism } from 'node:os'
import type { Bench, BenchOptions, BenchResult, BenchTable, Floor } from '../bench.ts'
import { Load, Program } from '../list/processes.ts'
import { ReviewCounter } from '../auth/review-server.ts'
import type { Child } from '../watch/child.ts'
import { BareServer } from './bare.ts'
import { measureFanOut } from './fan-out.ts'
import {
  bareNames,
  controlsOf,
  type Figure,
  floorsOf,
  type Measured,
  type Rounds,
  tableOf,
  twoPrograms,
} from './figures.ts'
import { type PipeliningReport, startPipelining } from './pipelining.ts'
import { type Measurable, sumOf, UsageMeter } from './usage.ts'

export const threadsBench: Bench = {
  name: 'threads',
  summary: 'gets, pages, whole lists and watches with one, two and more workers',
  run,
}

/** A program with so many threads; or a control: two programs with one thread each, side by side,
 *  or a bare server with one thread or two. What these take more than one of them alone is what the
 *  machine takes when both of its processors are busy. */
interface Subject {
  readonly threads: number
  readonly programs: readonly Answering[]
  /** It compiles little, and answers at once as it always will. */
  readonly isBare?: boolean
}

type Answering = Measurable & { readonly port: number }

/** The requests of clients. */
interface Question {
  readonly name: string
  readonly paths: readonly string[]
  readonly headers: Readonly<Record<string, string>>
  readonly inFlight: number
  /** Paths to warm it with, if not the same: answers that take the same way and are smaller, since
   *  code is compiled after so many answers, however large they are. */
  readonly warmPaths?: readonly string[]
  /** Time that one thread needs before it is measured: what comes first is new to it. */
  readonly warmMs: number
  /** And how many answers. A thread that has a processor only now and then needs longer for
   *  them. */
  readonly warmAnswers: number
  /** By a client that costs little: see pipelining.ts. */
  readonly isPipelined?: boolean
}

/** With two processors, of which the clients take a part. */
const getsGain = { factorMin: 1.5, ofBareMax: 0.9 }

async function run(options: BenchOptions): Promise<BenchResult> {
  const isSmall = options.size === 'small'
  const cores = availableParallelism()
  const counts = [...new Set([1, 2, ...(isSmall ? [] : [4, cores])])].filter(count => count <= 8)
  const { tables, floors, resultHash } = await measureAnswers(counts, options)
  if (!isWanted('watches', options)) return { tables, floors, resultHash }
  options.progress('watches')
  const fanOut = await measureFanOut(counts, isSmall)
  return { tables: [...tables, fanOut.table], floors: [...floors, ...fanOut.floors], resultHash }
}

function isWanted(name: string, { only = [] }: BenchOptions): boolean {
  return only.length === 0 || only.some(word => name.includes(word))
}

async function measureAnswers(
  counts: readonly number[],
  options: BenchOptions,
): Promise<BenchResult> {
  const { size, progress } = options
  const pods = size === 'small' ? 100 : 10_000
  const pace = size === 'small' ? smallPace : fullPace
  const tasks: (() => Promise<unknown>)[] = []
  try {
    const reviews = await ReviewCounter.start()
    tasks.push(() => reviews.stop())
    const start = async (threads: number): Promise<Program> => {
      progress(`starting with ${threads} threads`)
      const args = [`--generate=pods=${pods}`, `--threads=${threads}`, '--etcd=embedded']
      const access = ['--auth=delegate', `--review-server=${reviews.url}`]
      const program = await Program.start([...args, ...access])
      tasks.push(() => program.stop())
      return program
    }
    const subjects: Subject[] = []
    for (const threads of counts) subjects.push({ threads, programs: [await start(threads)] })
    const [one] = subjects[0]!.programs as [Program]
    const sideBySide: Subject = { threads: 1, programs: [one, await start(1)] }
    const bare: BareServer[] = []
    for (const threads of [1, 2]) {
      const server = await BareServer.start(threads)
      tasks.push(() => server.stop())
      bare.push(server)
    }
    const controls = controlsOf([twoPrograms, ...bareNames], subjects.length)
    const all = [
      ...subjects,
      sideBySide,
      ...bare.map((server, i) => ({ threads: i + 1, programs: [server], isBare: true })),
    ]
    // Two processes of clients, so that these do not hold up what they measure.
    const loads = [new Load(), new Load()] as const
    tasks.push(...loads.map(load => () => load.stop()))
    const pipelining = startPipelining()
    tasks.push(() => pipelining.stop())
    const body = await one.get(`/api/v1/pods?limit=${pace.gets}`, caller)
    const tables: BenchTable[] = []
    const floors: Floor[] = []
    for (const question of questionsOf(body)) {
      const { name } = question
      if (!isWanted(name, options)) continue
      progress(name)
      const { paths, headers } = question
      for (const server of bare) await server.copy({ port: one.port, paths, headers })
      const rounds = await measure(question, { subjects: all, loads, pipelining, pace })
      const measured: Measured = {
        name,
        counted: 'answers',
        unit: 'answer',
        counts,
        controls,
        rounds,
      }
      tables.push(tableOf(measured))
      floors.push(...floorsOf(measured, name === 'gets' ? getsGain : undefined))
    }
    const resultHash = createHash('sha256').update(body).digest('hex').slice(0, 16)
    return { tables, floors, resultHash }
  } finally {
    for (const task of tasks.toReversed()) await task()
  }
}

interface Pace {
  /** Different objects that are got: the client learns the length of each one's answer first. */
  readonly gets: number
  readonly rounds: number
  readonly roundMs: number
  /** For each thread of a subject: each compiles what it runs for itself, and has only a part of
   *  the requests to learn from. */
  readonly warm: number
}

/** After smaller answers, those that are measured come for so many rounds: with one, V8's own
 *  threads still took two threads 0.13 ms a page, and one thread 0.05. */
const lastWarmRounds = 3

/** Answers that are waited for take so many times the usual time at most. */
const warmLongest = 3

const smallPace: Pace = { gets: 5, rounds: 1, roundMs: 60, warm: 0.004 }
const fullPace: Pace = { gets: 50, rounds: 5, roundMs: 1_000, warm: 1 }

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
  // The smallest pages that are sent in pieces. V8 compiles most up to the fifteenth thousand, and
  // until the tenth a page takes up to half as much again.
  const pages = { warmPaths: ['/api/v1/pods?limit=75'], warmAnswers: 15_000, inFlight: 8 }
  const ofAny = gets.map(get => `${get}?resourceVersion=0`)
  const small = { headers: caller, inFlight: 24, isPipelined: true }
  const large = { headers: caller }
  return [
    { name: 'gets', paths: gets, ...small, warmMs: 10_000, warmAnswers: 0 },
    { name: 'gets of any revision', paths: ofAny, ...small, warmMs: 1_000, warmAnswers: 0 },
    { name: 'pages of 500', paths: page, ...large, ...pages, warmMs: 4_000 },
    { name: 'pages, gzip', paths: page, headers: gzip, ...pages, warmMs: 2_500 },
    { name: 'whole lists', paths: all, ...large, inFlight: 4, warmMs: 2_000, warmAnswers: 0 },
  ]
}

interface Arena {
  readonly subjects: readonly Subject[]
  readonly loads: readonly [Load, Load]
  readonly pipelining: Child
  readonly pace: Pace
}

/** The figures of each subject in each round. */
async function measure(question: Question, arena: Arena): Promise<Rounds> {
  const { subjects, pace } = arena
  const warmed = new Set<Answering>()
  for (const subject of subjects) {
    // None is warmer than the others: the control has a program that is a subject itself.
    const programs = subject.programs.filter(program => !warmed.has(program))
    if (subject.isBare === true) {
      await askFor(question, subject, { ...arena, ms: pace.roundMs * subject.threads })
      continue
    }
    await warm(question, { ...subject, programs }, arena)
    for (const program of programs) warmed.add(program)
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

async function warm(question: Question, subject: Subject, arena: Arena): Promise<void> {
  const { warmMs, warmAnswers, warmPaths } = question
  const threads = subject.threads * subject.programs.length * arena.pace.warm
  const usualMs = warmMs * threads
  let missing = warmAnswers * threads
  const asked = { ...question, paths: warmPaths ?? question.paths }
  for (let asks = 0; asks < 1 || (missing > 0 && asks < warmLongest); asks++) {
    missing -= (await askFor(asked, subject, { ...arena, ms: usualMs })).amount
  }
  if (warmPaths !== undefined) {
    await askFor(question, subject, { ...arena, ms: lastWarmRounds * arena.pace.roundMs * threads })
  }
}

/** Requests that are sent at once on a connection: enough that a thread has work until the client
 *  looks again, which it does every few milliseconds. With 24, when a get took 16 µs, two threads
 *  and two programs had nothing to do for a quarter of the time. */
const atOnce = 48

async function askFor(
  { paths, headers, inFlight, isPipelined = false }: Question,
  { programs, threads }: Subject,
  { loads, pipelining, ms }: Pick<Arena, 'loads' | 'pipelining'> & { readonly ms: number },
): Promise<Figure> {
  const ports = programs.map(({ port }) => port)
  const asked = { paths, headers, ms }
  const clients = [pipelining, ...loads].map(({ pid }) => pid)
  const meters = programs.map(
    (program, i) => new UsageMeter(program, threads, { pids: i === 0 ? clients : [] }),
  )
  const target = (i: number) =>
    ({ type: 'api', port: ports[i % ports.length]!, version: '1.1' }) as const
  const reports = isPipelined
    ? [await pipelining.ask<PipeliningReport>({ ...asked, ports, connections: inFlight, atOnce })]
    : await Promise.all(loads.map((load, i) => load.run({ ...asked, inFlight, target: target(i) })))
  const amount = reports.reduce((sum, report) => sum + report.requests, 0)
  const seconds = Math.max(...reports.map(report => report.seconds))
  return { amount, seconds, usage: sumOf(meters.map(meter => meter.read())) }
}
