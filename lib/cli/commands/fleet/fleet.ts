/** The clusters of a process: which there are, which are awake, and the memory that they share.
 *
 *  Each is a service of its own (`open-cluster.ts`). Here is only what concerns several: settings
 *  that change, clusters that nobody asks for, and the budget. Over the budget the coldest cluster
 *  goes first, which is the one whose last accepted request is the longest ago and that has none
 *  under way. When all are in use, what can be made again is dropped of the coldest; and as long as
 *  that is not enough, no more clusters are woken. */

import { type CancelTimer, type Clock, type Logger, repeat, Slice } from '@watchglass/base'
import type { ShownCluster } from '@watchglass/cache'
import type { ClusterSettings } from './cluster-settings.ts'
import type { FleetCluster } from './fleet-cluster.ts'
import type { ReadSettings } from './settings-reader.ts'

export interface FleetOptions {
  readonly create: (settings: ClusterSettings, fleet: Fleet) => FleetCluster
  /** 0: clusters are never idle. */
  readonly idleAfterMs: number
  /** Undefined: unbounded. */
  readonly budgetBytes: number | undefined
  readonly clock: Clock
  readonly logger: Logger
}

interface Member {
  readonly settings: ClusterSettings
  readonly cluster: FleetCluster
}

const lookMs = 1_000
const factsSliceMs = 2

export class Fleet {
  readonly #options: FleetOptions
  readonly #members = new Map<string, Member>()
  readonly #problems = new Map<string, string>()
  readonly #stopping = new AbortController()
  #isOver = false
  #cancel: CancelTimer = () => {}

  constructor(options: FleetOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancel = repeat(this.#options.clock, lookMs, () => this.#look())
  }

  /** Aborted when the process begins to stop. */
  get stopping(): AbortSignal {
    return this.#stopping.signal
  }

  async stop(): Promise<void> {
    this.#cancel()
    this.#stopping.abort()
    await Promise.all([...this.#members.values()].map(({ cluster }) => cluster.stop()))
  }

  get size(): number {
    return this.#members.size
  }

  find(name: string): FleetCluster | undefined {
    return this.#members.get(name)?.cluster
  }

  /** In the order of their names. */
  get clusters(): readonly FleetCluster[] {
    return [...this.#members.keys()].toSorted().map(name => this.#members.get(name)!.cluster)
  }

  /** The facts of clusters, in slices: what an awake one holds is counted for each. */
  async factsOf(clusters: readonly FleetCluster[]): Promise<readonly ShownCluster[]> {
    const slice = new Slice(this.#options.clock, factsSliceMs)
    const facts: ShownCluster[] = []
    for (const cluster of clusters) {
      facts.push(cluster.facts)
      if (slice.isOver) await slice.next()
    }
    return facts
  }

  /** Clusters come, go and change. One whose settings cannot be used stays as it is. Resolves when
   *  those that have gone have stopped. */
  async apply({ clusters, problems }: ReadSettings): Promise<void> {
    const kept = new Set(problems.map(({ name }) => name))
    this.#sayProblems(problems)
    const wanted = new Map(clusters.map(settings => [settings.name, settings]))
    const stopping: Promise<void>[] = []
    for (const [name, { settings, cluster }] of this.#members) {
      const now = wanted.get(name)
      if (now === undefined ? kept.has(name) : isSame(settings, now)) continue
      this.#members.delete(name)
      stopping.push(cluster.stop())
    }
    for (const settings of clusters) {
      if (!this.#members.has(settings.name)) this.#add(settings)
    }
    await Promise.all(stopping)
  }

  /** Makes room for a cluster that is about to start; false if there is none. */
  makeRoomFor(cluster: FleetCluster): boolean {
    const { budgetBytes } = this.#options
    if (budgetBytes === undefined) return true
    const room = budgetBytes - cluster.lastMemoryBytes
    this.#sleepColdest(room, cluster)
    return this.memoryBytes <= room
  }

  /** Memory of all that are awake. */
  get memoryBytes(): number {
    let bytes = 0
    for (const { cluster } of this.#members.values()) bytes += cluster.memoryBytes
    return bytes
  }

  #add(settings: ClusterSettings): void {
    const cluster = this.#options.create(settings, this)
    this.#members.set(settings.name, { settings, cluster })
    if (this.#options.idleAfterMs === 0) void cluster.wake()
  }

  /** Each problem once. */
  #sayProblems(problems: ReadSettings['problems']): void {
    const now = new Map(problems.map(({ name, text }) => [`${name}\0${text}`, { name, text }]))
    for (const [key, { name, text }] of now) {
      if (this.#problems.has(key)) continue
      this.#options.logger.error('the settings of a cluster cannot be used', {
        cluster: name,
        reason: text,
      })
    }
    this.#problems.clear()
    for (const [key, { text }] of now) this.#problems.set(key, text)
  }

  #look(): void {
    const { idleAfterMs, budgetBytes } = this.#options
    if (idleAfterMs > 0) {
      for (const { cluster } of this.#members.values()) {
        if (cluster.isUnused(idleAfterMs)) void cluster.sleep()
      }
    }
    if (budgetBytes !== undefined) this.#fit(budgetBytes)
  }

  #fit(budgetBytes: number): void {
    this.#sleepColdest(budgetBytes)
    this.#dropOfColdest(budgetBytes)
    const isOver = this.memoryBytes > budgetBytes
    if (isOver && !this.#isOver) {
      const mebibytes = (this.memoryBytes / 1024 ** 2).toFixed(1)
      this.#options.logger.error('memory is over its budget, and all clusters are in use', {
        mebibytes,
      })
    }
    this.#isOver = isOver
  }

  /** Clusters without requests become idle, the coldest first, until so much is used. */
  #sleepColdest(bytes: number, except?: FleetCluster): void {
    let used = this.memoryBytes
    if (used <= bytes) return
    for (const cluster of this.#coldestFirst()) {
      if (used <= bytes) return
      if (cluster === except || cluster.state !== 'awake' || cluster.requestsInFlight > 0) continue
      used -= cluster.memoryBytes
      void cluster.sleep()
    }
  }

  /** Drops encoded objects and indexes, which can be made again: the coldest cluster's first. */
  #dropOfColdest(bytes: number): void {
    let excess = this.memoryBytes - bytes
    if (excess <= 0) return
    for (const { service } of this.#coldestFirst()) {
      for (const cache of service === undefined
        ? []
        : [service.kept.segments, service.kept.indexes]) {
        if (excess <= 0) return
        const before = cache.bytes
        cache.dropTo(Math.max(0, before - excess))
        excess -= before - cache.bytes
      }
    }
  }

  #coldestFirst(): FleetCluster[] {
    const all = [...this.#members.values()].map(({ cluster }) => cluster)
    return all.sort((one, other) => one.usedAtMs - other.usedAtMs)
  }
}

function isSame(one: ClusterSettings, other: ClusterSettings): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
