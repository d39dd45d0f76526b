/** One row: so many objects of a kind in an etcd of its own, and what the program takes at its
 *  start, for whole lists, and while objects change. */

import { setTimeout as sleep } from 'node:timers/promises'
import { startEtcd } from '../../test/support/etcd/etcd-cluster.ts'
import type { Program as Etcd } from '../../test/support/etcd/real-etcd.ts'
import { GrpcClient } from '../../lib/etcd/grpc/client.ts'
import { Http1Client } from '../list/http1-client.ts'
import { Program } from '../list/processes.ts'
import { etcdFlags, writeObjects } from '../million/contents.ts'
import { memoryOf } from '../million/subject.ts'
import { ProcessUsage } from '../proxy/process-usage.ts'
import { atRate } from '../watch/at-rate.ts'
import type { Child } from '../watch/child.ts'
import type { Kind } from './kinds.ts'
import { startWatchers, type WatchersOrder } from './watchers.ts'

export interface RowPlan {
  readonly kind: Kind
  readonly objects: number
  readonly perSecond: number
  readonly watchers: number
  readonly changesMs: number
  /** The time for what is prepared after a start, and for collections. */
  readonly settleMs: number
  /** More starts, with so many threads each. */
  readonly threads: readonly number[]
}

/** A start with so many threads, and whole lists at once, so that each thread gets some. */
export interface ThreadsReport {
  readonly threads: number
  readonly readyBytes: number
  readonly listedBytes: number
}

export interface RowReport {
  readonly kind: string
  readonly objects: number
  /** The size of an object as it is stored, and in a list of JSON. */
  readonly storedBytes: number
  readonly jsonBytes: number
  readonly start: StartReport
  /** The times of the first whole list, and of the second. */
  readonly listSeconds: readonly [number, number]
  readonly listedBytes: number
  /** Changes without a watcher, and with all. */
  readonly alone: ChurnReport
  readonly watched: ChurnReport
  readonly churnedBytes: number
  readonly peakBytes: number
  readonly threads: readonly ThreadsReport[]
}

interface StartReport {
  readonly seconds: number
  readonly cpuSeconds: number
  readonly readyBytes: number
  readonly peakBytes: number
}

interface ChurnReport {
  readonly changes: number
  readonly events: number
  readonly seconds: number
  /** Time of the processor that the program took. */
  readonly cpuSeconds: number
}

/** A member keeps the last 5,000 transactions for others that are behind, so they are small. */
const transactionBytes = 128 * 1024
export async function measureRow(
  plan: RowPlan,
  etcd: Etcd,
  progress: (message: string) => void,
): Promise<RowReport> {
  const { kind, objects } = plan
  const tasks: (() => Promise<unknown>)[] = []
  try {
    const scope = { teardown: (task: () => Promise<unknown>) => tasks.push(task) }
    // A million pods and their log are larger than memory for them should be.
    const parent = process.env['TMPDIR'] ?? '/tmp'
    const cluster = await startEtcd(scope, etcd, { flags: etcdFlags, parent })
    const [member] = cluster.members
    const { endpoint } = member!
    progress('filling etcd')
    await writeObjects(endpoint, kind.before)
    const written = await writeObjects(endpoint, kind.objects(objects), transactionBytes)
    if (written.objects !== objects) throw new Error(`${written.objects} objects were written`)
    await member!.kill()
    await member!.restart()
    const one = await measureOne({ plan, endpoint, progress })
    const threads: ThreadsReport[] = []
    for (const count of plan.threads) {
      progress(`${count} threads`)
      threads.push(await measureThreads(endpoint, plan, count))
    }
    return { kind: kind.name, objects, storedBytes: written.bytes / objects, ...one, threads }
  } finally {
    for (const task of tasks.toReversed()) await task()
  }
}

interface Stage {
  readonly plan: RowPlan
  readonly endpoint: string
  readonly progress: (message: string) => void
}

type OneReport = Omit<RowReport, 'kind' | 'objects' | 'storedBytes' | 'threads'>

/** All but threads, with one process. */
async function measureOne({ plan, endpoint, progress }: Stage): Promise<OneReport> {
  const { kind, objects, settleMs } = plan
  progress('start')
  const { program, usage, ...start } = await measureStart(endpoint, plan, [])
  try {
    progress('lists')
    const first = await readList(program, kind)
    const second = await readList(program, kind)
    await sleep(settleMs)
    const listedBytes = memoryOf(program.process.pid).now
    progress('changes')
    const alone = await churn({ plan, program, usage, endpoint }, 0)
    const watched = await churn({ plan, program, usage, endpoint }, plan.watchers)
    await sleep(settleMs)
    const memory = memoryOf(program.process.pid)
    return {
      jsonBytes: second.bytes / objects,
      start,
      listSeconds: [first.seconds, second.seconds],
      listedBytes,
      alone,
      watched,
      churnedBytes: memory.now,
      peakBytes: memory.peak,
    }
  } finally {
    await program.stop()
  }
}

interface Started extends StartReport {
  readonly program: Program
  readonly usage: ProcessUsage
}

/** From nothing until /readyz says ok. */
async function measureStart(
  endpoint: string,
  plan: RowPlan,
  args: readonly string[],
): Promise<Started> {
  const startMs = performance.now()
  const program = await Program.start([`--etcd=${endpoint}`, ...args])
  await program.get('/readyz', {})
  const seconds = (performance.now() - startMs) / 1000
  const usage = new ProcessUsage(program.process, program.port)
  const cpuSeconds = await usage.cpuSeconds()
  await sleep(plan.settleMs)
  const { now: readyBytes, peak: peakBytes } = memoryOf(program.process.pid)
  return { program, usage, seconds, cpuSeconds, readyBytes, peakBytes }
}

async function measureThreads(
  endpoint: string,
  plan: RowPlan,
  threads: number,
): Promise<ThreadsReport> {
  const { program, readyBytes } = await measureStart(endpoint, plan, [`--threads=${threads}`])
  try {
    const lists = Array.from({ length: 4 * threads }, () => readList(program, plan.kind))
    await Promise.all(lists)
    await sleep(plan.settleMs)
    return { threads, readyBytes, listedBytes: memoryOf(program.process.pid).now }
  } finally {
    await program.stop()
  }
}

/** A whole list as JSON. */
async function readList(
  { port }: Program,
  { path }: Kind,
): Promise<{ readonly seconds: number; readonly bytes: number }> {
  const client = await Http1Client.connect(port)
  const startMs = performance.now()
  const { status, bytes } = await client.get(`${path}?resourceVersion=0`, {
    accept: 'application/json',
  })
  client.close()
  if (status !== 200) throw new Error(`${path} is answered with ${status}`)
  return { seconds: (performance.now() - startMs) / 1000, bytes }
}

interface Beside extends Pick<Stage, 'plan' | 'endpoint'>, Pick<Started, 'program' | 'usage'> {}

/** Changes of objects at a rate, to so many who watch all of them. */
async function churn(beside: Beside, watchers: number): Promise<ChurnReport> {
  const { plan, program, usage, endpoint } = beside
  const { kind, perSecond, changesMs } = plan
  const watching = startWatchers()
  const client = new GrpcClient({ endpoints: [endpoint], timeouts: { answerMs: 60_000 } })
  try {
    await watching.ask({ type: 'open', port: program.port, path: watchPath(kind), watchers })
    const cpuBefore = await usage.cpuSeconds()
    const startMs = performance.now()
    const writing = new Set<Promise<unknown>>()
    const write = (change: number): void => {
      const success = [{ type: 'put' as const, ...kind.changed(change + 1) }]
      const put: Promise<unknown> = client
        .txn({ compares: [], success, failure: [] })
        .finally(() => writing.delete(put))
      writing.add(put)
    }
    const changes = await atRate(perSecond, changesMs, write)
    await Promise.all(writing)
    const events = await eventsOf(watching, changes * watchers)
    const cpuSeconds = (await usage.cpuSeconds()) - cpuBefore
    return { changes, events, seconds: (performance.now() - startMs) / 1000, cpuSeconds }
  } finally {
    await watching.stop()
    await client.close()
  }
}

function watchPath({ path }: Kind): string {
  const fromNow = 'sendInitialEvents=false&resourceVersionMatch=NotOlderThan'
  return `${path}?watch=1&timeoutSeconds=3600&${fromNow}`
}

const eventsWaitMs = 60_000

/** Waits until so many events have come. */
async function eventsOf(watching: Child, expected: number): Promise<number> {
  for (const startMs = performance.now(); ;) {
    const order: WatchersOrder = { type: 'count' }
    const events = await watching.ask<number>(order)
    if (events === expected) return events
    if (events > expected || performance.now() - startMs > eventsWaitMs) {
      throw new Error(`${events} events have come of ${expected}`)
    }
    await sleep(20)
  }
}
