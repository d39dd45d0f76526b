/** The first whole list of 100,000 pods, and what the process holds after whole lists: with one
 *  thread that serves, and with several. */

import { createHash } from 'node:crypto'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startEtcd } from '../../test/support/etcd/etcd-cluster.ts'
import { findEtcd } from '../../test/support/etcd/real-etcd.ts'
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type BenchTable,
  type Floor,
  median,
  percentile,
} from '../bench.ts'
import { Program } from '../list/processes.ts'
import { etcdFlags } from './contents.ts'
import { type ListReport, startListReader } from './list-reader.ts'
import { memoryOf } from './subject.ts'
import type { ThreadReport } from './thread-probe.ts'

export const coldBench: Bench = {
  name: 'cold',
  summary: 'the first whole list of 100,000 pods, and memory after lists, with 1, 2 and 4 threads',
  run,
}

interface Size {
  readonly pods: number
  readonly rounds: number
  /** Whole lists at once, so that each thread gets some. */
  readonly atOnce: number
  /** With so many threads memory is compared with that of one. */
  readonly mostThreads: number
}

const sizes: Readonly<Record<BenchOptions['size'], Size>> = {
  small: { pods: 2_100, rounds: 1, atOnce: 2, mostThreads: 2 },
  full: { pods: 100_000, rounds: 3, atOnce: 12, mostThreads: 4 },
}

/** Four threads may take so many times the memory of one. */
const memoryMax = 1.6
/** The first list with two threads is written by one of them, as fast as with one. */
const speedMin = 0.9

/** Somebody who asks for one object meanwhile waits no longer than this. */
const waitMaxMs = 10
/** Nor does our own code hold a thread that serves for longer. The machine, which has as many busy
 *  threads as processors, is not counted. */
const turnMaxMs = 10

const settleMs = 4_000
const pods = '/api/v1/pods?resourceVersion=0'
const probe = new URL('thread-probe.js', import.meta.url)

interface Report {
  readonly threads: number
  readonly coldMs: number
  readonly bytes: number
  /** Waits of somebody else who asks for one object meanwhile. */
  readonly waitsMs: readonly number[]
  /** Turns of each thread that serves. */
  readonly turns: readonly ThreadReport[]
  readonly idleBytes: number
  /** After lists through each thread; where they were asked for. */
  readonly heldBytes: number | undefined
}

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  const etcd = await findEtcd('3.5')
  if (etcd.skip !== false) throw new Error(etcd.skip)
  const plan = sizes[size]
  const tasks: (() => Promise<unknown>)[] = []
  const scope = { teardown: (task: () => Promise<unknown>) => tasks.push(task) }
  try {
    const cluster = await startEtcd(scope, etcd, { flags: etcdFlags })
    const { endpoint } = cluster.members[0]!
    progress('filling etcd')
    const cli = fileURLToPath(new URL('../../program/cli.js', import.meta.url))
    const filling = ['generate', '--etcd', endpoint, '--log-level=error', `pods=${plan.pods}`]
    await promisify(execFile)(process.execPath, [cli, ...filling])
    const reports: Report[] = []
    for (let round = 0; round < plan.rounds; round++) {
      for (const threads of [1, 2]) {
        progress(`round ${round + 1}, ${threads} threads`)
        const isForMemory = round === 0 && (threads === 1 || threads === plan.mostThreads)
        reports.push(await measure(endpoint, threads, isForMemory ? plan.atOnce : 0))
      }
    }
    if (plan.mostThreads > 2) {
      progress(`${plan.mostThreads} threads`)
      reports.push(await measure(endpoint, plan.mostThreads, plan.atOnce))
    }
    return {
      tables: [tableOf(reports)],
      floors: floorsOf(reports, plan.mostThreads),
      resultHash: hashOf(reports),
    }
  } finally {
    for (const task of tasks.toReversed()) await task()
  }
}

async function measure(endpoint: string, threads: number, atOnce: number): Promise<Report> {
  const args = [`--etcd=${endpoint}`, `--threads=${threads}`]
  const program = await Program.start(args, probe, 'http')
  const reader = startListReader()
  try {
    const { port } = program
    // What is prepared after the start would take its part of the processors.
    await new Promise(resolve => setTimeout(resolve, settleMs))
    const idleBytes = memoryOf(program.process.pid).now
    const aPod = await firstPod(port)
    await get(port, aPod)
    const waitsMs: number[] = []
    let isOver = false
    const standBy = async (): Promise<void> => {
      while (!isOver) {
        const startMs = performance.now()
        await get(port, aPod)
        waitsMs.push(performance.now() - startMs)
        await new Promise(resolve => setTimeout(resolve, 5))
      }
    }
    program.process.send('begin')
    const standing = standBy()
    const { bytes, ms: coldMs } = await reader.ask<ListReport>({ port, path: pods })
    isOver = true
    await standing
    const turns = await turnsOf(program, threads)
    await Promise.all(Array.from({ length: atOnce }, () => read(port, pods)))
    const heldBytes = atOnce === 0 ? undefined : memoryOf(program.process.pid).now
    return { threads, coldMs, bytes, waitsMs, turns, idleBytes, heldBytes }
  } finally {
    await reader.stop()
    await program.stop()
  }
}

/** The turns of the threads that serve: the main one alone, or all others. */
async function turnsOf(program: Program, threads: number): Promise<ThreadReport[]> {
  const reports: ThreadReport[] = []
  const all = threads === 1 ? 1 : threads + 1
  // Several may come at once.
  await new Promise<void>(resolve => {
    program.process.on('message', (report: ThreadReport) => {
      if (reports.push(report) === all) resolve()
    })
    program.process.send('end')
  })
  return reports.filter(({ isMain }) => isMain === (threads === 1))
}

interface Answer {
  readonly bytes: number
  /** The first piece that came. */
  readonly beginning: string
}

/** A client that costs little: it counts, and looks for the end. */
async function read(port: number, path: string): Promise<Answer> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`)
  let bytes = 0
  let beginning = ''
  socket.on('data', (piece: Buffer) => {
    if (bytes === 0) beginning = piece.toString('latin1')
    bytes += piece.length
  })
  await once(socket, 'close')
  if (!beginning.startsWith('HTTP/1.1 200')) throw new Error(`${path}: ${beginning.slice(0, 200)}`)
  return { bytes, beginning }
}

const agent = new Agent({ keepAlive: true })

/** On a connection that stays. */
async function get(port: number, path: string): Promise<void> {
  const asked = request({ port, host: '127.0.0.1', path, agent }).end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'end')
  const { statusCode } = response
  if (statusCode !== 200) throw new Error(`${path} is answered with ${statusCode}`)
}

async function firstPod(port: number): Promise<string> {
  const { beginning } = await read(port, '/api/v1/pods?limit=1')
  const [, name = ''] = /"metadata":\{"name":"([^"]+)"/.exec(beginning) ?? []
  const [, namespace = ''] = /"namespace":"([^"]+)"/.exec(beginning) ?? []
  return `/api/v1/namespaces/${namespace}/pods/${name}?resourceVersion=0`
}

function tableOf(reports: readonly Report[]): BenchTable {
  return {
    title: `The first whole list has ${(reports[0]!.bytes / 1e6).toFixed(0)} MB`,
    columns: [
      'threads',
      'first list ms',
      'a get p50 ms',
      'p99 ms',
      'longest ms',
      'longest turn of ours',
      'of the collector',
      'without a processor ms',
      'MB before',
      'MB after',
    ],
    rows: reports.map(({ threads, coldMs, waitsMs, turns, idleBytes, heldBytes }) => [
      threads,
      coldMs,
      percentile(waitsMs, 0.5),
      percentile(waitsMs, 0.99),
      Math.max(...waitsMs),
      ownMaxMs(turns),
      Math.max(...turns.map(({ collectorMaxMs }) => collectorMaxMs)),
      Math.max(...turns.map(({ queuedMs }) => queuedMs)),
      idleBytes / 1e6,
      heldBytes === undefined ? '' : heldBytes / 1e6,
    ]),
  }
}

function ownMaxMs(turns: readonly ThreadReport[]): number {
  return Math.max(...turns.map(turn => turn.ownMaxMs))
}

function floorsOf(reports: readonly Report[], most: number): Floor[] {
  const of = (threads: number): Report[] => reports.filter(report => report.threads === threads)
  const cold = (threads: number): number => median(of(threads).map(({ coldMs }) => coldMs))
  const held = (threads: number): number => of(threads)[0]?.heldBytes ?? NaN
  return [
    {
      name: 'the first list with two threads',
      value: cold(1) / cold(2),
      bound: 'at least',
      limit: speedMin,
      unit: 'times as fast as with one',
    },
    {
      name: 'a get beside the first list with two threads, p99',
      value: median(of(2).map(({ waitsMs }) => percentile(waitsMs, 0.99))),
      bound: 'at most',
      limit: waitMaxMs,
      unit: 'ms',
    },
    {
      name: 'the longest turn of our own beside it',
      value: median(of(2).map(({ turns }) => ownMaxMs(turns))),
      bound: 'at most',
      limit: turnMaxMs,
      unit: 'ms',
    },
    {
      name: `memory after whole lists with ${most} threads`,
      value: held(most) / held(1),
      bound: 'at most',
      limit: memoryMax,
      unit: 'times that with one',
    },
  ]
}

/** All threads write the same list. */
function hashOf(reports: readonly Report[]): string {
  const bytes = [...new Set(reports.map(report => report.bytes))]
  return createHash('sha256').update(bytes.join(' ')).digest('hex').slice(0, 16)
}
