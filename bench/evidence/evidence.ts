/** The time from when the program listens, a moment before it is ready, until reads are answered
 *  from the mirror, and what the comparisons cost the upstream until then: its requests and bytes a
 *  second, against those that it can answer when it is asked as fast as it can. Clients read
 *  meanwhile, as after the restart of a proxy; what passes for them is not counted as cost. */

import { type ChildProcess, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { Agent, get } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Bench, BenchOptions, BenchResult } from '../bench.ts'
import { Load, Program } from '../list/processes.ts'
import { clientHeader, type ReadableResource } from './client-header.ts'
import type { UpstreamCount, UpstreamReport } from './upstream.ts'

export const evidenceBench: Bench = {
  name: 'evidence',
  summary: 'from a start to answers from the mirror, and what that costs the upstream',
  run,
}

interface Size {
  readonly pods: number
  /** All, if it is left out. */
  readonly only?: readonly string[]
  readonly loadMs: number
}

const sizes: Readonly<Record<BenchOptions['size'], Size>> = {
  small: { pods: 20, only: ['configmaps', 'pods'], loadMs: 30 },
  full: { pods: 10_000, loadMs: 5_000 },
}

const wantedShare = 0.95
const pauseMs = 250
/** Then it is given up, and the time is this. */
const lastMs = 120_000

const accepts = {
  json: 'application/json',
  protobuf: 'application/vnd.kubernetes.protobuf,application/json',
  table: 'application/json;as=Table;g=meta.k8s.io;v=v1,application/json',
}

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  const { pods, only, loadMs } = sizes[size]
  progress(`an upstream with ${pods} pods`)
  const child = fork(fileURLToPath(new URL('upstream.js', import.meta.url)))
  child.send(pods)
  const [report] = (await once(child, 'message')) as [UpstreamReport]
  const resources = report.resources.filter(({ name }) => only?.includes(name) ?? true)
  const port = Number(new URL(report.url).port)
  const load = new Load()
  let program: Program | undefined
  try {
    progress('what the upstream can answer')
    const capacity = await capacityOf({ load, port, resources, loadMs })
    const before = await countOf(child)
    progress('until reads are answered from the mirror')
    program = await Program.start([
      `--etcd=${report.etcd}`,
      `--upstream=${report.url}`,
      '--upstream-ca=test/support/certs/ca.pem',
      '--auth=none',
      ...(only === undefined ? [] : [`--cache-only=${only.join(',')}`]),
    ])
    const reached = await untilAnswered(program.port, readsOf(resources), progress)
    const after = await countOf(child)
    const cost = { requests: after.requests - before.requests, bytes: after.bytes - before.bytes }
    return resultOf({ resources, reached, cost, capacity })
  } finally {
    await load.stop()
    await program?.stop()
    const exited = once(child, 'exit')
    child.disconnect()
    await exited
  }
}

interface Capacity {
  readonly requestsPerSecond: number
  readonly bytesPerSecond: number
}

interface Asked {
  readonly load: Load
  readonly port: number
  readonly resources: readonly ReadableResource[]
  readonly loadMs: number
}

/** Gets of all resources, for the requests; lists of pods, for the bytes. */
async function capacityOf({ load, port, resources, loadMs }: Asked): Promise<Capacity> {
  const target = { type: 'api' as const, port, version: '1.1' as const }
  const headers = { accept: accepts.json, [clientHeader]: '1' }
  const gets = resources.flatMap(({ objects }) => objects)
  const lists = resources.filter(({ name }) => name === 'pods').map(({ list }) => list)
  const order = { target, headers, ms: loadMs }
  // It is warm when it counts.
  await load.run({ ...order, paths: gets, inFlight: 16 })
  const got = await load.run({ ...order, paths: gets, inFlight: 16 })
  await load.run({ ...order, paths: lists, inFlight: 2 })
  const listed = await load.run({ ...order, paths: lists, inFlight: 2 })
  return {
    requestsPerSecond: got.requests / got.seconds,
    bytesPerSecond: listed.bytes / listed.seconds,
  }
}

async function countOf(child: ChildProcess): Promise<UpstreamCount> {
  child.send('count')
  const [count] = (await once(child, 'message')) as [UpstreamCount]
  return count
}

interface Read {
  readonly path: string
  readonly accept: string
}

/** Lists in each form, and gets. */
function readsOf(resources: readonly ReadableResource[]): Read[] {
  return resources.flatMap(({ list, objects }) => [
    ...Object.values(accepts).map(accept => ({ path: list, accept })),
    ...objects.map(path => ({ path, accept: accepts.json })),
  ])
}

interface Reached {
  readonly seconds: number
  /** Share of reads in the last round that the mirror answered. */
  readonly share: number
  readonly reads: number
  /** Reads that were not answered from the mirror. */
  readonly passed: readonly string[]
}

/** Rounds of all reads, until most are answered from the mirror. */
async function untilAnswered(
  port: number,
  reads: readonly Read[],
  progress: (message: string) => void,
): Promise<Reached> {
  const agent = new Agent({ keepAlive: true, maxSockets: 4, rejectUnauthorized: false })
  const readyMs = performance.now()
  try {
    for (;;) {
      const passed = await passedOf(port, reads, agent)
      const seconds = (performance.now() - readyMs) / 1000
      const share = 1 - passed.length / reads.length
      progress(`${(share * 100).toFixed(1)} % after ${seconds.toFixed(1)} s`)
      if (share >= wantedShare || seconds * 1000 > lastMs) {
        return { seconds, share, reads: reads.length, passed }
      }
      await sleep(pauseMs)
    }
  } finally {
    agent.destroy()
  }
}

/** Names the reads that are not answered from the mirror. */
async function passedOf(port: number, reads: readonly Read[], agent: Agent): Promise<string[]> {
  const origins = await Promise.all(reads.map(read => originOf(port, read, agent)))
  return reads.flatMap(({ path, accept }, i) => {
    const origin = origins[i] ?? ''
    return origin.startsWith('mirror') ? [] : [`${path} as ${accept}: ${origin}`]
  })
}

/** Who has answered. */
async function originOf(port: number, { path, accept }: Read, agent: Agent): Promise<string> {
  const headers = { accept, [clientHeader]: '1' }
  const request = get({ host: '127.0.0.1', port, path, headers, agent })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.resume()
  await once(response, 'end')
  return `${response.statusCode} ${String(response.headers['x-watchglass'])}`.replace(/^200 /, '')
}

interface Measured {
  readonly resources: readonly ReadableResource[]
  readonly reached: Reached
  readonly cost: UpstreamCount
  readonly capacity: Capacity
}

function resultOf({ resources, reached, cost, capacity }: Measured): BenchResult {
  const { seconds, share, reads, passed } = reached
  const requestShare = cost.requests / seconds / capacity.requestsPerSecond
  const byteShare = cost.bytes / seconds / capacity.bytesPerSecond
  const megabyte = 1024 * 1024
  const rows: (readonly [string, number, number, number])[] = [
    ['requests', cost.requests, cost.requests / seconds, capacity.requestsPerSecond],
    [
      'megabytes',
      cost.bytes / megabyte,
      cost.bytes / megabyte / seconds,
      capacity.bytesPerSecond / megabyte,
    ],
  ]
  return {
    tables: [
      {
        title: `${reads} reads of ${resources.length} resources`,
        columns: ['answered from the mirror, %', 'after, s'],
        rows: [[share * 100, seconds]],
      },
      {
        title: 'what that cost the upstream',
        columns: ['', 'until then', 'a second', 'it can answer a second'],
        rows,
      },
      {
        title: 'what still passes',
        columns: ['read'],
        rows: passed.map(read => [read]),
      },
    ],
    floors: [
      floor('time from ready to 95 % from the mirror', seconds, 30, 's'),
      floor("requests, of the upstream's capacity", requestShare * 100, 2, '%'),
      floor("bytes, of the upstream's capacity", byteShare * 100, 2, '%'),
    ],
    resultHash: createHash('sha256')
      .update(resources.map(({ name }) => name).join())
      .digest('hex')
      .slice(0, 16),
  }
}

function floor(
  name: string,
  value: number,
  limit: number,
  unit: string,
): BenchResult['floors'][number] {
  return { name, value, bound: 'at most', limit, unit }
}
