/** A controller with an informer, leader election, a work queue and status patches, while the
 *  server makes its requests fail: it converges, and its view equals the store. The seed decides
 *  the faults and the changes; what is under way at the same time is up to the machine. To have the
 *  same again: CONTROLLER_SEED=N. 5,000 objects: EFFORT=25. */

import { type ChildProcess, execFile, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { createRandom, randomInt, type Random } from '../../lib/base/random.ts'
import type { Report } from './controller/candidate.ts'
import {
  definition,
  type Gadget,
  group,
  isDone,
  keyOf,
  leaseName,
  plural,
  version,
} from './controller/gadgets.ts'
import { effort } from '../support/effort.ts'
import { serveHere } from '../support/program/serve-here.ts'
import { patient } from '../support/patience.ts'

const seed = Number(process.env['CONTROLLER_SEED'] ?? Math.floor(Math.random() * 1e9))
const objects = 200 * effort
const namespaces = ['default', 'red', 'green']
/** More than a busy machine takes; whoever does not converge by then never does. */
const patienceMs = patient(120_000 * effort)

/** Only requests of the candidates fail: the test's own say what is true. */
const faults = [
  'latency,delay=1ms..30ms,share=10%',
  'error,code=429,share=2%',
  'error,code=500,share=2%',
  'reset,after=100B,verb=patch,share=3%',
  'reset,after=64KB,verb=list,share=10%',
  'reset,after=64KB,verb=watch,share=20%',
  'watch-end,after=60',
  'watch-expired,after=40,share=50%',
  'stale,age=300ms,verb=list,share=50%',
]
const rules = [...faults.map(rule => `${rule},agent=node-fetch`), 'compact,every=2s']

t.test('a controller converges under faults, and its view equals the store', async t => {
  t.comment(`CONTROLLER_SEED=${seed}`)
  const random = createRandom(seed)
  const options = ['--fault-seed', String(seed), ...rules.flatMap(rule => ['--fault', rule])]
  const { address } = await serveHere(t, options)
  const store = new Store(address)
  await store.fill(random)
  const candidates = ['one', 'two'].map(identity => new Candidate(t, address, identity))
  try {
    await Promise.race(candidates.map(one => one.until(({ patches }) => patches >= objects / 4)))
    const leader = candidates.find(({ last }) => last.isLeading)!
    const other = candidates.find(one => one !== leader)!
    t.equal(other.last.patches, 0, 'only the leader works')
    const changed = store.change(random)
    await leader.kill()
    await changed
    await other.until(({ isLeading }) => isLeading)
    await Promise.race([store.converges(), other.ended()])
    t.strictSame(await store.leader(), other.identity)
    const counts = await store.faultCounts()
    t.comment(JSON.stringify({ ...other.last, ...Object.fromEntries(counts) }))
    t.ok(other.last.patches > 0 && other.last.retries > 0)
    const met = (type: string): number => counts.get(type) ?? 0
    for (const type of ['latency', 'error', 'reset', 'compact']) t.ok(met(type) > 0, `met: ${type}`)
    t.ok(met('watch-end') + met('watch-expired') > 0, 'a watch ended early')
    await other.sees(await store.gadgets())
  } catch (error) {
    const left = (await store.gadgets()).filter(one => !isDone(one))
    const reports = JSON.stringify(candidates.map(({ last }) => ({ ...last, gadgets: undefined })))
    t.comment(`${left.length} are not done, such as ${JSON.stringify(left[0])}`, reports)
    throw new Error(`CONTROLLER_SEED=${seed}: ${String(error)}`, { cause: error })
  }
})

t.test('the examples of docs/LOADTEST.md run', async t => {
  const { address } = await serveHere(t, [
    '--generate',
    'namespaces=5,pods=60,deployments=10,nodes=3',
    ...['latency,delay=1ms..5ms,share=10%', 'error,code=500,share=2%', 'watch-end,after=5'].flatMap(
      rule => ['--fault', rule],
    ),
  ])
  const run = async (...args: string[]): Promise<string> => {
    const [name, ...options] = args
    const command = [`deploy/examples/${name}.mjs`, ...options, address]
    return (await promisify(execFile)(process.execPath, command)).stdout
  }
  t.match(await run('controller', '--once'), /\b[1-9]\d* namespaces, 0 without policy/)
  const policies = await fetch(`${address}/apis/networking.k8s.io/v1/networkpolicies`)
  const names = ((await policies.json()) as { items: Gadget[] }).items.map(keyOf)
  t.ok(names.includes('default/default-deny'))
  t.match(
    await run('gitops', '--apps', '3', '--commits', '2'),
    /commit 1: 9 applied, 0 pruned, .*\ncommit 2: 9 applied, 3 pruned, /,
  )
  // A busy machine may answer nothing within a second.
  const [rows, secondsMax] = [/[1-9]\d* rows in [1-9]/, 100]
  let said = ''
  for (let seconds = 1; !rows.test(said) && seconds < secondsMax; seconds *= 4) {
    said = await run('dashboard', '--users', '1', '--seconds', String(seconds))
  }
  t.match(said, rows)
})

/** The truth: what the server holds, asked for without faults. */
class Store {
  readonly #address: string

  constructor(address: string) {
    this.#address = address
  }

  async fill(random: Random): Promise<void> {
    await this.#send('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', definition)
    for (const name of namespaces.slice(1)) {
      await this.#send('POST', '/api/v1/namespaces', { metadata: { name } })
    }
    await eventually('the resource is there', async () => {
      const { status } = await fetch(`${this.#address}/apis/${group}/${version}/${plural}`)
      return status === 200
    })
    const all = Array.from({ length: objects }, (_, i) => ({
      name: `gadget-${i}`,
      namespace: namespaces[i % namespaces.length]!,
      size: randomInt(random, 1, 9),
    }))
    await inTurns(all, one => this.#create(one))
  }

  /** New, other and no more gadgets. */
  async change(random: Random): Promise<void> {
    const before = await this.gadgets()
    const changes = Array.from({ length: objects / 10 }, (_, i) => ({
      gadget: before[randomInt(random, 0, before.length / 2 - 1) * 2]!.metadata,
      size: randomInt(random, 10, 99),
      name: `new-${i}`,
    }))
    await inTurns(changes, ({ gadget, size, name }, i) =>
      i % 4 === 0
        ? this.#create({ name, namespace: gadget.namespace, size })
        : this.#send('PATCH', pathOf(gadget), { spec: { size } }),
    )
    const odd = before.filter((_, i) => i % 2 === 1).slice(0, objects / 20)
    await inTurns(odd, ({ metadata }) => this.#send('DELETE', pathOf(metadata)))
  }

  async gadgets(): Promise<readonly Gadget[]> {
    const list = await this.#send('GET', `/apis/${group}/${version}/${plural}`)
    return (list as { items: Gadget[] }).items
  }

  async leader(): Promise<unknown> {
    const path = `/apis/coordination.k8s.io/v1/namespaces/default/leases/${leaseName}`
    const lease = await this.#send('GET', path)
    return (lease as { spec: { holderIdentity: string } }).spec.holderIdentity
  }

  converges(): Promise<void> {
    return eventually('every status says what its spec asks for', async () =>
      (await this.gadgets()).every(isDone),
    )
  }

  /** The number of times that each type of fault was met. */
  async faultCounts(): Promise<ReadonlyMap<string, number>> {
    const text = await (await fetch(`${this.#address}/metrics`)).text()
    const found = text.matchAll(/^watchglass_injected_faults_total\{\w+="([a-z-]+)"\} (\d+)$/gm)
    return new Map([...found].map(([, type = '', count]) => [type, Number(count)]))
  }

  #create(gadget: { name: string; namespace: string; size: number }): Promise<unknown> {
    const { name, namespace, size } = gadget
    const path = `/apis/${group}/${version}/namespaces/${namespace}/${plural}`
    const type = { apiVersion: `${group}/${version}`, kind: 'Gadget' }
    return this.#send('POST', path, { ...type, metadata: { name }, spec: { size } })
  }

  async #send(method: string, path: string, body?: unknown): Promise<unknown> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const response = await fetch(this.#address + path, {
      method,
      headers: { 'content-type': type },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`)
    return JSON.parse(text)
  }
}

/** A process with the controller. */
class Candidate {
  readonly identity: string
  readonly #process: ChildProcess
  readonly #exited: Promise<unknown>
  readonly #onReport: Set<(report: Report) => void> = new Set()
  last: Report = { isLeading: false, patches: 0, retries: 0, restarts: 0 }

  constructor(t: Test, address: string, identity: string) {
    this.identity = identity
    const file = fileURLToPath(new URL('controller/candidate.js', import.meta.url))
    this.#process = fork(file, [address, identity])
    this.#exited = once(this.#process, 'exit')
    this.#process.on('message', report => {
      this.last = report as Report
      for (const listener of this.#onReport) listener(this.last)
    })
    t.teardown(() => this.kill())
  }

  /** As a machine that loses power: nothing is given back. */
  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#exited
  }

  /** Rejects when its process has ended. */
  async ended(): Promise<never> {
    await this.#exited
    throw new Error(`candidate ${this.identity} has ended: ${JSON.stringify(this.last)}`)
  }

  /** Resolves with the first report of which that is true. */
  async until(isTrue: (report: Report) => boolean): Promise<Report> {
    let listener: (report: Report) => void = () => {}
    let timer: NodeJS.Timeout | undefined
    try {
      return await new Promise<Report>((resolve, reject) => {
        const give = (what: string): void =>
          reject(new Error(`candidate ${this.identity} ${what}: ${JSON.stringify(this.last)}`))
        listener = report => {
          if (isTrue(report)) resolve(report)
        }
        this.#onReport.add(listener)
        timer = setTimeout(() => give('takes too long'), patienceMs)
        void this.#exited.then(() => give('has ended'))
        listener(this.last)
      })
    } finally {
      clearTimeout(timer)
      this.#onReport.delete(listener)
    }
  }

  /** Its informer has exactly these. */
  async sees(wanted: readonly Gadget[]): Promise<void> {
    const want = sorted(wanted)
    let got: readonly Gadget[] = []
    await eventually('the informer has what the store has', async () => {
      this.last = { ...this.last, gadgets: undefined }
      this.#process.send('report')
      const { gadgets = [] } = await this.until(report => report.gadgets !== undefined)
      got = sorted(gadgets)
      return versionsOf(got) === versionsOf(want)
    })
    t.strictSame(got, want)
  }
}

/** Asks again and again until it is true. */
async function eventually(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const until = performance.now() + patienceMs
  while (!(await isTrue())) {
    if (performance.now() > until) throw new Error(`not within ${patienceMs} ms: ${what}`)
    await sleep(500)
  }
}

/** Does something to each, a few at a time. */
async function inTurns<T>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<unknown>,
): Promise<void> {
  const entries = items.entries()
  const worker = async (): Promise<void> => {
    for (const [i, item] of entries) await work(item, i)
  }
  await Promise.all(Array.from({ length: 8 }, worker))
}

function pathOf({ namespace, name }: Gadget['metadata']): string {
  return `/apis/${group}/${version}/namespaces/${namespace}/${plural}/${name}`
}

function sorted(gadgets: readonly Gadget[]): Gadget[] {
  return [...gadgets].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
}

function versionsOf(gadgets: readonly Gadget[]): string {
  return gadgets.map(one => `${keyOf(one)} ${one.metadata.resourceVersion}`).join('\n')
}
