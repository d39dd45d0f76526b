/** Watchers that come, read for a while, fast or slowly, and go. What each was told is compared
 *  with what has changed in etcd. */

import assert from 'node:assert/strict'
import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { type Random, randomInt, randomItem } from '../../../../lib/base/random.ts'
import type { Client, Watch } from './client.ts'
import {
  type KubeObject,
  type Resource,
  type Selection,
  configMaps,
  metadataText,
} from './objects.ts'
import { everything, pods, withLabel } from './objects.ts'
import type { Outcomes } from './outcomes.ts'
import type { StoredObject, Truth } from './truth.ts'

export interface WatchesOptions {
  readonly clients: readonly Client[]
  readonly truth: Truth
  readonly random: Random
  readonly outcomes: Outcomes
  readonly count: number
}

interface Told {
  readonly type: string
  readonly revision: number
  readonly name: string
  readonly text: string
}

const longestMs = 90_000
/** A change that a client that reads has not been told of for so long is lost. Longer than etcd
 *  takes for an election. */
const lateMs = 45_000

/** Keeps a number of watchers going until it is stopped. */
export class Watches {
  readonly #options: WatchesOptions
  readonly #leaving = new AbortController()
  readonly #running: Promise<void>[]

  constructor(options: WatchesOptions) {
    this.#options = options
    setMaxListeners(options.count, this.#leaving.signal)
    this.#running = Array.from({ length: options.count }, () => this.#keepWatching())
  }

  async stop(): Promise<void> {
    this.#leaving.abort()
    await Promise.all(this.#running)
  }

  async #keepWatching(): Promise<void> {
    const { clients, random, outcomes } = this.#options
    while (!this.#leaving.signal.aborted) {
      const client = randomItem(random, clients)
      const what = `${client.program.name} watch`
      try {
        outcomes.count(`${what} ${await this.#watchOnce(client)}`)
      } catch (error) {
        outcomes.failed(what, error)
      }
      await pause(randomInt(random, 0, 2000))
    }
  }

  async #watchOnce(client: Client): Promise<string> {
    const { truth, random } = this.#options
    const resource = randomItem(random, [pods, configMaps])
    const selection = selectionOf(random, resource)
    const from = Math.max(truth.first, truth.latest - randomInt(random, 0, 100))
    const isInitial = randomInt(random, 0, 4) === 0
    const start = isInitial
      ? 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan'
      : `resourceVersion=${from}`
    const path = `/api/v1/${resource.name}?watch=1&allowWatchBookmarks=true&${start}&${selection.query}`
    const watch = await client.watch(path, randomItem(random, ['1.1', '2']))
    const log = new WatchLog({
      truth,
      resource,
      selection,
      from: isInitial ? undefined : from,
      path,
    })
    const isSlow = randomInt(random, 0, 5) === 0
    const leave = setTimeout(() => watch.close(), randomInt(random, 1000, longestMs))
    const abort = (): void => watch.close()
    this.#leaving.signal.addEventListener('abort', abort)
    try {
      if (watch.status !== 200) return String(watch.status)
      const end = await readAll(watch, log, isSlow ? 200 : 0)
      await log.compare(
        isSlow || client.program.name === 'faulty' ? undefined : Date.now() - lateMs,
      )
      return end
    } finally {
      clearTimeout(leave)
      this.#leaving.signal.removeEventListener('abort', abort)
      watch.close()
    }
  }
}

/** Reads until the watch ends: in order, with an error, or cut off. */
async function readAll(watch: Watch, log: WatchLog, pauseMs: number): Promise<string> {
  try {
    for (;;) {
      const frame = await watch.next()
      if (frame === undefined) return 'ended'
      const code = log.take(frame)
      if (code !== undefined) return `error ${code}`
      if (pauseMs > 0) await pause(pauseMs)
    }
  } catch (error) {
    if (error instanceof assert.AssertionError) throw error
    return 'left'
  }
}

function selectionOf(random: Random, resource: Resource): Selection {
  if (resource === pods || randomInt(random, 0, 1) === 0) return everything
  return withLabel('part', `${randomInt(random, 0, 4)}`)
}

interface WatchLogOptions {
  readonly truth: Truth
  readonly resource: Resource
  readonly selection: Selection
  /** Revision that it begins at; undefined with initial events. */
  readonly from: number | undefined
  readonly path: string
}

/** The events of one watcher. */
class WatchLog {
  readonly #options: WatchLogOptions
  readonly #initial: Told[] = []
  readonly #told: Told[] = []
  /** Undefined while initial events come. */
  #from: number | undefined
  #position = 0

  constructor(options: WatchLogOptions) {
    this.#options = options
    this.#from = options.from
    this.#position = options.from ?? 0
  }

  /** The code of an error, which ends the watch. */
  take(frame: Buffer): number | undefined {
    const { type, object } = JSON.parse(frame.toString()) as {
      type: string
      object: KubeObject & { code?: number }
    }
    if (type === 'ERROR') return object.code
    const { namespace, name, resourceVersion, annotations } = object.metadata
    const revision = Number(resourceVersion)
    if (type === 'BOOKMARK') {
      assert.ok(revision >= this.#position, `a bookmark at ${revision} after ${this.#position}`)
      if (annotations?.['k8s.io/initial-events-end'] === 'true') this.#from = revision
      this.#position = revision
      return undefined
    }
    const told = { type, revision, name: `${namespace}/${name}`, text: metadataText(object) }
    if (this.#from === undefined) {
      this.#initial.push(told)
      return undefined
    }
    assert.ok(revision >= this.#position, `${revision} came after ${this.#position}`)
    this.#position = revision
    this.#told.push(told)
    return undefined
  }

  /** It was told everything up to its position; if it had to be quick, also what is older than a
   *  time. */
  async compare(olderThanMs: number | undefined): Promise<void> {
    const { truth, path } = this.#options
    const from = this.#from
    if (from === undefined) return
    await truth.reach(this.#position)
    if (this.#options.from === undefined) {
      assert.deepEqual(byName(this.#initial), byName(this.#initialAt(from)), `${path} at ${from}`)
    }
    const about = `${path} from ${from} to ${this.#position}`
    const wanted = this.#wanted(from, this.#position)
    // Of the last revision, it may have been told a part when it left.
    const told = this.#told.filter(({ revision }) => revision < this.#position)
    assert.deepEqual(
      told,
      wanted.filter(({ revision }) => revision < this.#position),
      about,
    )
    const late = olderThanMs === undefined ? 0 : truth.knownAt(olderThanMs)
    if (late > this.#position) {
      assert.deepEqual(this.#wanted(this.#position, late), [], `${about}: not told by ${late}`)
    }
  }

  #initialAt(at: number): Told[] {
    const { truth, resource, selection } = this.#options
    return truth
      .contents(resource.prefix, at)
      .filter(({ object }) => selection.matches(object!.object))
      .map(({ key, revision, object }) => toldOf('ADDED', key, revision, object!))
  }

  #wanted(after: number, upTo: number): Told[] {
    const { truth, resource, selection } = this.#options
    const wanted: Told[] = []
    for (const { key, revision, object, before } of truth.changes(resource.prefix, after, upTo)) {
      const was = before !== undefined && selection.matches(before.object)
      const is = object !== undefined && selection.matches(object.object)
      if (is) wanted.push(toldOf(was ? 'MODIFIED' : 'ADDED', key, revision, object))
      // Who leaves a selection is shown as it was, with the new revision.
      else if (was) wanted.push(toldOf('DELETED', key, revision, before))
    }
    return wanted
  }
}

function toldOf(type: string, key: string, revision: number, object: StoredObject): Told {
  return { type, revision, name: key.split('/').slice(3).join('/'), text: object.metadata }
}

function byName(told: readonly Told[]): Told[] {
  return told.toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
