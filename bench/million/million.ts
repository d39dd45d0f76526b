/** A million objects in a real etcd: how long a start takes and what it holds, pages, selections,
 *  whole lists, and a thousand changes a second, with the longest turns of the event loop of
 *  each. */

import { createHash } from 'node:crypto'
import { startEtcd } from '../../test/support/etcd/etcd-cluster.ts'
import { findEtcd } from '../../test/support/etcd/real-etcd.ts'
import type { Bench, BenchOptions, BenchResult } from '../bench.ts'
import { Ceiling, type Program } from '../list/processes.ts'
import { namespaceOf, podName } from '../watch/pods.ts'
import { measureChanges } from './changes.ts'
import { type Contents, contentsOf, etcdFlags, fill } from './contents.ts'
import { readCeiling, readPages, readSelections, readWhole } from './reads.ts'
import { type Figures, floorsOf, type StartReport, tablesOf } from './report.ts'
import { memoryOf, startProgram } from './subject.ts'

export const millionBench: Bench = {
  name: 'million',
  summary: 'a million objects in a real etcd: start, memory, pages, selections, lists, changes',
  run,
}

interface Size {
  readonly objects: number
  readonly pages: number
  readonly lists: number
  readonly watchers: number
  readonly changesPerSecond: number
  readonly changesMs: number
}

const sizes: Readonly<Record<BenchOptions['size'], Size>> = {
  small: {
    objects: 2_000,
    pages: 2,
    lists: 1,
    watchers: 4,
    changesPerSecond: 50,
    changesMs: 200,
  },
  full: {
    objects: 1_000_000,
    pages: 400,
    lists: 5,
    watchers: 200,
    changesPerSecond: 1_000,
    changesMs: 15_000,
  },
}

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  const etcd = await findEtcd('3.5')
  if (etcd.skip !== false) throw new Error(etcd.skip)
  const plan = { ...sizes[size], ...chosenObjects() }
  const tasks: (() => Promise<unknown>)[] = []
  try {
    const cluster = await startEtcd({ teardown: task => tasks.push(task) }, etcd, {
      flags: etcdFlags,
    })
    const [member] = cluster.members
    const { endpoint } = member!
    const contents = contentsOf(plan.objects)
    const withNone = await measureStart(endpoint, 0)
    progress('filling etcd with a tenth')
    const fillMs = performance.now()
    const tenth = await fill(endpoint, contents, 'a tenth')
    progress(`starting with ${tenth} objects`)
    const withTenth = await measureStart(endpoint, tenth)
    progress('filling etcd')
    await fill(endpoint, contents, 'the others')
    const fillSeconds = (performance.now() - fillMs) / 1000
    // It lets go of the transactions that it keeps for members which are behind.
    await member!.kill()
    await member!.restart()
    progress(`starting with ${plan.objects} objects`)
    const { program, seconds } = await startProgram(endpoint)
    tasks.push(() => program.stop())
    const bytes = memoryOf(program.process.pid).now
    const withAll = { objects: plan.objects, seconds, bytes }
    const figures = await measureReads({ program, endpoint, contents, plan, progress, tasks })
    const { now, peak } = memoryOf(program.process.pid)
    const all: Figures = {
      fillSeconds,
      starts: [withNone, withTenth, withAll],
      ...figures,
      heldBytes: now,
      peakBytes: peak,
      etcdBytes: memoryOf(member!.processId).now,
    }
    return { tables: tablesOf(all), floors: floorsOf(all), resultHash: hashOf(all) }
  } finally {
    for (const task of tasks.toReversed()) await task()
  }
}

/** For a look at fewer: `OBJECTS=100000`. */
function chosenObjects(): { readonly objects?: number } {
  const text = process.env['OBJECTS']
  return text === undefined ? {} : { objects: Number(text) }
}

async function measureStart(endpoint: string, objects: number): Promise<StartReport> {
  const { program, seconds } = await startProgram(endpoint)
  const bytes = memoryOf(program.process.pid).now
  await program.stop()
  return { objects, seconds, bytes }
}

interface Stage {
  readonly program: Program
  readonly endpoint: string
  readonly contents: Contents
  readonly plan: Size
  readonly progress: (message: string) => void
  readonly tasks: (() => Promise<unknown>)[]
}

type ReadFigures = Omit<Figures, 'fillSeconds' | 'starts' | 'heldBytes' | 'peakBytes' | 'etcdBytes'>

async function measureReads(stage: Stage): Promise<ReadFigures> {
  const { program, endpoint, contents, plan, progress, tasks } = stage
  progress('pages of 500')
  // Code is compiled when it is needed first.
  await readPages(program, 2)
  const pages = await readPages(program, plan.pages)
  progress('selections')
  const firstSelections = await readSelections(program, { atOnce: 8, rounds: 1, from: 0 })
  const laterSelections = await readSelections(program, { atOnce: 8, rounds: 8, from: 0 })
  const aPath = `/api/v1/namespaces/${namespaceOf(0)}/pods/${podName(0)}?resourceVersion=0`
  progress('the first whole list')
  const cold = await readWhole(program, 1, aPath)
  progress('whole lists, again and again')
  const warm = await readWhole(program, plan.lists, aPath)
  const ceiling = await Ceiling.start()
  tasks.push(() => ceiling.stop())
  const ceilingMs = await readCeiling(ceiling, { bytes: warm.bytes, lists: plan.lists })
  await ceiling.stop()
  progress('changes')
  const { watchers, changesPerSecond: perSecond, changesMs: ms } = plan
  const changes = await measureChanges({ endpoint, program, contents, watchers, perSecond, ms })
  return { pages, firstSelections, laterSelections, cold, warm, ceilingMs, changes }
}

/** The hash of the sizes of answers, which stay as they are. */
function hashOf({ pages, cold, warm, laterSelections }: Figures): string {
  const bytes = [pages, cold, warm, laterSelections].map(report => report.bytes)
  return createHash('sha256').update(bytes.join(' ')).digest('hex').slice(0, 16)
}
