/** The speed at which a watch is resumed: opened at a revision that is still held, with tens of
 *  thousands of events since, for everything and with selectors, until its first event and until
 *  the present. Issue 8111 of fabric8 tells of 191 s in a busy namespace. */

import { createHash } from 'node:crypto'
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type Floor,
  median,
  percentile,
} from '../bench.ts'
import { type Against, Target } from '../http/target.ts'
import { Ceiling, Program } from '../list/processes.ts'
import { makeEvents, type Made } from './events.ts'
import { resume } from './resumed.ts'

export const resumeBench: Bench = {
  name: 'resume',
  summary:
    'watches that begin 50,000 events behind: their first event, and the present; --against adds another server',
  run,
}

const sizes = {
  small: { objects: 20, events: 200, rounds: 1, copySeconds: 1 },
  full: { objects: 500, events: 50_000, rounds: 9, copySeconds: 5 },
} as const

/** A watch of a part of the objects: `shareOf` of their number. */
interface Shape {
  readonly name: string
  readonly path: (made: Made) => string
  readonly shareOf: (objects: number) => number
}

const shapes: readonly Shape[] = [
  {
    name: 'everything',
    path: ({ namespace }) => `/api/v1/namespaces/${namespace}/configmaps?watch=1`,
    shareOf: objects => objects,
  },
  {
    name: 'a label that one of ten has',
    path: ({ namespace }) =>
      `/api/v1/namespaces/${namespace}/configmaps?watch=1&labelSelector=part%3D3`,
    shareOf: objects => objects / 10,
  },
  {
    name: 'one object',
    path: ({ namespace }) =>
      `/api/v1/namespaces/${namespace}/configmaps?watch=1&fieldSelector=metadata.name%3Dobject-7`,
    shareOf: () => 1,
  },
]

/** Times of the bare server, which has nothing to look for, and writes as many bytes. */
const floors = { times: 3, firstMs: 50 }

interface Resumed {
  readonly firstMs: number[]
  readonly presentMs: number[]
}

/** A server, and the events that were made there. */
interface Subject {
  readonly target: Target
  readonly made: Made
}

interface Stage {
  readonly size: (typeof sizes)[BenchOptions['size']]
  readonly program: Program
  readonly ceiling: Ceiling
  readonly ours: Subject
  readonly other: Subject | undefined
}

async function run({ size: sizeName, progress, against }: BenchOptions): Promise<BenchResult> {
  const size = sizes[sizeName]
  const program = await Program.start(['--etcd=embedded'])
  const ceiling = await Ceiling.start()
  try {
    const begin = async (target: Target): Promise<Subject> => {
      progress(`${size.events} events are made at ${target.url}`)
      return { target, made: await makeEvents(target.url, size) }
    }
    const ours = await begin(new Target('ours', ofPort(program.port, program.process.pid)))
    const other = against && (await begin(new Target(against.url, against)))
    const stage = { size, program, ceiling, ours, other }
    const rows: (string | number)[][] = []
    const met: Floor[] = []
    const hash = createHash('sha256')
    for (const shape of shapes) {
      progress(shape.name)
      const { row, floors: some } = await measure(shape, stage)
      rows.push(row)
      met.push(...some)
      hash.update(`${row[0]} ${row[1]}\n`)
    }
    const names = ['ours', 'bare', ...(other === undefined ? [] : [other.target.name])]
    const columns = names.flatMap(name => [`${name}: first ms`, 'present ms', 'longest'])
    return {
      tables: [
        {
          title: `Watches that begin ${size.events} events behind`,
          columns: ['watch of', 'events', ...columns],
          rows,
        },
      ],
      floors: met,
      resultHash: hash.digest('hex').slice(0, 16),
    }
  } finally {
    await Promise.all([ceiling.stop(), program.stop()])
  }
}

function ofPort(port: number, pid: number | undefined): Against {
  return { url: `https://127.0.0.1:${port}`, pid }
}

/** Resumes watches at all servers in turn. */
async function measure(
  shape: Shape,
  { size, program, ceiling, ours, other }: Stage,
): Promise<{ readonly row: (string | number)[]; readonly floors: readonly Floor[] }> {
  const count = (size.events / size.objects) * shape.shareOf(size.objects)
  const path = pathOf(shape, ours.made)
  const copied = `${path}&timeoutSeconds=${size.copySeconds}`
  await ceiling.copy({ port: program.port, paths: [copied], headers: {} })
  const bare = new Target('bare', ofPort(ceiling.port, ceiling.pid))
  const subjects = [
    { target: ours.target, path, times: noTimes() },
    { target: bare, path: copied, times: noTimes() },
    ...(other === undefined
      ? []
      : [{ target: other.target, path: pathOf(shape, other.made), times: noTimes() }]),
  ]
  for (let round = 0; round < size.rounds; round++) {
    for (const { target, path: asked, times } of subjects) {
      const { firstMs, presentMs } = await resume(target.url, asked, count)
      times.firstMs.push(firstMs)
      times.presentMs.push(presentMs)
    }
  }
  const [own, least] = [subjects[0]!.times, subjects[1]!.times]
  return {
    row: [shape.name, count, ...subjects.flatMap(({ times }) => figuresOf(times))],
    floors: [
      {
        ...floorOf(`${shape.name}: first event`, median(own.firstMs)),
        limit: floors.firstMs,
        unit: 'ms',
      },
      {
        ...floorOf(`${shape.name}: present`, median(own.presentMs) / median(least.presentMs)),
        limit: floors.times,
        unit: 'times a bare server',
      },
    ],
  }
}

function noTimes(): Resumed {
  return { firstMs: [], presentMs: [] }
}

function floorOf(name: string, value: number): Pick<Floor, 'name' | 'value' | 'bound'> {
  return { name, value, bound: 'at most' }
}

function pathOf({ path }: Shape, made: Made): string {
  return `${path(made)}&resourceVersion=${made.revision}`
}

function figuresOf({ firstMs, presentMs }: Resumed): string[] {
  return [median(firstMs), median(presentMs), percentile(presentMs, 1)].map(ms => ms.toFixed(1))
}
