/** The time of an administrator's get while somebody attacks, against its time without. The
 *  program, its etcd, its upstream, the attacker and the administrator are processes of their own.
 *  The attacker and the upstream stand for other machines, so they have the lowest priority here: a
 *  get must be late for what the program does, not because five processes share two cores. The
 *  program says how late its event loop was.
 *
 *  Processors are shared all the same. So the same attack goes against a second program, too, of
 *  which the administrator asks nothing: what his gets wait for then is the machine's. */

import { type ChildProcess, fork } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { constants, setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { admin, maps } from '../../test/support/attacks/door.ts'
import { ask } from '../../test/support/attacks/ask.ts'
import { freePort } from '../../test/support/program/ports.ts'
import type { Bench, BenchOptions, BenchResult, Floor } from '../bench.ts'
import { median, percentile } from '../bench.ts'
import { Http1Client } from '../list/http1-client.ts'
import { Program } from '../list/processes.ts'
import type { AttackName, FloodOrder } from './flood.ts'
import type { LoopReport } from './loop.ts'
import type { UpstreamOrder } from './upstream.ts'

export const attacksBench: Bench = {
  name: 'attacks',
  summary: "an administrator's gets while somebody attacks, against gets in peace",
  run,
}

const attacks: readonly AttackName[] = [
  'tokens that nobody has, HTTP/2',
  'tokens that nobody has, a connection each',
  'long selectors',
  'bodies that do not come',
  'bodies of nobody that do not come',
  'answers that nobody reads',
  'watches with selectors',
  'rapid resets',
  'endless headers',
  'windows of zero',
  'handshakes',
  'frames that carry nothing',
  'watch creates at etcd’s API',
  'unfinished messages at etcd’s API',
]

interface Pace {
  readonly rounds: number
  readonly quietMs: number
  readonly attackedMs: number
  readonly objects: number
  /** Share of each attack. */
  readonly share: number
}

const paces: Readonly<Record<BenchOptions['size'], Pace>> = {
  small: { rounds: 1, quietMs: 50, attackedMs: 50, objects: 50, share: 0.05 },
  // All attacks together take about four minutes.
  full: { rounds: 3, quietMs: 800, attackedMs: 1_400, objects: 1_000, share: 1 },
}

/** The times of gets: over a connection that is open, and over one of their own. */
interface Times {
  readonly open: readonly Time[]
  readonly own: readonly Time[]
  readonly loop: LoopReport
}

/** Milliseconds from a request to its response. */
interface Time {
  readonly wall: number
  /** Time of the processor that the program's main thread used meanwhile: what a get waited for the
   *  program itself. The machine's other work does not count. */
  readonly busy: number
}

/** Figures of one attack, of the gets of all rounds together. */
interface Row {
  readonly attack: AttackName
  readonly steps: number
  readonly quiet: Figures
  /** While somebody attacks the other program. */
  readonly elsewhere: Figures
  readonly attacked: Figures
}

interface Figures {
  readonly p50: number
  readonly p99: number
  readonly busyP99: number
  readonly ownP99: number
  /** Delay of the program's event loop, whatever it was late for. */
  readonly loopP99: number
  readonly collectedMax: number
}

async function run({ size, progress, only = [] }: BenchOptions): Promise<BenchResult> {
  const pace = paces[size]
  const tasks: (() => unknown)[] = []
  try {
    progress('starting')
    const attacked = await startAll(pace.objects, tasks)
    const flood = startChild('flood', tasks)
    const isAsked = (name: string): boolean =>
      only.length === 0 || only.some(word => name.includes(word))
    const rows: Row[] = []
    for (const attack of attacks.filter(isAsked)) {
      progress(attack)
      rows.push(await measure(attack, { ...attacked, flood, pace }))
    }
    return resultOf(rows)
  } finally {
    for (const task of tasks.toReversed()) await task()
  }
}

interface Attacked {
  readonly program: Program
  readonly etcdPort: number
  /** The other one, with the same options. */
  readonly other: Target
}

interface Target {
  readonly port: number
  readonly etcdPort: number
}

/** Two programs that answer from the mirror. */
async function startAll(objects: number, tasks: (() => unknown)[]): Promise<Attacked> {
  const [etcd] = (await once(startChild('etcd', tasks), 'message')) as [string]
  const child = startChild('upstream', tasks)
  const order: UpstreamOrder = { etcd, objects }
  child.send(order)
  const [upstream] = (await once(child, 'message')) as [string]
  const folder = await mkdtemp(join(tmpdir(), 'watchglass-attacks-'))
  tasks.push(() => rm(folder, { recursive: true }))
  const token = join(folder, 'token')
  await writeFile(token, 'own')
  const options = [
    `--etcd=${etcd}`,
    `--upstream=${upstream}`,
    `--upstream-token-file=${token}`,
    '--admin-listen=http://127.0.0.1:0',
    '--auth=delegate',
  ]
  const { program, etcdPort } = await startProgram(options, tasks)
  const other = await startProgram(options, tasks)
  return { program, etcdPort, other: { port: other.program.port, etcdPort: other.etcdPort } }
}

async function startProgram(
  options: readonly string[],
  tasks: (() => unknown)[],
): Promise<{ readonly program: Program; readonly etcdPort: number }> {
  const etcdPort = await freePort()
  const all = [...options, `--etcd-listen=127.0.0.1:${etcdPort}`]
  const program = await Program.start(all, new URL('loop.js', import.meta.url))
  tasks.push(() => program.stop())
  const { port } = program
  for (;;) {
    const { headers } = await ask({ protocol: 'https', port }, '1.1', { path, headers: admin })
    if (String(headers['x-watchglass']).startsWith('mirror')) return { program, etcdPort }
    await sleep(20)
  }
}

const path = `${maps}/map-0`

function startChild(name: 'etcd' | 'upstream' | 'flood', tasks: (() => unknown)[]): ChildProcess {
  const child = fork(fileURLToPath(new URL(`${name}.js`, import.meta.url)))
  if (child.pid !== undefined && name !== 'etcd') {
    setPriority(child.pid, constants.priority.PRIORITY_LOW)
  }
  tasks.push(() => {
    if (child.connected) child.disconnect()
  })
  return child
}

interface Measured extends Attacked {
  readonly flood: ChildProcess
  readonly pace: Pace
}

async function measure(attack: AttackName, measured: Measured): Promise<Row> {
  const { program, etcdPort, other, pace } = measured
  const quiet: Times[] = []
  const elsewhere: Times[] = []
  const attacked: Times[] = []
  let steps = 0
  const { port } = program
  await gets(program, pace.quietMs / 4)
  for (let i = 0; i < pace.rounds; i++) {
    quiet.push(await gets(program, pace.quietMs))
    elsewhere.push((await flooded({ ...other, attack }, measured)).times)
    const here = await flooded({ port, etcdPort, attack }, measured)
    attacked.push(here.times)
    steps += here.steps
  }
  return {
    attack,
    steps,
    quiet: figuresOf(quiet),
    elsewhere: figuresOf(elsewhere),
    attacked: figuresOf(attacked),
  }
}

/** Gets while somebody attacks the target. */
async function flooded(
  target: Omit<FloodOrder, 'share'>,
  { program, flood, pace }: Measured,
): Promise<{ readonly times: Times; readonly steps: number }> {
  const order: FloodOrder = { ...target, share: pace.share }
  flood.send(order)
  await sleep(pace.quietMs / 4)
  const times = await gets(program, pace.attackedMs)
  const over = once(flood, 'message') as Promise<[number]>
  flood.send('stop')
  const [steps] = await over
  await sleep(pace.quietMs / 2)
  return { times, steps }
}

/** Gets one after another for a while, with short pauses. */
async function gets({ port, process }: Program, forMs: number): Promise<Times> {
  await loopReport(process)
  const endMs = performance.now() + forMs
  const client = await Http1Client.connect(port)
  const pid = process.pid ?? 0
  const open = timesOf(
    { pid, endMs, pauseMs: 2 },
    async () => (await client.get(path, headers)).status,
  )
  const own = timesOf({ pid, endMs, pauseMs: 20 }, async () => {
    const alone = await Http1Client.connect(port)
    const { status } = await alone.get(path, headers)
    alone.close()
    return status
  })
  const times = { open: await open, own: await own, loop: await loopReport(process) }
  client.close()
  return times
}

const headers = { ...admin }

/** Since the last one. */
async function loopReport(program: ChildProcess): Promise<LoopReport> {
  const message = once(program, 'message') as Promise<[LoopReport]>
  program.send('report')
  return (await message)[0]
}

interface Gets {
  readonly pid: number
  readonly endMs: number
  readonly pauseMs: number
}

async function timesOf({ pid, endMs, pauseMs }: Gets, get: () => Promise<number>): Promise<Time[]> {
  const times: Time[] = []
  while (performance.now() < endMs || times.length === 0) {
    const startBusy = busyMs(pid)
    const startMs = performance.now()
    const status = await get()
    times.push({ wall: performance.now() - startMs, busy: busyMs(pid) - startBusy })
    if (status !== 200) throw new Error(`an administrator's get is answered with ${status}`)
    await sleep(pauseMs)
  }
  return times
}

/** Milliseconds that a main thread has had of the processor; 0 where there is no such file. */
function busyMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
  } catch {
    return 0
  }
}

function figuresOf(rounds: readonly Times[]): Figures {
  const walls = rounds.flatMap(({ open }) => open.map(({ wall }) => wall))
  const busy = rounds.flatMap(({ open }) => open.map(one => one.busy))
  const own = rounds.flatMap(round => round.own.map(({ wall }) => wall))
  return {
    p50: median(walls),
    p99: percentile(walls, 0.99),
    busyP99: percentile(busy, 0.99),
    ownP99: percentile(own, 0.99),
    loopP99: Math.max(...rounds.map(({ loop }) => loop.lateP99)),
    collectedMax: Math.max(...rounds.map(({ loop }) => loop.collectedMax)),
  }
}

const figureNames = ['p50', 'p99', 'busyP99', 'ownP99', 'loopP99', 'collectedMax'] as const

function resultOf(rows: readonly Row[]): BenchResult {
  const floors = rows.flatMap(({ attack, quiet, elsewhere, attacked }): Floor[] => {
    const common = { bound: 'at most', limit: 3 } as const
    const name = `p99 of a get under: ${attack}`
    return [
      { ...common, name, value: attacked.p99 / quiet.p99, unit: 'of that without' },
      { ...common, name, value: attacked.p99 / elsewhere.p99, unit: 'of that under it elsewhere' },
    ]
  })
  const table = {
    title:
      "Milliseconds of an administrator's get: without an attack, while another program is attacked, and with one",
    columns: [
      'attack',
      'steps',
      ...['p50', 'p99', 'busy p99', 'new p99', 'loop p99', 'gc max'].flatMap(name => [
        name,
        'elsewhere',
        'with',
      ]),
    ],
    rows: rows.map(({ attack, steps, quiet, elsewhere, attacked }) => [
      attack,
      steps,
      ...figureNames.flatMap(name => [quiet[name], elsewhere[name], attacked[name]]),
    ]),
  }
  const resultHash = createHash('sha256')
    .update(rows.map(row => row.attack).join())
    .digest('hex')
  return { tables: [table], floors, resultHash: resultHash.slice(0, 16) }
}
