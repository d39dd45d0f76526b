/** A mirror in the simulation: the real one, with readers and watchers around it whose every answer
 *  is checked. */

import type { ReadOptions, ReadOutcome } from '../../lib/cache/mirror/reads/read.ts'
import { silentLogger } from '../support/silent-logger.ts'
import type { Freshness } from '../../lib/base/freshness.ts'
import { CacheError } from '../../lib/base/errors.ts'
import { keyFromText, prefixRange } from '../../lib/base/keys.ts'
import { type Random, randomInt, randomItem } from '../../lib/base/random.ts'
import { revision } from '../../lib/base/revision.ts'
import type { Client } from '../../lib/etcd/client.ts'
import { Mirror } from '../../lib/cache/mirror/mirror.ts'
import { MirrorSet } from '../../lib/cache/mirror/mirror-set.ts'
import { noMetrics, type MirrorMetrics } from '../../lib/cache/mirror/metrics.ts'
import type { MirrorSink } from '../../lib/cache/mirror/mirrored-keyspace.ts'
import { compactRevisionKey } from '../../lib/cache/mirror/feed/compaction.ts'
import { rangesWithout } from '../../lib/cache/mirror/feed/ranges.ts'
import type { KeyValue } from '../../lib/store/event.ts'
import { Keyspace } from '../../lib/store/keyspace.ts'
import type { Snapshot } from '../../lib/store/snapshot.ts'
import { keyspaceNames, nameOf } from './keys.ts'
import { MirrorChecks } from './checks.ts'
import { history, limits, type Place, placeOf, type SimWatcher } from './places.ts'
import type { SeededScheduler } from '../support/etcd/seeded-scheduler.ts'
import type { SimClock } from './sim-clock.ts'
import { type SimThread, SimThreads } from './sim-threads.ts'
import type { Stats } from './stats.ts'
import type { Truth } from './truth.ts'

export interface SimMirrorOptions {
  readonly name: string
  readonly client: Client
  readonly clock: SimClock
  readonly random: Random
  readonly truth: Truth
  readonly stats: Stats
  readonly scheduler: SeededScheduler
  /** Workers that have copies of it. */
  readonly threads: number
  /** Follows keyspace `b` with a stream of its own, as when something between is excluded. */
  readonly isSplit: boolean
  readonly isCheckingVersions: boolean
  /** Ends the simulation. */
  readonly fail: (error: unknown) => void
  /** True if etcd may show violations of order; a sound one shows none. */
  readonly mayViolate: boolean
}

export class SimMirror {
  readonly name: string
  readonly mirror: Mirror
  readonly #options: SimMirrorOptions
  readonly #checks: MirrorChecks
  readonly #mirrors: MirrorSet
  readonly #own: Place
  readonly #threads: SimThreads | undefined
  readonly #places = new WeakMap<SimThread, Place>()
  readonly #mirrored = new Set<string>()
  #reading = 0
  /** Follows the mirror beside the checks. */
  follower: MirrorSink | undefined = undefined

  constructor(options: SimMirrorOptions) {
    const { name, truth, isSplit, threads } = options
    this.name = name
    this.#options = options
    this.#checks = new MirrorChecks(truth, name, threads > 0)
    const whole = prefixRange(keyFromText('/r/'))
    const hole = prefixRange(keyFromText('/r/b/'))
    this.mirror = new Mirror({
      ...options,
      limits,
      logger: silentLogger,
      metrics: this.#metrics(),
      sink: this.#sink(() => this.#own),
      onFactsChanged: () => this.#threads?.mirrorSide.factsChanged(),
      ranges: isSplit ? [...rangesWithout(whole, [hole]), hole] : [whole],
      keyspaceOf: nameOf,
      compactRevisionKey,
    })
    this.#mirrors = new MirrorSet([this.mirror], limits)
    this.#own = placeOf(this.#mirrors, undefined, this.#checks)
    for (const keyspace of keyspaceNames) this.#add(keyspace)
    if (threads > 0) this.#threads = this.#startThreads(threads)
  }

  #startThreads(count: number): SimThreads {
    return new SimThreads({
      ...this.#options,
      count,
      mirrors: this.#mirrors,
      history,
      metrics: noMetrics,
      sinkOf: thread => this.#sink(() => this.#placeOf(thread)),
    })
  }

  #threadChecks(): MirrorChecks {
    const { truth, name } = this.#options
    return new MirrorChecks(truth, `${name}, a thread`)
  }

  #placeOf(thread: SimThread): Place {
    const place = this.#places.get(thread) ?? placeOf(thread.mirrors, thread, this.#threadChecks())
    this.#places.set(thread, place)
    return place
  }

  /** The place that a client comes to: clients do not choose. */
  #anyPlace(): Place {
    if (this.#threads === undefined) return this.#own
    return this.#placeOf(this.#threads.any())
  }

  /** Maybe a thread fails. */
  trouble(): void {
    this.#threads?.trouble()
  }

  /** Reads that have not ended. */
  get reading(): number {
    const threads = this.#threads?.threads ?? []
    return threads.reduce((sum, { reading }) => sum + reading, this.#reading)
  }

  get isReady(): boolean {
    const statuses = [this.mirror, ...(this.#threads?.threads ?? []).map(({ mirrors }) => mirrors)]
    return statuses.every(one => one.statuses().every(({ state }) => state === 'ready'))
  }

  /** Reads something, and checks the answer. */
  read(freshness: Freshness = this.#anyFreshness()): void {
    const { random } = this.#options
    const keyspace = randomItem(random, keyspaceNames)
    const elsewhere = randomItem(random, ['anywhere', 'etcd', 'nowhere'] as const)
    const abort = random.next() < 0.02 ? new AbortController() : undefined
    if (abort !== undefined) {
      this.#options.clock.setTimer(randomInt(random, 0, 500), () => abort.abort())
    }
    void this.#read(this.#anyPlace(), keyspace, {
      freshness,
      elsewhere,
      reader: abort,
    })
  }

  /** Lets one watcher look for news. */
  watch(): void {
    const place = this.#anyPlace()
    const watcher = randomItem(this.#options.random, place.watchers)
    if (!place.mirrors.has(watcher.keyspace)) return
    if (watcher.position === undefined) void this.#startWatcher(place, watcher)
    else this.#guard(() => this.#moveWatcher(place, watcher))
  }

  /** Drops a keyspace, seldom, or adds it again. */
  toggleKeyspace(): void {
    const keyspace = keyspaceNames.at(-1)!
    if (this.#mirrored.has(keyspace)) {
      if (this.#options.random.next() < 0.8) return
      this.#mirrors.drop(keyspace)
      this.#mirrored.delete(keyspace)
    } else {
      this.#add(keyspace)
    }
  }

  /** Every keyspace is mirrored from now on. */
  addAll(): void {
    this.#threads?.heal()
    for (const keyspace of keyspaceNames) if (!this.#mirrored.has(keyspace)) this.#add(keyspace)
  }

  /** A consistent read of every keyspace in every place, for the end. */
  async readAll(): Promise<ReadonlyMap<string, Snapshot>[]> {
    const threads = this.#threads?.threads ?? []
    const places = [this.#own, ...threads.map(thread => this.#placeOf(thread))]
    return Promise.all(places.map(place => this.#readAllIn(place)))
  }

  async #readAllIn({ mirrors }: Place): Promise<ReadonlyMap<string, Snapshot>> {
    const found = new Map<string, Snapshot>()
    for (const keyspace of keyspaceNames) {
      const freshness = { type: 'consistent' } as const
      const mark = this.#checks.beginRead(keyspace)
      const outcome = await mirrors.read(keyspace, { freshness, elsewhere: 'nowhere' })
      this.#checks.answered(keyspace, { freshness, mark }, outcome)
      if (outcome.from === 'mirror') found.set(keyspace, outcome.snapshot)
    }
    return found
  }

  #add(keyspace: string): void {
    this.#mirrored.add(keyspace)
    this.#mirrors.add({
      name: keyspace,
      range: prefixRange(keyFromText(`/r/${keyspace}/`)),
      history,
    })
  }

  #anyFreshness(): Freshness {
    const { random, truth } = this.#options
    const at = (): ReturnType<typeof revision> =>
      revision(Math.max(1, truth.current.latest - randomInt(random, -3, 80)))
    const choice = random.next()
    if (choice < 0.45) return { type: 'consistent' }
    if (choice < 0.6) return { type: 'any' }
    if (choice < 0.75) return { type: 'not-older-than', revision: at() }
    // Now and then a revision that an old epoch may have had.
    if (choice < 0.78) {
      const high = Math.max(1, truth.expiredThrough - randomInt(random, 0, 5))
      return { type: random.next() < 0.5 ? 'exact' : 'not-older-than', revision: revision(high) }
    }
    return { type: 'exact', revision: at() }
  }

  async #read(place: Place, keyspace: string, options: ReadOptions): Promise<void> {
    const { stats } = this.#options
    const { freshness } = options
    const mark = this.#checks.beginRead(keyspace)
    this.#began(place, 1)
    try {
      // What is answered at once is judged at once, as the layers above write it: this turn may
      // bring news of a restore.
      const answer = place.mirrors.read(keyspace, options)
      const outcome = answer instanceof Promise ? await answer : answer
      stats.count(`${freshness.type} ${outcome.from}`)
      this.#guard(() => this.#checks.answered(keyspace, { freshness, mark }, outcome))
      await this.#goElsewhere(place, keyspace, { freshness, outcome })
    } catch (error) {
      if (error instanceof CacheError) {
        stats.count(`${freshness.type} ${error.code}`)
        this.#guard(() => this.#checks.refused(freshness, error))
      } else {
        this.#options.fail(error)
      }
    } finally {
      this.#began(place, -1)
    }
  }

  /** Reads of a thread that was killed end with it. */
  #began({ thread }: Place, change: number): void {
    if (thread === undefined) this.#reading += change
    else thread.reading += change
  }

  /** Reads from etcd where the mirror does not answer, as the layers above would. */
  async #goElsewhere(
    { mirrors }: Place,
    keyspace: string,
    { freshness, outcome }: { readonly freshness: Freshness; readonly outcome: ReadOutcome },
  ): Promise<void> {
    if (outcome.from === 'mirror' || freshness.type !== 'consistent') return
    const mark = this.#checks.beginRead(keyspace)
    const entries: KeyValue[] = []
    let at = revision(0)
    const { signal } = new AbortController()
    const range = prefixRange(keyFromText(`/r/${keyspace}/`))
    try {
      for await (const page of mirrors.readDirectly(keyspace, { range, signal })) {
        entries.push(...page.entries)
        at = page.revision
      }
    } catch (error) {
      // Between two pages etcd has compacted their revision, or a restore has taken it away.
      const code = error instanceof CacheError ? error.code : undefined
      if (code === 'expired' || code === 'future_revision') return
      throw error
    }
    const contents = new Keyspace(history)
    contents.restore(entries, at)
    this.#guard(() => this.#checks.directlyAnswered(keyspace, mark, contents.latest()))
  }

  async #startWatcher({ mirrors, thread, checks }: Place, watcher: SimWatcher): Promise<void> {
    const freshness = this.#options.random.next() < 0.5 ? 'any' : 'consistent'
    const { resets } = watcher
    try {
      const outcome = await mirrors.read(watcher.keyspace, {
        freshness: { type: freshness },
        elsewhere: 'anywhere',
      })
      if (outcome.from === 'elsewhere' || thread?.isDead === true) return
      // A reset ends positions, and may come between the answer and whoever waits for it.
      if (watcher.resets !== resets) return
      this.#guard(() => {
        watcher.position = checks.positionOf(watcher.keyspace, outcome.snapshot)
      })
    } catch (error) {
      if (!(error instanceof CacheError)) this.#options.fail(error)
    }
  }

  #moveWatcher({ mirrors, checks }: Place, watcher: SimWatcher): void {
    const { keyspace, position } = watcher
    if (position === undefined) return
    const batches = mirrors.keyspace(keyspace).store.since(revision(position.revision))
    if (batches === 'expired') {
      this.#options.stats.count('watcher expired')
      watcher.position = undefined
      return
    }
    let count = 0
    const max = randomInt(this.#options.random, 1, 20)
    for (const batch of batches) {
      checks.moved(keyspace, position, batch)
      this.#options.stats.count('watched batch')
      count++
      if (count === max) break
    }
  }

  /** The sink of the mirror, whose threads are told, or of a thread. */
  #sink(placeOf: () => Place): MirrorSink {
    const mirrorSide = (): SimThreads['mirrorSide'] | undefined =>
      placeOf().thread === undefined ? this.#threads?.mirrorSide : undefined
    const follower = (): MirrorSink | undefined =>
      placeOf().thread === undefined ? this.follower : undefined
    return {
      applied: (keyspace, batch) => {
        this.#guard(() => follower()?.applied(keyspace, batch))
        this.#options.stats.count('applied batch')
        this.#guard(() => {
          const { delivered, mirrors, checks } = placeOf()
          const { store } = mirrors.keyspace(keyspace)
          let position = delivered.get(keyspace)
          if (position === undefined) {
            position = checks.positionOf(keyspace, store.at(store.oldest))
            delivered.set(keyspace, position)
          }
          checks.moved(keyspace, position, batch)
        })
        mirrorSide()?.applied(keyspace)
      },
      progressed: (given, at) => {
        const keyspaces = [...given]
        this.#guard(() => follower()?.progressed(keyspaces, at))
        this.#options.stats.count('progress mark')
        mirrorSide()?.progressed()
        if (this.#options.random.next() > 0.1) return
        for (const keyspace of keyspaces) {
          const mirrored = placeOf().mirrors.keyspace(keyspace)
          if (!mirrored.isServed || mirrored.store.revision > at) continue
          this.#guard(() => placeOf().checks.proven(keyspace, mirrored.store.latest(), at))
        }
      },
      reset: (keyspace, reason) => {
        this.#guard(() => follower()?.reset(keyspace, reason))
        this.#options.stats.count(`reset ${reason}`)
        const { delivered, watchers } = placeOf()
        delivered.delete(keyspace)
        for (const watcher of watchers) {
          if (watcher.keyspace !== keyspace) continue
          watcher.position = undefined
          watcher.resets++
        }
        mirrorSide()?.reset(keyspace)
      },
      stateChanged: (keyspace, state) => {
        this.#guard(() => follower()?.stateChanged(keyspace, state))
        this.#options.stats.count(`state ${state}`)
        mirrorSide()?.stateChanged(keyspace)
      },
    }
  }

  #metrics(): MirrorMetrics {
    const { stats, mayViolate } = this.#options
    return {
      ...noMetrics,
      violation: kind => {
        stats.count(`violation ${kind}`)
        if (!mayViolate) this.#options.fail(new Error(`${this.name}: violation ${kind}`))
      },
      probe: (outcome, reads) => {
        stats.count(`probe ${outcome}`)
        stats.count('probed reads', reads)
      },
      progressRequest: () => stats.count('progress request'),
      directRead: (size, outcome) => stats.count(`direct ${size} ${outcome}`),
      bootstrap: reason => stats.count(`bootstrap ${reason}`),
      reconnect: reason => stats.count(`reconnect ${reason}`),
      selfCheck: outcome => {
        stats.count(`self-check ${outcome}`)
        if (outcome === 'differed' && !mayViolate) {
          this.#options.fail(new Error(`${this.name}: a self-check differed`))
        }
      },
      newEpoch: () => {
        stats.count('new epoch')
        this.#guard(() => this.#checks.newEpoch())
      },
    }
  }

  #guard(task: () => void): void {
    try {
      task()
    } catch (error) {
      this.#options.fail(error)
    }
  }
}
