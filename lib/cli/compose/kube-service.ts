/** One running service: a client of etcd, the mirror, and the API over HTTP, made of the parts of
 *  `kube-service-table.ts`. */

import { type CacheError, type Key, sleep } from '@watchglass/base'
import {
  type Droppable,
  type Handler,
  keyspacesOf,
  type LiveRegistry,
  lookAt,
  type ReadCounts,
  storeIn,
} from '@watchglass/cache'
import type { Evidence, ReadSwitch, UpstreamKnowledge } from '@watchglass/proxy'
import type { PageFigures } from '@watchglass/workers'
import { Composition } from './composition.ts'
import type { ServiceFaults } from './faults.ts'
import type { KubeServiceParts } from './kube-service-parts.ts'
import { kubeServiceTable } from './kube-service-table.ts'
import type { ServiceOptions } from './service-options.ts'

export type { ServiceOptions } from './service-options.ts'

export class KubeService {
  readonly #composition: Composition<KubeServiceParts, ServiceOptions>
  readonly #parts: KubeServiceParts
  readonly #stopDelayMs: number
  #stopped: Promise<void> | undefined

  private constructor(
    composition: Composition<KubeServiceParts, ServiceOptions>,
    stopDelayMs: number,
  ) {
    this.#composition = composition
    this.#parts = composition.parts
    this.#stopDelayMs = stopDelayMs
  }

  /** The handler, for a listener outside of the service. */
  get handler(): Handler {
    return this.#parts.handler
  }

  /** The handler of our own paths, for a listener outside of the service. */
  get adminHandler(): Handler {
    return this.#parts.adminHandler
  }

  /** Starts to mirror and to listen. Reads wait until what they need is mirrored. */
  static async start(options: ServiceOptions): Promise<KubeService> {
    const composition = await Composition.make(kubeServiceTable, options)
    await composition.start()
    return new KubeService(composition, options.operating?.stopDelayMs ?? 0)
  }

  /** Port that it listens on. */
  get port(): number {
    return this.#parts.clientListener.port
  }

  /** Port of our own paths; 0 if they have none. */
  get adminPort(): number {
    return this.#parts.admin?.port ?? 0
  }

  /** The page for people is at `/` of the main listener, too. */
  get hasPage(): boolean {
    return this.#parts.upstreamProxy === undefined && this.#parts.gate === undefined
  }

  /** Someone decides who may read. */
  get isGuarded(): boolean {
    return this.#parts.gate !== undefined
  }

  /** The faults on purpose; undefined where there are to be none. */
  get faults(): ServiceFaults | undefined {
    return this.#parts.faults
  }

  /** Switches all reads to the upstream; undefined without an upstream. */
  get readSwitch(): ReadSwitch | undefined {
    return this.#parts.upstreamProxy?.readSwitch
  }

  /** Results of comparisons with the upstream; undefined if there is none. */
  get evidence(): Evidence | undefined {
    return this.#parts.upstreamProxy?.evidence
  }

  /** Knowledge of the upstream; undefined if there is none. */
  get knowledge(): UpstreamKnowledge | undefined {
    return this.#parts.upstreamProxy?.knowledge
  }

  /** The number of objects in each keyspace. */
  entries(): ReadonlyMap<string, number> {
    return new Map(this.#parts.mirrors.statuses().map(({ name, entries }) => [name, entries]))
  }

  /** The resources of now. */
  get registry(): LiveRegistry {
    return this.#parts.registry
  }

  /** Resolves when everything is mirrored for the first time. */
  get ready(): Promise<void> {
    return this.#parts.health.ready.then(() => this.#parts.workers?.ready)
  }

  /** Resolves when the service cannot do its work: the data does not fit into the memory budget. */
  get refused(): Promise<CacheError> {
    return this.#parts.memory?.refused ?? new Promise(() => {})
  }

  /** Everything is mirrored. */
  get isReady(): boolean {
    return this.#parts.health.isReady
  }

  /** The first thing that is wrong; undefined if nothing is. */
  get problem(): string | undefined {
    for (const { name, problem } of this.#parts.health.readyz) {
      const text = problem()
      if (text !== undefined) return `${name}: ${text}`
    }
    return undefined
  }

  /** Reads since the start. */
  get reads(): ReadCounts {
    return this.#parts.metrics.requests.reads
  }

  /** The revision up to which nothing is missing in any keyspace; 0 while none is mirrored. */
  get revision(): number {
    const revisions = this.#parts.mirrors.statuses().map(({ revision }) => revision)
    return revisions.length === 0 ? 0 : Math.min(...revisions)
  }

  /** Figures of this thread, for the page of the process. */
  get pageFigures(): PageFigures {
    const { watches, slow } = this.#parts
    return { look: lookAt(this.#parts), clients: watches.clients(), slow: slow.kept }
  }

  /** Number of open watches. */
  get openWatches(): number {
    return this.#parts.workers?.openWatches ?? this.#parts.watches.size
  }

  /** Encoded objects and indexes that are kept, which can be made again. */
  get kept(): { readonly segments: Droppable; readonly indexes: Droppable } {
    const { segments, keptIndexes: indexes } = this.#parts
    return { segments, indexes }
  }

  /** Another thread has learnt whose credentials have this key. */
  named(key: string, user: string): void {
    this.#parts.authorizer?.named(key, user)
  }

  /** Memory of what is mirrored, its history, indexes, orders of views and encoded objects. */
  get memoryBytes(): number {
    const { mirrors, storeOf, sizes, segments, keptIndexes } = this.#parts
    let bytes = segments.bytes + keptIndexes.bytes + sizes.totalBytes
    for (const keyspace of keyspacesOf(mirrors)) bytes += storeOf(keyspace)?.historyBytes ?? 0
    return bytes
  }

  /** Drops what is oldest in the history of a keyspace until at most so many bytes are left. */
  trimHistory(keyspace: Key, bytes: number): void {
    storeIn(this.#parts.mirrors, keyspace)?.trimHistory(bytes)
  }

  /** The metrics of what runs here, without those of other threads. */
  ownMetrics(): Promise<string> {
    return this.#parts.metrics.text()
  }

  /** /readyz fails from now on, and answers tell clients to connect anew. */
  leave(): void {
    this.#parts.health.stop()
    this.#parts.clientListener.leave()
  }

  /** Stops: /readyz fails at once; after the delay no new requests are accepted; requests in flight
   *  finish; then mirroring stops. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    this.leave()
    if (this.#stopDelayMs > 0) await sleep(this.#parts.clock, this.#stopDelayMs)
    await this.#composition.stop()
  }
}
