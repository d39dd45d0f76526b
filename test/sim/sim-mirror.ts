/** A mirror in the simulation: the real one, with readers and watchers around it whose every answer is checked. */

import type { ReadOutcome } from '../../lib/mirror/reads/read.ts'
import { silentLogger } from '../support/silent-logger.ts'
import type { Freshness } from '../../lib/base/freshness.ts'
import { CacheError } from '../../lib/base/errors.ts'
import { keyFromText, prefixRange } from '../../lib/base/keys.ts'
import { type Random, randomInt, randomItem } from '../../lib/base/random.ts'
import { revision } from '../../lib/base/revision.ts'
import type { Client } from '../../lib/etcd/client.ts'
import { defaultLimits, type MirrorLimits } from '../../lib/mirror/limits.ts'
import { Mirror } from '../../lib/mirror/mirror.ts'
import { noMetrics, type MirrorMetrics } from '../../lib/mirror/metrics.ts'
import type { MirrorSink } from '../../lib/mirror/mirrored-keyspace.ts'
import { compactRevisionKey } from '../../lib/mirror/feed/compaction.ts'
import { rangesWithout } from '../../lib/mirror/feed/ranges.ts'
import type { KeyValue } from '../../lib/store/event.ts'
import { Keyspace } from '../../lib/store/keyspace.ts'
import type { Snapshot } from '../../lib/store/snapshot.ts'
import { keyspaceNames, nameOf } from './keys.ts'
import { MirrorChecks, type Position } from './checks.ts'
import type { SimClock } from './sim-clock.ts'
import type { Stats } from './stats.ts'
import type { Truth } from './truth.ts'

/** Small, so that histories end, reads wait and watchdogs bark within the time of a simulation. */
const limits: MirrorLimits = {
  ...defaultLimits,
  pageMinEntries: 5,
  pageMaxEntries: 12,
  partMaxEntries: 25,
  readAheadMaxBytes: 500,
  selfCheckIntervalMs: 15_000,
  selfCheckPauseMs: 5,
  selfCheckPageEntries: 10,
  joinBufferMaxChanges: 200,
}

const history = { maxBatches: 60, maxAgeMs: 20_000, maxBytes: 1e9 }

export interface SimMirrorOptions {
  readonly name: string
  readonly client: Client
  readonly clock: SimClock
  readonly random: Random
  readonly truth: Truth
  readonly stats: Stats
  /** Follows keyspace `b` with a stream of its own, as when something between is excluded. */
  readonly isSplit: boolean
  readonly isCheckingVersions: boolean
  /** Ends the simulation. */
  readonly fail: (error: unknown) => void
  /** How many violations of order etcd may show: none, when it is sound. */
  readonly mayViolate: boolean
}

/** A watch: a list, and then whatever the history brings. */
interface SimWatcher {
  readonly keyspace: string
  position: Position | undefined
}

export class SimMirror {
  readonly name: string
  readonly mirror: Mirror
  readonly #options: SimMirrorOptions
  readonly #checks: MirrorChecks
  /** Where the sink is in each keyspace. */
  readonly #delivered = new Map<string, Position>()
  readonly #watchers: SimWatcher[]
  readonly #mirrored = new Set<string>()
  #reading = 0

  constructor(options: SimMirrorOptions) {
    const { name, truth, isSplit } = options
    this.name = name
    this.#options = options
    this.#checks = new MirrorChecks(truth, name)
    const whole = prefixRange(keyFromText('/r/'))
    const hole = prefixRange(keyFromText('/r/b/'))
    this.mirror = new Mirror({
      ...options,
      limits,
      logger: silentLogger,
      metrics: this.#metrics(),
      sink: this.#sink(),
      ranges: isSplit ? [...rangesWithout(whole, [hole]), hole] : [whole],
      keyspaceOf: nameOf,
      compactRevisionKey,
    })
    for (const keyspace of keyspaceNames) this.#add(keyspace)
    this.#watchers = keyspaceNames.flatMap(keyspace =>
      [1, 2].map(() => ({ keyspace, position: undefined })),
    )
  }

  /** Reads that have not ended. */
  get reading(): number {
    return this.#reading
  }

  get isReady(): boolean {
    return this.mirror.statuses().every(({ state }) => state === 'ready')
  }

  /** Reads something, and checks the answer. */
  read(freshness: Freshness = this.#anyFreshness()): void {
    const { random } = this.#options
    const keyspace = randomItem(random, keyspaceNames)
    const canGoElsewhere = random.next() < 0.5
    const abort = random.next() < 0.02 ? new AbortController() : undefined
    if (abort !== undefined) {
      this.#options.clock.setTimer(randomInt(random, 0, 500), () => abort.abort())
    }
    void this.#read(keyspace, freshness, { canGoElsewhere, signal: abort?.signal })
  }

  /** Lets one watcher look for news. */
  watch(): void {
    const watcher = randomItem(this.#options.random, this.#watchers)
    if (!this.#mirrored.has(watcher.keyspace)) return
    if (watcher.position === undefined) void this.#startWatcher(watcher)
    else this.#guard(() => this.#moveWatcher(watcher))
  }

  /** Drops a keyspace, seldom, or adds it again. */
  toggleKeyspace(): void {
    const keyspace = keyspaceNames.at(-1)!
    if (this.#mirrored.has(keyspace)) {
      if (this.#options.random.next() < 0.8) return
      this.mirror.drop(keyspace)
      this.#mirrored.delete(keyspace)
    } else {
      this.#add(keyspace)
    }
  }

  /** Every keyspace is mirrored from now on. */
  addAll(): void {
    for (const keyspace of keyspaceNames) if (!this.#mirrored.has(keyspace)) this.#add(keyspace)
  }

  /** A consistent read of every keyspace, for the end. */
  async readAll(): Promise<ReadonlyMap<string, Snapshot>> {
    const found = new Map<string, Snapshot>()
    for (const keyspace of keyspaceNames) {
      const freshness = { type: 'consistent' } as const
      const mark = this.#checks.beginRead()
      const outcome = await this.mirror.read(keyspace, { freshness, canGoElsewhere: false })
      this.#checks.answered(keyspace, { freshness, mark }, outcome)
      if (outcome.from === 'mirror') found.set(keyspace, outcome.snapshot)
    }
    return found
  }

  #add(keyspace: string): void {
    this.#mirrored.add(keyspace)
    this.mirror.add({ name: keyspace, range: prefixRange(keyFromText(`/r/${keyspace}/`)), history })
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

  async #read(
    keyspace: string,
    freshness: Freshness,
    options: { readonly canGoElsewhere: boolean; readonly signal: AbortSignal | undefined },
  ): Promise<void> {
    const { stats } = this.#options
    const mark = this.#checks.beginRead()
    this.#reading++
    try {
      const outcome = await this.mirror.read(keyspace, { freshness, ...options })
      stats.count(`${freshness.type} ${outcome.from}`)
      this.#guard(() => this.#checks.answered(keyspace, { freshness, mark }, outcome))
      await this.#goElsewhere(keyspace, freshness, outcome)
    } catch (error) {
      if (error instanceof CacheError) {
        stats.count(`${freshness.type} ${error.code}`)
        this.#guard(() => this.#checks.refused(freshness, error))
      } else {
        this.#options.fail(error)
      }
    } finally {
      this.#reading--
    }
  }

  /** What the mirror does not answer is read from etcd, as the layers above would. */
  async #goElsewhere(keyspace: string, freshness: Freshness, outcome: ReadOutcome): Promise<void> {
    if (outcome.from === 'mirror' || freshness.type !== 'consistent') return
    const mark = this.#checks.beginRead()
    const entries: KeyValue[] = []
    let at = revision(0)
    const { signal } = new AbortController()
    const range = prefixRange(keyFromText(`/r/${keyspace}/`))
    for await (const page of this.mirror.directReads.read({ range, signal })) {
      entries.push(...page.entries)
      at = page.revision
    }
    const contents = new Keyspace(history)
    contents.restore(entries, at)
    this.#guard(() => this.#checks.directlyAnswered(keyspace, mark, contents.latest()))
  }

  async #startWatcher(watcher: SimWatcher): Promise<void> {
    const freshness = this.#options.random.next() < 0.5 ? 'any' : 'consistent'
    try {
      const outcome = await this.mirror.read(watcher.keyspace, {
        freshness: { type: freshness },
        canGoElsewhere: true,
      })
      if (outcome.from === 'elsewhere') return
      this.#guard(() => {
        watcher.position = this.#checks.positionOf(watcher.keyspace, outcome.snapshot)
      })
    } catch (error) {
      if (!(error instanceof CacheError)) this.#options.fail(error)
    }
  }

  #moveWatcher(watcher: SimWatcher): void {
    const { keyspace, position } = watcher
    if (position === undefined) return
    const batches = this.mirror.keyspace(keyspace).store.since(revision(position.revision))
    if (batches === 'expired') {
      this.#options.stats.count('watcher expired')
      watcher.position = undefined
      return
    }
    let count = 0
    const max = randomInt(this.#options.random, 1, 20)
    for (const batch of batches) {
      this.#checks.moved(keyspace, position, batch)
      this.#options.stats.count('watched batch')
      count++
      if (count === max) break
    }
  }

  #sink(): MirrorSink {
    return {
      applied: (keyspace, batch) => {
        this.#options.stats.count('applied batch')
        this.#guard(() => {
          const { store } = this.mirror.keyspace(keyspace)
          let position = this.#delivered.get(keyspace)
          if (position === undefined) {
            position = this.#checks.positionOf(keyspace, store.at(store.oldest))
            this.#delivered.set(keyspace, position)
          }
          this.#checks.moved(keyspace, position, batch)
        })
      },
      progressed: (keyspaces, at) => {
        this.#options.stats.count('progress mark')
        if (this.#options.random.next() > 0.1) return
        for (const keyspace of keyspaces) {
          const mirrored = this.mirror.keyspace(keyspace)
          if (!mirrored.isServed || mirrored.store.revision > at) continue
          this.#guard(() => this.#checks.proven(keyspace, mirrored.store.latest(), at))
        }
      },
      reset: (keyspace, reason) => {
        this.#options.stats.count(`reset ${reason}`)
        this.#delivered.delete(keyspace)
        for (const watcher of this.#watchers) {
          if (watcher.keyspace === keyspace) watcher.position = undefined
        }
      },
      stateChanged: (_keyspace, state) => {
        this.#options.stats.count(`state ${state}`)
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
