/** Gets, selections, pages, Tables and whole lists, asked by a client of others in the shapes in
 *  which clients come, against a bare server of the same runtime that answers with the same bytes.
 *  All are processes of their own, and take turns. */

import { createHash } from 'node:crypto'
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type Floor,
  median,
  percentile,
} from '../bench.ts'
import { Ceiling, Program } from '../list/processes.ts'
import { type Question, questionsOf } from './questions.ts'
import { findH2load, OwnClient, type Runner } from './runner.ts'
import { type Shape, shapeText } from './shapes.ts'
import { Target } from './target.ts'

export const httpBench: Bench = {
  name: 'http',
  summary:
    'requests of h2load in five shapes, against a bare server that writes the same bytes; --against adds another',
  run,
}

interface Size {
  readonly pods: number
  readonly rounds: number
  readonly seconds: number
}

const sizes: Readonly<Record<BenchOptions['size'], Size>> = {
  small: { pods: 150, rounds: 1, seconds: 0.01 },
  full: { pods: 1_000, rounds: 3, seconds: 2 },
}

const versions = ['2', '1.1'] as const
type Version = (typeof versions)[number]

const bareFile = new URL('bare.js', import.meta.url)

/** Ratios to the rate of the bare server, which has all bodies at hand and only writes them. */
const rateFloors = { ofGets: 0.8, ofTables: 0.75, ofOthers: 0.85 }
/** Times of the bare server's. A get is so short that a pause of either server is its p99. */
const tailFloors = { p99OfGets: 1.5, p99: 1.3, p999: 2, max: 2 }

interface Figures {
  readonly rate: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  readonly maxMs: number
  /** Time of the processor for each request; 0 where it is not known. */
  readonly cpuMs: number
  readonly failed: number
}

interface Row {
  readonly name: string
  readonly shape: string
  /** In the order of the targets: ours, the bare server, the other one. */
  readonly figures: readonly Figures[]
}

async function run({ size, progress, only = [], against }: BenchOptions): Promise<BenchResult> {
  const { pods, rounds, seconds } = sizes[size]
  const runner = (size === 'full' ? await findH2load() : undefined) ?? new OwnClient()
  const ceilings = await Promise.all(versions.map(version => Ceiling.start(bareFile, [version])))
  const program = await Program.start([`--generate=pods=${pods}`])
  try {
    const urlOf = (port: number): string => `https://127.0.0.1:${port}`
    const ours = new Target('ours', { url: urlOf(program.port), pid: program.process.pid })
    const bares = ceilings.map(({ port, pid }) => new Target('bare', { url: urlOf(port), pid }))
    const other = against && new Target(against.url, against)
    const questions = await questionsOf((path, headers) => ours.get(path, headers))
    // Another server has other objects, whose names are asked of it.
    const others = other && (await questionsOf((path, headers) => other.get(path, headers)))
    const stage = { runner, rounds, seconds, progress }
    const rows: Row[] = []
    const hash = createHash('sha256')
    for (const [i, question] of questions.entries()) {
      const { name, paths, headers } = question
      if (only.length > 0 && !only.some(word => name.includes(word))) continue
      for (const [v, version] of versions.entries()) {
        const { bytes } = await ceilings[v]!.copy({ port: program.port, paths, headers })
        if (!name.includes('Table')) hash.update(`${name} ${bytes}\n`)
        const asked = [
          { target: ours, question },
          { target: bares[v]!, question },
          ...(other === undefined ? [] : [{ target: other, question: others?.[i] ?? question }]),
        ]
        rows.push(...(await measureShapes(asked, version, stage)))
      }
    }
    return {
      tables: [
        {
          title: `${pods} pods, by ${runner.name}`,
          columns: [
            'answer',
            'shape',
            ...[ours, bares[0], other].flatMap(columnsOf),
            'rate ratio',
            'p99 ratio',
            'p99.9 ratio',
            'max ratio',
          ],
          rows: rows.map(({ name, shape, figures }) => [
            name,
            shape,
            ...figures.flatMap(({ rate, p50Ms, p99Ms, p999Ms, maxMs, cpuMs, failed }) => [
              rate,
              p50Ms,
              p99Ms,
              p999Ms,
              maxMs,
              cpuMs,
              failed,
            ]),
            ratioOf(figures, ({ rate: one }) => one),
            ...tails.map(({ of }) => ratioOf(figures, of)),
          ]),
        },
      ],
      floors: rows.flatMap(floorsOf),
      resultHash: hash.digest('hex').slice(0, 16),
    }
  } finally {
    await Promise.all([runner, ...ceilings, program].map(part => part.stop()))
  }
}

function columnsOf(target: Target | undefined): string[] {
  if (target === undefined) return []
  const columns = ['requests/s', 'p50 ms', 'p99 ms', 'p99.9 ms', 'max ms', 'cpu ms', 'not 200']
  return columns.map(column => `${target.name} ${column}`)
}

interface Stage {
  readonly runner: Runner
  readonly rounds: number
  readonly seconds: number
  readonly progress: (message: string) => void
}

interface Asked {
  readonly target: Target
  readonly question: Question
}

async function measureShapes(
  asked: readonly Asked[],
  version: Version,
  stage: Stage,
): Promise<Row[]> {
  const rows: Row[] = []
  const [first] = asked
  for (const shape of first?.question.shapes ?? []) {
    // Over TLS Node's parser fails at requests that are sent before the answers, in the bare
    // server, too.
    if (version === '1.1' && shape.streams > 1) continue
    const name = `${first?.question.name}, HTTP/${version}`
    stage.progress(`${name}, ${shapeText(shape)}`)
    const rounds: Figures[][] = []
    for (let round = 0; round < stage.rounds; round++) {
      rounds.push(await inTurn(asked, { shape, version, round }, stage))
    }
    const figures = asked.map((_, i) => medianOf(rounds.map(each => each[i]!)))
    rows.push({ name, shape: shapeText(shape), figures })
  }
  return rows
}

interface Turn {
  readonly shape: Shape
  readonly version: Version
  readonly round: number
}

/** Who comes first changes. */
async function inTurn(
  asked: readonly Asked[],
  { shape, version, round }: Turn,
  { runner, seconds }: Stage,
): Promise<Figures[]> {
  const order = [...asked.keys()]
  if (round % 2 === 1) order.reverse()
  const figures: Figures[] = []
  for (const i of order) {
    const { target, question } = asked[i]!
    const { paths, headers } = question
    const { url } = target
    const cpuSeconds = (): Promise<number> => target.cpuSeconds()
    const report = await runner.run({
      url,
      version,
      paths,
      headers,
      shape,
      seconds,
      cpuSeconds,
    })
    const { timesMs, failed } = report
    const answered = timesMs.length
    if (answered === 0) throw new Error(`${target.name} has answered nothing of ${question.name}`)
    figures[i] = {
      rate: answered / report.seconds,
      p50Ms: percentile(timesMs, 0.5),
      p99Ms: percentile(timesMs, 0.99),
      p999Ms: percentile(timesMs, 0.999),
      maxMs: percentile(timesMs, 1),
      cpuMs: (report.cpuSeconds * 1000) / answered,
      failed,
    }
  }
  return figures
}

function medianOf(rounds: readonly Figures[]): Figures {
  const of = (valueOf: (one: Figures) => number): number => median(rounds.map(valueOf))
  return {
    rate: of(one => one.rate),
    p50Ms: of(one => one.p50Ms),
    p99Ms: of(one => one.p99Ms),
    p999Ms: of(one => one.p999Ms),
    maxMs: of(one => one.maxMs),
    cpuMs: of(one => one.cpuMs),
    failed: Math.max(...rounds.map(({ failed }) => failed)),
  }
}

const tails: readonly {
  readonly name: string
  readonly of: (figures: Figures) => number
  readonly limit: number
  /** The limit of gets, if it is another one. */
  readonly limitOfGets?: number
}[] = [
  {
    name: 'p99',
    of: ({ p99Ms }) => p99Ms,
    limit: tailFloors.p99,
    limitOfGets: tailFloors.p99OfGets,
  },
  { name: 'p99.9', of: ({ p999Ms }) => p999Ms, limit: tailFloors.p999 },
  { name: 'longest time', of: ({ maxMs }) => maxMs, limit: tailFloors.max },
]

/** A figure of ours as a multiple of the bare server's. */
function ratioOf([ours, bare]: readonly Figures[], of: (one: Figures) => number): number {
  return of(ours!) / of(bare!)
}

function isGet(name: string): boolean {
  return name.startsWith('get')
}

function rateFloorOf(name: string): number {
  if (isGet(name)) return rateFloors.ofGets
  return name.includes('Table') ? rateFloors.ofTables : rateFloors.ofOthers
}

function floorsOf({ name, shape, figures }: Row): Floor[] {
  return [
    {
      name: `${name}, ${shape}`,
      value: ratioOf(figures, ({ rate }) => rate),
      bound: 'at least',
      limit: rateFloorOf(name),
      unit: 'of the rate of the bare server',
    },
    ...tails.map((tail): Floor => ({
      name: `${name}, ${shape}, ${tail.name}`,
      value: ratioOf(figures, tail.of),
      bound: 'at most',
      limit: (isGet(name) ? tail.limitOfGets : undefined) ?? tail.limit,
      unit: `times the ${tail.name} of the bare server`,
    })),
  ]
}
