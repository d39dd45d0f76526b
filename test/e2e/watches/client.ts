/** A client of watches that is never content: it begins and resumes in every way that there is, at
 *  either server, leaves in the middle, and writes down everything that it sees. */

import assert from 'node:assert/strict'
import { type Random, randomInt, randomItem } from '../../../lib/base/random.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'
import { ask, type Served } from '../../support/http/served.ts'
import { openWatch } from '../../support/watch/watch-client.ts'
import { positionAfter, type Seen, type Stretch, type Told } from './checks.ts'
import type { ModelSelector } from './world.ts'

interface ObjectBody {
  readonly metadata: {
    readonly namespace: string
    readonly name: string
    readonly resourceVersion: string
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly data?: { readonly serial: string }
}

interface EventBody {
  readonly type: string
  readonly object: ObjectBody & { readonly code?: number }
}

export class WatchingClient {
  readonly selector: ModelSelector
  readonly #random: Random
  readonly #servers: readonly Served[]
  readonly #stretches: { from: number; state: Map<string, number> | undefined; told: Told[] }[] = []
  /** The revision of the last change that concerns this client, once that is known; it then leaves
   *  no more. */
  lastRevision: number | undefined
  #home: number

  constructor(selector: ModelSelector, random: Random, servers: readonly Served[], home: number) {
    this.selector = selector
    this.#random = random
    this.#servers = servers
    this.#home = home
  }

  get seen(): Seen {
    return { selector: this.selector, stretches: this.#stretches }
  }

  /** Number of times that it has begun or resumed. */
  get connections(): number {
    return this.#stretches.length
  }

  /** The revision up to which it has seen everything. */
  get position(): number {
    const last = this.#stretches.at(-1)
    if (last === undefined) return 0
    return this.#isDone(last) ? (last.told.at(-1)?.revision ?? last.from) : positionAfter(last)
  }

  /** Selected objects, as far as this client knows. */
  state(): Map<string, number> {
    const first = this.#stretches.findLastIndex(({ state }) => state !== undefined)
    const state = new Map(this.#stretches[first]?.state)
    for (const { told } of this.#stretches.slice(first)) {
      for (const one of told) {
        if (one.is === 'bookmark') continue
        if (one.type === 'DELETED') state.delete(one.key)
        else state.set(one.key, one.serial)
      }
    }
    return state
  }

  /** OpenWatches until the last change has come. */
  async run(): Promise<void> {
    for (let last = this.#stretches.at(-1); last === undefined || !this.#isDone(last);) {
      if (this.#random.next() < 0.5) {
        this.#home = randomInt(this.#random, 0, this.#servers.length - 1)
      }
      const begins = last === undefined || this.#random.next() < 0.15
      if (!begins) await this.#resume(positionAfter(last!))
      else if (this.#random.next() < 0.5) await this.#list()
      else await this.#stream()
      last = this.#stretches.at(-1)
    }
  }

  #isDone({ from, told }: Stretch): boolean {
    const { lastRevision } = this
    return lastRevision !== undefined && (told.at(-1)?.revision ?? from) >= lastRevision
  }

  async #list(): Promise<void> {
    const freshness = randomItem(this.#random, ['', 'resourceVersion=0'])
    const answer = await ask(this.#port, { path: this.#path([freshness]) })
    assert.equal(answer.status, 200, answer.body.toString())
    const { metadata, items } = JSON.parse(answer.body.toString()) as {
      metadata: { resourceVersion: string }
      items: ObjectBody[]
    }
    const state = new Map(items.map(object => [keyOf(object), serialOf(object)]))
    this.#stretches.push({ from: Number(metadata.resourceVersion), state, told: [] })
  }

  /** A streaming list: the state comes first, and then a bookmark that says so. */
  async #stream(): Promise<void> {
    const state = new Map<string, number>()
    const told: Told[] = []
    let from: number | undefined
    const isCut = this.#cut()
    const query = ['watch=1', 'sendInitialEvents=true', 'resourceVersionMatch=NotOlderThan']
    query.push('allowWatchBookmarks=true', randomItem(this.#random, ['', 'resourceVersion=0']))
    await this.#watch(query, event => {
      if (from !== undefined) return this.#note(event, told) || isCut()
      if (event.type === 'BOOKMARK') {
        from = Number(event.object.metadata.resourceVersion)
        this.#stretches.push({ from, state, told })
        assert.ok(event.object.metadata.annotations?.['k8s.io/initial-events-end'])
      } else {
        assert.equal(event.type, 'ADDED')
        state.set(keyOf(event.object), serialOf(event.object))
      }
      return this.#isOver() || (from === undefined && isCut())
    })
  }

  async #resume(from: number): Promise<void> {
    const told: Told[] = []
    this.#stretches.push({ from, state: undefined, told })
    const isCut = this.#cut()
    const query = ['watch=1', `resourceVersion=${from}`]
    if (this.#random.next() < 0.7) query.push('allowWatchBookmarks=true')
    if (this.#random.next() < 0.2) query.push(`timeoutSeconds=${randomInt(this.#random, 1, 4)}`)
    await this.#watch(query, event => this.#note(event, told) || isCut())
  }

  /** Says when this client has had enough of a connection. */
  #cut(): () => boolean {
    let left = randomInt(this.#random, 1, 80)
    return () => this.lastRevision === undefined && --left <= 0
  }

  #isOver(): boolean {
    const last = this.#stretches.at(-1)
    return last !== undefined && this.#isDone(last)
  }

  /** Writes down an event. True when it was the last. */
  #note({ type, object }: EventBody, told: Told[]): boolean {
    assert.notEqual(type, 'ERROR', JSON.stringify(object))
    const revision = Number(object.metadata.resourceVersion)
    if (type === 'BOOKMARK') told.push({ is: 'bookmark', revision })
    else {
      told.push({ is: 'change', type, key: keyOf(object), revision, serial: serialOf(object) })
    }
    return this.#isOver()
  }

  /** Reads a watch until `take` has had enough, or it ends. */
  async #watch(query: readonly string[], take: (event: EventBody) => boolean): Promise<void> {
    const version = randomItem(this.#random, ['1.1', '2'] as const)
    const stream = await openWatch(this.#port, { path: this.#path(query), version })
    assert.equal(stream.status, 200)
    try {
      for (;;) {
        // Some read slowly.
        if (this.#random.next() < 0.01) for (let i = 0; i < 50; i++) await systemClock.yield()
        const frame = await stream.next()
        if (frame === undefined || take(JSON.parse(frame.toString()) as EventBody)) return
      }
    } finally {
      stream.close()
    }
  }

  #path(query: readonly string[]): string {
    const all = [this.selector.query, ...query].filter(part => part !== '')
    return `${this.selector.path}?${all.join('&')}`
  }

  get #port(): number {
    return this.#servers[this.#home]!.service.port
  }
}

function keyOf({ metadata }: ObjectBody): string {
  return `${metadata.namespace}/${metadata.name}`
}

function serialOf({ data }: ObjectBody): number {
  return Number(data?.serial)
}
