/** Lists without managed fields (KEP-5958), which clients throw away: against the whole ones that
 *  they are cut out of. */

import { createHash } from 'node:crypto'
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type BenchTable,
  type Floor,
  median,
} from '../bench.ts'
import { Program } from '../list/processes.ts'
import { Connection } from './requests.ts'

export const dropBench: Bench = {
  name: 'drop',
  summary: 'lists without managed fields against whole ones: processor, bytes, memory of both',
  run,
}

const forms = [
  ['JSON', 'application/json'],
  ['protobuf', 'application/vnd.kubernetes.protobuf'],
] as const

const sizes: Readonly<
  Record<BenchOptions['size'], { pods: number; rounds: number; cold: number }>
> = {
  small: { pods: 200, rounds: 1, cold: 1 },
  full: { pods: 10_000, rounds: 21, cold: 5 },
}

interface Cost {
  readonly cpuMs: number
  readonly bytes: number
}

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  const { pods, rounds, cold } = sizes[size]
  const args = ['--etcd=embedded', '--auth=none', '--serve-drop', `--generate=pods=${pods}`]
  const rows: BenchTable['rows'][number][] = []
  const floors: Floor[] = []
  const hash = createHash('sha256')
  for (const [name, accept] of forms) {
    progress(`${name}, first lists`)
    const firsts = { whole: [] as Cost[], dropped: [] as Cost[] }
    for (let i = 0; i < cold; i++) {
      firsts.whole.push(await firstCost(args, accept))
      firsts.dropped.push(await firstCost(args, dropping(accept)))
    }
    progress(`${name}, warm lists`)
    const warm = await warmCosts(args, accept, rounds)
    for (const [state, { whole, dropped }] of [
      ['first', firsts],
      ['warm', warm],
    ] as const) {
      const ratio = ratioOf(whole, dropped)
      rows.push([
        `${name}, ${state}`,
        median(whole.map(({ cpuMs }) => cpuMs)),
        median(dropped.map(({ cpuMs }) => cpuMs)),
        ratio,
        dropped[0]!.bytes / whole[0]!.bytes,
      ])
      floors.push({
        name: `${name}, ${state}: without managed fields against whole, processor`,
        value: ratio,
        bound: 'at most',
        limit: 0.7,
        unit: 'x',
      })
    }
    hash.update(String(warm.dropped[0]!.bytes < warm.whole[0]!.bytes))
  }
  progress('memory')
  const memory = await memoryOf(args)
  return {
    tables: [
      {
        title: `Lists of ${pods} pods: milliseconds of the processor`,
        columns: ['', 'whole', 'without managed fields', 'ratio', 'bytes'],
        rows,
      },
      {
        title: 'Resident megabytes after lists',
        columns: ['whole', 'whole and without managed fields', 'ratio'],
        rows: [[memory.one, memory.both, memory.both / memory.one]],
      },
    ],
    floors: [
      ...floors,
      {
        name: 'memory for both forms against one',
        value: memory.both / memory.one,
        bound: 'at most',
        limit: 1.2,
        unit: 'x',
      },
    ],
    resultHash: hash.digest('hex').slice(0, 16),
  }
}

function dropping(accept: string): string {
  return `${accept};drop=metadata.managedFields`
}

/** Middle ratio of lists that took turns. */
function ratioOf(whole: readonly Cost[], dropped: readonly Cost[]): number {
  return median(dropped.map(({ cpuMs }, i) => cpuMs / whole[i]!.cpuMs))
}

async function listed(program: Program, connection: Connection, accept: string): Promise<Cost> {
  const before = await program.cpuSeconds()
  const bytes = await connection.bytesOf('/api/v1/pods', accept)
  return { cpuMs: ((await program.cpuSeconds()) - before) * 1000, bytes }
}

/** The first list of a process. */
async function firstCost(args: readonly string[], accept: string): Promise<Cost> {
  const program = await Program.start(args)
  const connection = new Connection(program.port)
  try {
    await connection.connected
    await program.atRest()
    return await listed(program, connection, accept)
  } finally {
    connection.close()
    await program.stop()
  }
}

async function warmCosts(
  args: readonly string[],
  accept: string,
  rounds: number,
): Promise<{ whole: Cost[]; dropped: Cost[] }> {
  const program = await Program.start(args)
  const connection = new Connection(program.port)
  const costs = { whole: [] as Cost[], dropped: [] as Cost[] }
  try {
    for (let round = 0; round < rounds + 3; round++) {
      const whole = await listed(program, connection, accept)
      const dropped = await listed(program, connection, dropping(accept))
      if (round < 3) continue
      costs.whole.push(whole)
      costs.dropped.push(dropped)
    }
    return costs
  } finally {
    connection.close()
    await program.stop()
  }
}

/** Resident memory after lists in one form, and in both: of two processes. */
async function memoryOf(args: readonly string[]): Promise<{ one: number; both: number }> {
  const [[, json]] = forms
  const after = async (accepts: readonly string[]): Promise<number> => {
    const program = await Program.start(args)
    const connection = new Connection(program.port)
    try {
      for (let i = 0; i < 6; i++) {
        await connection.bytesOf('/api/v1/pods', accepts[i % accepts.length]!)
      }
      const metrics = (await program.get('/metrics', {})).toString()
      return Number(/^process_resident_memory_bytes (\S+)/m.exec(metrics)?.[1]) / 1024 / 1024
    } finally {
      connection.close()
      await program.stop()
    }
  }
  return { one: await after([json]), both: await after([json, dropping(json)]) }
}
