/** A rolling restart of two replicas over one etcd, behind a balancer, under watchers and lists:
 *  nobody sees an error, and each watcher is told every change once, in order, whichever replica it
 *  is at. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Teardown } from '../../support/etcd/etcd-cluster.ts'
import { ask } from '../../support/http/served.ts'
import { type Program, startProgram } from '../../support/program/program.ts'
import { openWatch } from '../../support/watch/watch-client.ts'
import { startBalancer } from './balancer.ts'
import { type ListsReport, startLists } from './lists.ts'

export interface RollingOptions {
  readonly pods: number
  readonly changesPerSecond: number
  readonly watchers: number
  readonly listsPerSecond: number
  /** `--shutdown-delay`, in seconds. */
  readonly shutdownDelay: number
  /** Time that both replicas run before and after each restart. */
  readonly settleMs: number
  /** Number of restarts, of the two in turn. */
  readonly restarts: number
  readonly progress: (message: string) => void
}

/** Its errors are all that clients saw and should not have seen. */
export interface RollingReport extends ListsReport {
  /** The longest time that the thread of watchers and balancer was busy: lists wait for that,
   *  too. */
  readonly balancerBusyMs: number
  /** Lists whose second page came from the other replica. */
  readonly crossed: number
  /** Number of changes that each watcher was told. */
  readonly changes: number
  /** Number of resumed watches, and of those that resumed from a bookmark's revision. */
  readonly resumes: number
  readonly fromBookmarks: number
}

interface Metadata {
  readonly namespace: string
  readonly name: string
  readonly resourceVersion: string
}

interface Page {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string }
  readonly items: readonly { readonly metadata: Metadata }[]
}

const path = '/api/v1/pods'
const kind = 'g=meta.k8s.io;v=v1'
const listHeaders = { accept: `application/json;as=PartialObjectMetadataList;${kind}` }
const watchHeaders = { accept: `application/json;as=PartialObjectMetadata;${kind}` }

class Watcher {
  /** Events that it was told: `<revision> <type> <namespace>/<name>`. */
  readonly told: string[] = []
  position: number
  resumes = 0
  fromBookmarks = 0
  #isAtBookmark = false
  #isStopped = false
  #close = (): void => {}

  constructor(position: number) {
    this.position = position
  }

  /** Watches until it is stopped, and resumes where it was whenever a watch ends in order. */
  async run(port: number): Promise<void> {
    try {
      await this.#watch(port)
    } catch (error) {
      // Its own leaving cuts its connection.
      if (!this.#isStopped) throw error
    }
  }

  async #watch(port: number): Promise<void> {
    while (!this.#isStopped) {
      const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${this.position}`
      const watch = await openWatch(port, { path: `${path}?${query}`, headers: watchHeaders })
      this.#close = () => watch.close()
      assert.equal(watch.status, 200)
      for (;;) {
        const frame = await watch.next()
        if (frame === undefined || this.#isStopped) break
        this.#take(frame)
      }
      if (this.#isStopped) return
      this.resumes++
      if (this.#isAtBookmark) this.fromBookmarks++
    }
  }

  #take(frame: Buffer): void {
    const { type, object } = JSON.parse(frame.toString()) as {
      type: string
      object: { metadata: Metadata }
    }
    assert.notEqual(type, 'ERROR', frame.toString())
    const { resourceVersion, namespace, name } = object.metadata
    const revision = Number(resourceVersion)
    this.#isAtBookmark = type === 'BOOKMARK'
    // A transaction may change several objects at one revision.
    assert.ok(revision >= this.position, `${revision} came after ${this.position}`)
    if (!this.#isAtBookmark) this.told.push(`${revision} ${type} ${namespace}/${name}`)
    this.position = revision
  }

  stop(): void {
    this.#isStopped = true
    this.#close()
  }
}

async function pageAt(port: number, query: string): Promise<Page> {
  const { status, body } = await ask(port, { path: `${path}?${query}`, headers: listHeaders })
  assert.equal(status, 200, body.toString())
  return JSON.parse(body.toString()) as Page
}

/** A list in two pages, each from where it is told. */
async function listInTwo(ports: readonly [number, number], pods: number): Promise<void> {
  const limit = Math.ceil(pods / 2)
  const first = await pageAt(ports[0], `limit=${limit}`)
  const token = first.metadata.continue
  assert.ok(token !== undefined, 'the first page has no token')
  const second = await pageAt(ports[1], `limit=${2 * pods}&continue=${encodeURIComponent(token)}`)
  assert.equal(second.metadata.resourceVersion, first.metadata.resourceVersion)
  assert.equal(second.metadata.continue, undefined)
  const names = [...first.items, ...second.items].map(({ metadata }) => nameOf(metadata))
  assert.equal(new Set(names).size, names.length, 'an object is on both pages')
}

function revisionsIn({ items }: Page): Map<string, string> {
  return new Map(items.map(({ metadata }) => [nameOf(metadata), metadata.resourceVersion]))
}

function nameOf({ namespace, name }: Metadata): string {
  return `${namespace}/${name}`
}

/** An etcd with a generated cluster in it that changes. */
async function startChangingEtcd(scope: Teardown, options: RollingOptions): Promise<string> {
  const { pods, changesPerSecond } = options
  const generated = [`--generate=pods=${pods}`, `--churn=${changesPerSecond}/s`]
  const child = spawn(
    process.execPath,
    ['.', 'serve', '--listen=none', '--etcd-listen=127.0.0.1:0', '--log-level=warn', ...generated],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  scope.teardown(async () => void child.kill())
  const [line] = (await once(child.stderr, 'data')) as [Buffer]
  const { etcd } = JSON.parse(line.toString()) as { etcd: string }
  return `http://${etcd.replace(/^http:\/\//, '')}`
}

export async function rollingRestart(
  scope: Teardown,
  options: RollingOptions,
): Promise<RollingReport> {
  const { pods, settleMs, progress } = options
  const etcd = await startChangingEtcd(scope, options)
  const start = (): Promise<Program> =>
    startProgram(scope, ['--etcd', etcd, '--shutdown-delay', String(options.shutdownDelay)])
  const balancer = await startBalancer(scope)
  const replicas = [await start(), await start()]
  for (const [i, { port }] of replicas.entries()) {
    balancer.place(i, port)
    await balancer.ready(i)
  }
  const errors: string[] = []
  const note = (error: unknown): void => void errors.push(String(error))
  const from = await pageAt(balancer.port, 'limit=0')
  const watchers = Array.from(
    { length: options.watchers },
    () => new Watcher(Number(from.metadata.resourceVersion)),
  )
  const watching = watchers.map(watcher => watcher.run(balancer.port).catch(note))
  const busy = monitorEventLoopDelay({ resolution: 10 })
  busy.enable()
  const lists = startLists({
    port: balancer.port,
    perSecond: options.listsPerSecond,
    firstPage: Math.ceil(pods / 2),
  })
  let crossed = 0
  for (let i = 0; i < options.restarts; i++) {
    await settle(settleMs)
    progress(`restarting replica ${i}`)
    assert.equal(await replicas[i]!.stop(), 0)
    await settle(settleMs)
    const renewed = await start()
    replicas[i] = renewed
    balancer.place(i, renewed.port)
    await balancer.ready(i)
    const [a = 0, b = 0] = replicas.map(({ port }) => port)
    for (const ports of [
      [a, b],
      [b, a],
    ] as const) {
      await listInTwo(ports, pods)
      crossed++
    }
  }
  await settle(settleMs)
  const report = await lists.stop()
  busy.disable()
  const last = await pageAt(balancer.port, '')
  errors.push(...report.errors)
  const changes = errors.length > 0 ? 0 : await compareAll(watchers, from, last)
  for (const watcher of watchers) watcher.stop()
  await Promise.all(watching)
  const sumOf = (count: (watcher: Watcher) => number): number =>
    watchers.reduce((sum, watcher) => sum + count(watcher), 0)
  return {
    ...report,
    errors,
    balancerBusyMs: Math.round(busy.max / 1e6),
    crossed,
    changes,
    resumes: sumOf(({ resumes }) => resumes),
    fromBookmarks: sumOf(({ fromBookmarks }) => fromBookmarks),
  }
}

/** Each watcher was told the same, and who began with the first list knows what the last one says.
 *  How many changes that took. */
async function compareAll(watchers: readonly Watcher[], from: Page, last: Page): Promise<number> {
  const end = Number(last.metadata.resourceVersion)
  const latest = performance.now() + 60_000
  while (watchers.some(({ position }) => position < end)) {
    assert.ok(performance.now() < latest, `watchers do not come to revision ${end}`)
    await settle(20)
  }
  const upToEnd = ({ told }: Watcher): string[] => told.filter(line => parseInt(line, 10) <= end)
  const told = upToEnd(watchers[0]!)
  assert.equal(new Set(told).size, told.length, 'a change was told twice')
  for (const watcher of watchers) assert.deepEqual(upToEnd(watcher), told)
  const known = revisionsIn(from)
  for (const line of told) {
    const [revision = '', type, name = ''] = line.split(' ')
    if (type === 'DELETED') known.delete(name)
    else known.set(name, revision)
  }
  assert.deepEqual(known, revisionsIn(last))
  return told.length
}

function settle(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}
