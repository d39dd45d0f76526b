/** The growth of figures with the number of objects: those of 10,000, 100,000 and 1,000,000 objects
 *  in a real etcd, one column each. `OBJECTS=10000,100000` takes fewer. */

import { createHash } from 'node:crypto'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startEtcd } from '../../test/support/etcd/etcd-cluster.ts'
import { findEtcd, type Program as Etcd } from '../../test/support/etcd/real-etcd.ts'
import { type Bench, type BenchOptions, type BenchResult, median } from '../bench.ts'
import { Http1Client } from '../list/http1-client.ts'
import type { Program } from '../list/processes.ts'
import { namespaceOf, podName } from '../watch/pods.ts'
import { measureChanges } from './changes.ts'
import { contentsOf, etcdFlags, fill } from './contents.ts'
import { readPages, readSelections, readWhole } from './reads.ts'
import { memoryOf, startProgram } from './subject.ts'

export const growthBench: Bench = {
  name: 'growth',
  summary: 'what grows with 10,000, 100,000 and 1,000,000 objects: starts, memory, reads, changes',
  run,
}

interface GrowthSize {
  readonly objects: readonly number[]
  readonly gets: number
  readonly pages: number
  readonly lists: number
  readonly changesMs: number
}

const sizes: Readonly<Record<BenchOptions['size'], GrowthSize>> = {
  small: { objects: [600, 1_200], gets: 20, pages: 2, lists: 1, changesMs: 200 },
  full: {
    objects: [10_000, 100_000, 1_000_000],
    gets: 2_000,
    pages: 20,
    lists: 5,
    changesMs: 10_000,
  },
}

const watchers = 100
const changesPerSecond = 200

/** Names of figures with their values, in the order of the table. */
type GrowthFigures = ReadonlyMap<string, number>

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  const etcd = await findEtcd('3.5')
  if (etcd.skip !== false) throw new Error(etcd.skip)
  const plan = sizes[size]
  const chosen = process.env['OBJECTS']?.split(',').map(Number)
  const objects = chosen ?? plan.objects
  const columns: GrowthFigures[] = []
  for (const count of objects) {
    const say = (stage: string): void => progress(`${count.toLocaleString('en-US')}: ${stage}`)
    columns.push(await measureSize(etcd, { ...plan, objects: count }, say))
  }
  const [first, last] = [columns[0]!, columns.at(-1)!]
  const names = [...first.keys()]
  const rows = names.map(name => [
    name,
    ...columns.map(column => column.get(name) ?? 0),
    (last.get(name) ?? 0) / (first.get(name) ?? 1),
  ])
  const shown = objects.map(count => count.toLocaleString('en-US'))
  const title = `What grows with objects (${(objects.at(-1)! / objects[0]!).toFixed(0)} times as many)`
  return {
    tables: [{ title, columns: ['', ...shown, 'times'], rows }],
    floors: [],
    resultHash: createHash('sha256').update(names.join()).digest('hex').slice(0, 16),
  }
}

interface Plan extends Omit<GrowthSize, 'objects'> {
  readonly objects: number
}

async function measureSize(
  etcd: Etcd,
  plan: Plan,
  progress: (stage: string) => void,
): Promise<GrowthFigures> {
  const tasks: (() => Promise<unknown>)[] = []
  const folder = mkdtempSync(join(tmpdir(), 'growth-'))
  try {
    const cluster = await startEtcd({ teardown: task => tasks.push(task) }, etcd, {
      flags: etcdFlags,
    })
    const [member] = cluster.members
    const { endpoint } = member!
    const contents = contentsOf(plan.objects)
    progress('filling etcd')
    await fill(endpoint, contents, 'a tenth')
    await fill(endpoint, contents, 'the others')
    // It lets go of the transactions that it keeps for members which are behind.
    await member!.kill()
    await member!.restart()
    const figures = new Map<string, number>()
    progress('a checkpoint')
    const file = join(folder, 'checkpoint.jsonl.gz')
    const startMs = performance.now()
    await save(endpoint, file)
    figures.set('a checkpoint is written, s', (performance.now() - startMs) / 1000)
    figures.set('a checkpoint, MB', statSync(file).size / 1e6)
    const fromFile = await started(endpoint, [`--checkpoint=${file}`])
    note(figures, 'start from a checkpoint', fromFile)
    await fromFile.program.stop()
    progress('start')
    const fromEtcd = await started(endpoint, [])
    tasks.push(() => fromEtcd.program.stop())
    note(figures, 'start from etcd', fromEtcd)
    await measureReads(figures, fromEtcd.program, plan, progress)
    progress('changes')
    const before = await fromEtcd.program.cpuSeconds()
    const { changesMs: ms } = plan
    const { program } = fromEtcd
    const changed = { endpoint, program, contents, watchers, perSecond: changesPerSecond, ms }
    const { changes, counted } = await measureChanges(changed)
    const cpu = (await fromEtcd.program.cpuSeconds()) - before
    figures.set('a change, ms of the processor', (cpu * 1000) / changes)
    figures.set('lag of a watch event, p50 ms', counted.lagP50Ms)
    figures.set('memory at the end, MB', memoryOf(program.process.pid).now / 1e6)
    return figures
  } finally {
    for (const task of tasks.toReversed()) await task()
    rmSync(folder, { recursive: true, force: true })
  }
}

interface StartFigures {
  readonly program: Program
  readonly seconds: number
  readonly cpuSeconds: number
  readonly bytes: number
}

async function started(endpoint: string, args: readonly string[]): Promise<StartFigures> {
  const { program, seconds } = await startProgram(endpoint, args)
  const cpuSeconds = await program.cpuSeconds()
  return { program, seconds, cpuSeconds, bytes: memoryOf(program.process.pid).now }
}

function note(figures: Map<string, number>, name: string, start: StartFigures): void {
  figures.set(`${name}, s`, start.seconds)
  figures.set(`${name}, s of the processor`, start.cpuSeconds)
  figures.set(`memory after a ${name}, MB`, start.bytes / 1e6)
}

async function save(endpoint: string, file: string): Promise<void> {
  const program = fileURLToPath(new URL('../../program/cli.js', import.meta.url))
  const args = [program, 'save', file, `--etcd=${endpoint}`, '--log-level=error']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  const [code] = (await once(child, 'exit')) as [number]
  if (code !== 0) throw new Error(`save has ended with ${code}`)
}

async function measureReads(
  figures: Map<string, number>,
  program: Program,
  { gets, pages, lists }: Plan,
  progress: (stage: string) => void,
): Promise<void> {
  progress('reads')
  const aPath = `/api/v1/namespaces/${namespaceOf(0)}/pods/${podName(0)}`
  figures.set(
    'a get at any revision, p50 ms',
    await getMs(program, `${aPath}?resourceVersion=0`, gets),
  )
  figures.set('a consistent get, p50 ms', await getMs(program, aPath, gets))
  await readPages(program, 2)
  const paged = await readPages(program, pages)
  figures.set('a page of 500, p50 ms', median(paged.timesMs))
  const once = { atOnce: 8, rounds: 1, from: 0 }
  const first = await readSelections(program, once)
  figures.set('a first selection by label, ms', Math.max(...first.timesMs))
  const later = await readSelections(program, { ...once, rounds: 8 })
  figures.set('a later selection, p50 ms', median(later.timesMs))
  const cold = await readWhole(program, 1, `${aPath}?resourceVersion=0`)
  figures.set('the whole list, MB', cold.bytes / 1e6)
  figures.set('a first whole list, ms', median(cold.timesMs))
  const warm = await readWhole(program, lists, `${aPath}?resourceVersion=0`)
  figures.set('a later whole list, p50 ms', median(warm.timesMs))
  figures.set('a get beside whole lists, p99 ms', warm.bystanderP99Ms)
}

async function getMs(program: Program, path: string, gets: number): Promise<number> {
  const client = await Http1Client.connect(program.port)
  const timesMs: number[] = []
  for (let i = 0; i < gets; i++) {
    const startMs = performance.now()
    const { status } = await client.get(path, {})
    if (status !== 200) throw new Error(`${path} is answered with ${status}`)
    timesMs.push(performance.now() - startMs)
  }
  client.close()
  return median(timesMs)
}
