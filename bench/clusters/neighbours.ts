/** Neighbours of one cluster of many (`serve --clusters`): how long gets in all others take while
 *  one is attacked, while one is restored, and while lists of its 100,000 pods are read, beside
 *  what they take in between. */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createHash } from 'node:crypto'
import { constants, setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../test/support/program/ports.ts'
import {
  atMost,
  type Bench,
  type BenchOptions,
  type BenchResult,
  median,
  percentile,
} from '../bench.ts'
import { Http1Client } from '../list/http1-client.ts'
import { Program } from '../list/processes.ts'
import { fillClusters, nameOf, readAtLast, startOwnEtcd } from './etcds.ts'
import { loadOf } from './load.ts'

export const neighboursBench: Bench = {
  name: 'neighbours',
  summary: 'gets in many clusters while another one is attacked, restored, or listed whole',
  run,
}

interface Size {
  readonly clusters: number
  readonly objects: number
  readonly pods: number
  /** Gets in each window; calm ones and disturbed ones take turns. */
  readonly gets: number
  readonly rounds: number
}

const sizes: Readonly<Record<BenchOptions['size'], Size>> = {
  small: { clusters: 3, objects: 5, pods: 50, gets: 20, rounds: 1 },
  full: { clusters: 499, objects: 200, pods: 100_000, gets: 2_000, rounds: 3 },
}

/** Mirrors of all clusters that are awake, and that nobody asks, take less. */
const restLoad = 0.5
const restMs = 500

/** A get, and a moment for others: readers of others do not wait for each other. */
const pauseMs = 2
const maps = '/api/v1/namespaces/default/configmaps'

type Disturbance = 'attacked' | 'restored' | 'listed'
const disturbances: readonly Disturbance[] = ['attacked', 'restored', 'listed']

interface Times {
  readonly calm: number[]
  readonly disturbed: number[]
}

async function run({ size, progress }: BenchOptions): Promise<BenchResult> {
  const plan = sizes[size]
  const [port, heavyPort] = [await freePort(), await freePort()]
  const etcd = startOwnEtcd(port)
  const heavy = new HeavyEtcd(heavyPort, plan.pods)
  const folder = await mkdtemp(join(tmpdir(), 'watchglass-neighbours-'))
  try {
    progress('filling etcd')
    heavy.start()
    await fillClusters(`http://127.0.0.1:${port}`, plan)
    const names = Array.from({ length: plan.clusters }, (_, i) => nameOf(i))
    const entries = names.map(name => `- {name: ${name}}\n`)
    const own = `- {name: heavy, etcd: 'http://127.0.0.1:${heavyPort}', prefix: /registry}\n`
    const file = join(folder, 'clusters.yaml')
    await writeFile(file, `clusters:\n${entries.join('')}${own}`)
    const fleet = await Program.start([
      '--admin-listen=none',
      '--auth=none',
      `--etcd=http://127.0.0.1:${port}`,
      '--prefix=/{cluster}',
      '--read-only',
      `--clusters=${file}`,
      '--idle-after=100000',
    ])
    try {
      return resultOf(plan, await measure(plan, fleet, { heavy, progress }))
    } finally {
      await fleet.stop()
    }
  } finally {
    etcd.kill()
    heavy.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** An etcd of ours with made-up pods, other ones each time that it is started. */
class HeavyEtcd {
  readonly #port: number
  readonly #pods: number
  #process: ChildProcess | undefined
  #seed = 0

  constructor(port: number, pods: number) {
    this.#port = port
    this.#pods = pods
  }

  start(): void {
    this.#seed++
    this.#process = startOwnEtcd(this.#port, [
      `--generate=pods=${this.#pods}`,
      `--seed=${this.#seed}`,
    ])
    elsewhere(this.#process)
  }

  async restore(): Promise<void> {
    const exited = this.#process && once(this.#process, 'exit')
    this.stop()
    await exited
    this.start()
  }

  stop(): void {
    this.#process?.kill()
  }
}

interface Surroundings {
  readonly heavy: HeavyEtcd
  readonly progress: (message: string) => void
}

async function measure(
  plan: Size,
  fleet: Program,
  { heavy, progress }: Surroundings,
): Promise<ReadonlyMap<Disturbance, Times>> {
  const client = await Http1Client.connect(fleet.port)
  progress('waking all')
  for (let i = 0; i < plan.clusters; i++) await readAtLast(client, `/clusters/${nameOf(i)}${maps}`)
  await readAtLast(client, '/clusters/heavy/api/v1/pods?limit=1')
  const times = new Map<Disturbance, Times>()
  for (const disturbance of disturbances) times.set(disturbance, { calm: [], disturbed: [] })
  for (let round = 0; round < plan.rounds; round++) {
    for (const [disturbance, { calm, disturbed }] of times) {
      progress(`${disturbance}, ${round + 1} of ${plan.rounds}`)
      // What another disturbance has left to do is no part of the next calm.
      while ((await loadOf(fleet, restMs)) > restLoad);
      calm.push(...(await getsOf(plan, client)))
      const end = await disturb(disturbance, fleet.port, heavy)
      disturbed.push(...(await getsOf(plan, client)))
      await end()
      await readAtLast(client, '/clusters/heavy/api/v1/pods?limit=1')
    }
  }
  client.close()
  return times
}

/** Milliseconds of gets, each of another cluster. */
async function getsOf({ gets, clusters, objects }: Size, client: Http1Client): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < gets; i++) {
    const map = `map-${String((i * 7) % objects).padStart(4, '0')}`
    const path = `/clusters/${nameOf((i * 31) % clusters)}${maps}/${map}`
    const startMs = performance.now()
    const { status } = await client.get(path, {})
    times.push(performance.now() - startMs)
    if (status !== 200) throw new Error(`${path} is answered with ${status}`)
    await sleep(pauseMs)
  }
  return times
}

/** Leaves the processor to the fleet and to those who are measured: whoever disturbs them has a
 *  machine of their own. */
function elsewhere({ pid }: ChildProcess): void {
  if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_LOW)
}

/** Begins it; answers how it ends. Those who attack and list have a process of their own. */
async function disturb(
  disturbance: Disturbance,
  port: number,
  heavy: HeavyEtcd,
): Promise<() => Promise<void>> {
  if (disturbance === 'restored') {
    await heavy.restore()
    return () => Promise.resolve()
  }
  const child = fork(fileURLToPath(new URL('disturber.js', import.meta.url)), [
    disturbance,
    String(port),
  ])
  elsewhere(child)
  await once(child, 'message')
  return async () => {
    const exited = once(child, 'exit')
    child.kill()
    await exited
  }
}

const rounded = (ms: number): number => Math.round(ms * 1000) / 1000

function resultOf(
  { clusters, objects, pods }: Size,
  times: ReadonlyMap<Disturbance, Times>,
): BenchResult {
  const ratioOf = ({ calm, disturbed }: Times): number =>
    percentile(disturbed, 0.99) / percentile(calm, 0.99)
  return {
    tables: [
      {
        title: `a get in one of ${clusters} clusters of ${objects} objects, beside one of ${pods} pods`,
        columns: ['the other one is', 'median', 'p99', 'longest', 'unit'],
        rows: [...times].flatMap(([disturbance, { calm, disturbed }]) =>
          [
            { name: 'left alone', all: calm },
            { name: disturbance, all: disturbed },
          ].map(({ name, all }) => [
            name,
            rounded(median(all)),
            rounded(percentile(all, 0.99)),
            rounded(Math.max(...all)),
            'ms',
          ]),
        ),
      },
    ],
    floors: [...times].map(([disturbance, all]) => {
      const name = `p99 of the others while one is ${disturbance}`
      return atMost(name, Math.round(ratioOf(all) * 100) / 100, 1.5, 'times')
    }),
    resultHash: createHash('sha256')
      .update(`${clusters} ${objects} ${pods}`)
      .digest('hex')
      .slice(0, 16),
  }
}
