/** Made-up controllers and nodes: pods a second from create to Running and to gone, and what a
 *  large cluster costs in which nothing happens but leases. */

import { setTimeout as sleep } from 'node:timers/promises'
import { ask } from '../../test/support/http/served.ts'
import type { Bench, BenchOptions, BenchResult } from '../bench.ts'
import { Program } from '../list/processes.ts'

export const actorsBench: Bench = {
  name: 'actors',
  summary: 'simulated pods a second to Running and to gone, and a large cluster at rest',
  run,
}

const sizes = {
  small: { pods: 30, atRest: { pods: 100, nodes: 5, seconds: 1 } },
  full: { pods: 10_000, atRest: { pods: 100_000, nodes: 1_000, seconds: 60 } },
}

const floor = { perSecond: 1_000, cores: 0.25, megabytes: 700 }

interface Run {
  readonly pods: number
  readonly seconds: number
  readonly cpuSeconds: number
}

interface Rest {
  readonly cores: number
  readonly megabytes: number
}

const simulating = ['--etcd=embedded', '--auth=none', '--simulate=all']
const deployments = '/apis/apps/v1/namespaces/default/deployments'

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  const { pods, atRest } = sizes[size]
  const { made, gone } = await measureRuns(pods, progress)
  progress('actors: a cluster at rest')
  const rest = await measureRest(atRest)
  const rows = [
    ['create to Running', pods, made.seconds, pods / made.seconds, costOf(made)],
    ['delete to gone', pods, gone.seconds, pods / gone.seconds, costOf(gone)],
  ]
  return {
    tables: [
      {
        title: 'Pods of one deployment, with their Events',
        columns: ['', 'pods', 'seconds', 'pods a second', 'ms of the processor each'],
        rows,
      },
      {
        title: `${atRest.pods} pods on ${atRest.nodes} nodes that renew their leases`,
        columns: ['cores', 'megabytes'],
        rows: [[rest.cores, rest.megabytes]],
      },
    ],
    floors: [
      atLeast('pods to Running', pods / made.seconds),
      atLeast('pods to gone', pods / gone.seconds),
      atMost('cores of a cluster at rest', rest.cores, floor.cores),
      atMost('megabytes of a cluster at rest', rest.megabytes, floor.megabytes),
    ],
    resultHash: String(made.pods + gone.pods),
  }
}

function costOf({ cpuSeconds, pods }: Run): number {
  return (cpuSeconds * 1000) / pods
}

function atLeast(name: string, value: number): BenchResult['floors'][number] {
  return { name, value, bound: 'at least', limit: floor.perSecond, unit: 'a second' }
}

function atMost(name: string, value: number, limit: number): BenchResult['floors'][number] {
  return { name, value, bound: 'at most', limit, unit: '' }
}

async function measureRuns(
  pods: number,
  progress: BenchOptions['progress'],
): Promise<{ made: Run; gone: Run }> {
  const program = await Program.start(simulating, undefined, 'http')
  try {
    await until(program, '/api/v1/nodes', ({ items = [] }) => items.length === 3)
    progress('actors: to Running')
    const made = await timed(program, pods, async () => {
      await send(program, 'POST', deployments, deployment(pods))
      await until(program, `${deployments}/web`, one => one.status?.availableReplicas === pods)
    })
    progress('actors: to gone')
    const gone = await timed(program, pods, async () => {
      await send(program, 'DELETE', `${deployments}/web?propagationPolicy=Background`)
      const path = '/api/v1/namespaces/default/pods?limit=1'
      await until(program, path, ({ items = [] }) => items.length === 0)
    })
    return { made, gone }
  } finally {
    await program.stop()
  }
}

async function timed(program: Program, pods: number, task: () => Promise<void>): Promise<Run> {
  const cpuBefore = await figure(program, 'process_cpu_seconds_total')
  const startMs = performance.now()
  await task()
  const seconds = (performance.now() - startMs) / 1000
  return {
    pods,
    seconds,
    cpuSeconds: (await figure(program, 'process_cpu_seconds_total')) - cpuBefore,
  }
}

async function measureRest({
  pods,
  nodes,
  seconds,
}: (typeof sizes)['full']['atRest']): Promise<Rest> {
  const generate = `--generate=pods=${pods},nodes=${nodes}`
  const program = await Program.start([...simulating, generate], undefined, 'http')
  try {
    // Everything has been looked at once after a while.
    await sleep(seconds * 500)
    const before = await figure(program, 'process_cpu_seconds_total')
    const startMs = performance.now()
    await sleep(seconds * 1000)
    const cpu = (await figure(program, 'process_cpu_seconds_total')) - before
    return {
      cores: (cpu * 1000) / (performance.now() - startMs),
      megabytes: (await figure(program, 'process_resident_memory_bytes')) / 1024 / 1024,
    }
  } finally {
    await program.stop()
  }
}

interface Answer {
  readonly items?: readonly unknown[]
  readonly status?: { readonly availableReplicas?: number }
}

async function send(
  { port }: Program,
  method: string,
  path: string,
  body?: object,
): Promise<Buffer> {
  const headers = { 'content-type': 'application/json' }
  const sent = body === undefined ? {} : { body: JSON.stringify(body) }
  const answer = await ask(port, { method, path, headers, ...sent })
  if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.body.toString()}`)
  return answer.body
}

async function until(
  program: Program,
  path: string,
  isDone: (answer: Answer) => boolean,
): Promise<void> {
  for (;;) {
    const { status, body } = await ask(program.port, { method: 'GET', path })
    // The mirror is late: like any client, the bench asks again.
    const isLate = status === 429
    if (!isLate && status >= 400) throw new Error(`GET ${path}: ${body.toString()}`)
    if (!isLate && isDone(JSON.parse(body.toString()) as Answer)) return
    await sleep(isLate ? 1_000 : 50)
  }
}

async function figure(program: Program, name: string): Promise<number> {
  const metrics = (await send(program, 'GET', '/metrics')).toString()
  return Number(new RegExp(`^${name} (\\S+)`, 'm').exec(metrics)?.[1])
}

function deployment(replicas: number): object {
  const labels = { app: 'web' }
  const containers = [{ name: 'web', image: 'nginx:1' }]
  const template = { metadata: { labels }, spec: { containers, terminationGracePeriodSeconds: 1 } }
  const strategy = { type: 'Recreate' }
  return {
    metadata: { name: 'web' },
    spec: { replicas, selector: { matchLabels: labels }, template, strategy },
  }
}
