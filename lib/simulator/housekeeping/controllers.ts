/** The controllers around writes, for where no controller manager runs: namespaces are given
 *  what each has, and emptied, dependents of deleted owners are collected, pods go when their
 *  grace period is over, claims and volumes when nobody uses them, roles are aggregated, the
 *  expressions of policies checked, flow schemas told whether their priority level exists, and
 *  certificates signed.
 *  Follows the mirror; what is to be done is done by writes of the API. */

import { type Clock, type Key, type Logger, Slice } from '@watchglass/base'
import { type JsonObject, textFromMilliseconds } from '@watchglass/go'
import type { Registry } from '@watchglass/kube'
import type { Batch, KeyValue } from '@watchglass/store'
import type { ClusterApi, ApiPlace } from '../runtime/cluster-api.ts'
import { CertificateSigner } from './certificate-signer.ts'
import type { SigningAuthority } from '../authority/signing-authority.ts'
import { FlowStatus } from './flow-status.ts'
import { GarbageCollector } from './garbage-collector.ts'
import type { NamespaceBasics } from './namespace-basics.ts'
import { NamespaceEmptier } from './namespace-emptier.ts'
import { NamespaceKeeper } from './namespace-keeper.ts'
import { factsOf } from './object-facts.ts'
import { PolicyStatus } from './policy-status.ts'
import { PodReaper } from './pod-reaper.ts'
import { QuotaKeeper } from './quota-keeper.ts'
import { RoleAggregation } from './role-aggregation.ts'
import { ClassProtection } from './class-protection.ts'
import { VolumeProtection } from './volume-protection.ts'
import { WorkQueue } from '../runtime/work-queue.ts'

/** The prefixes of keys. */
export interface FollowedKeyspaces {
  readonly namespaces: Key
  readonly pods: Key
  readonly accounts: Key
  readonly configMaps: Key
  readonly claims: Key
  readonly volumes: Key
  readonly classes: Key
  readonly clusterRoles: Key
  readonly quotas: Key
  readonly policies: Key
  readonly flowSchemas: Key
  readonly priorityLevels: Key
  readonly signingRequests: Key
}

export interface ControllersOptions extends FollowedKeyspaces {
  readonly cluster: ClusterApi
  /** Objects that namespaces are given; undefined: none. */
  readonly basics?: NamespaceBasics | undefined
  /** Signs approved requests for certificates; undefined: nobody does. */
  readonly authority?: SigningAuthority | undefined
  /** Contents of a keyspace now; undefined while the mirror has none of it. */
  readonly contentsOf: (keyspace: Key) => Iterable<KeyValue> | undefined
  /** The object as the API shows it. */
  readonly objectOf: (place: ApiPlace) => Promise<JsonObject | undefined>
  readonly treeOf: (place: ApiPlace, entry: KeyValue) => JsonObject | undefined
  /** The object as the API shows it, in plain values; undefined if it cannot be shown. */
  readonly plainOf: (place: ApiPlace, entry: KeyValue) => unknown
  /** The kinds that are served now. */
  readonly registry: () => Registry
  readonly clock: Clock
  readonly logger: Logger
}

export class Controllers {
  readonly #options: ControllersOptions
  readonly #abort = new AbortController()
  readonly #garbage: GarbageCollector
  readonly #emptier: NamespaceEmptier
  readonly #reaper: PodReaper
  readonly #protection: VolumeProtection
  readonly #classProtection: ClassProtection
  readonly #aggregation: RoleAggregation
  readonly #quotas: QuotaKeeper
  readonly #policies: PolicyStatus
  readonly #flows: FlowStatus
  readonly #signer: CertificateSigner | undefined
  readonly #keeper: NamespaceKeeper | undefined
  /** Keyspaces that are being looked through, and what has changed in them meanwhile. */
  readonly #changed = new Map<Key, Set<Key>>()
  /** Keyspaces that are looked through, or were. */
  readonly #seen = new Set<Key>()
  readonly #started: Promise<void>
  #onStarted: () => void = () => {}

  constructor(options: ControllersOptions) {
    this.#options = options
    this.#started = new Promise(resolve => (this.#onStarted = resolve))
    const { cluster, clock, namespaces, accounts, configMaps, objectOf, basics } = options
    const { authority } = options
    const collect = this.#queue('garbage collection', key => this.#garbage.work(key))
    const empty = this.#queue('emptying a namespace', key => this.#emptier.work(key))
    const reap = this.#queue('removing a pod', key => this.#reaper.work(key))
    this.#garbage = new GarbageCollector(cluster, clock, key => collect.add(key))
    this.#emptier = new NamespaceEmptier({
      cluster,
      clock,
      keyspace: namespaces,
      lookAt: key => empty.add(key),
      objectOf,
      now: () => textFromMilliseconds(clock.wallMs()),
    })
    this.#reaper = new PodReaper({ cluster, clock, lookAt: key => reap.add(key) })
    const release = this.#queue('letting a volume go', key => this.#protection.work(key))
    this.#protection = new VolumeProtection({ ...options, lookAt: key => release.add(key) })
    const free = this.#queue('letting a class go', key => this.#classProtection.work(key))
    this.#classProtection = new ClassProtection({ ...options, lookAt: key => free.add(key) })
    const aggregate = this.#queue('aggregating roles', () => this.#aggregation.work())
    const lookAtAll = (): void => aggregate.add(options.clusterRoles)
    this.#aggregation = new RoleAggregation({ ...options, lookAtAll })
    const count = this.#queue('counting what quotas count', key => this.#quotas.work(key))
    this.#quotas = new QuotaKeeper({ ...options, lookAt: key => count.add(key) })
    const checkTypes = this.#queue('checking a policy', key => this.#policies.work(key))
    this.#policies = new PolicyStatus({ ...options, lookAt: key => checkTypes.add(key) })
    const checkFlow = this.#queue('checking a flow schema', key => this.#flows.work(key))
    this.#flows = new FlowStatus({ ...options, lookAt: key => checkFlow.add(key) })
    const sign = this.#queue('signing a certificate', key => this.#signer?.work(key))
    this.#signer =
      authority && new CertificateSigner({ ...options, authority, lookAt: key => sign.add(key) })
    if (basics === undefined) return
    const make = this.#queue('what a namespace has', key => this.#keeper?.work(key))
    this.#keeper = new NamespaceKeeper({
      cluster,
      basics,
      namespaces,
      accounts,
      configMaps,
      lookAt: key => make.add(key),
    })
  }

  /** Everything is mirrored: nothing is done before. A namespace would be let go whose custom
   *  resources are not known yet. */
  start(): void {
    this.#onStarted()
  }

  applied(keyspace: Key, batch: Batch): void {
    const changed = this.#changed.get(keyspace)
    this.#aggregation.changed(keyspace)
    for (const event of batch.events) {
      changed?.add(event.key)
      this.#garbage.changed(event)
      this.#emptier.changed(event)
      this.#keeper?.changed(keyspace, event)
      this.#protection.changed(keyspace, event)
      this.#classProtection.changed(keyspace, event)
      this.#quotas.changed(keyspace, event)
      this.#policies.changed(keyspace, event)
      this.#flows.changed(keyspace, event)
      this.#signer?.changed(keyspace, event)
      if (keyspace === this.#options.pods) this.#reaper.changed(event)
    }
  }

  reset(keyspace: Key): void {
    this.#garbage.forget(keyspace)
    this.#seen.delete(keyspace)
    this.stateChanged(keyspace)
  }

  /** A keyspace has contents for the first time, or again: they come without events. */
  stateChanged(keyspace: Key): void {
    const contents = this.#seen.has(keyspace) ? undefined : this.#options.contentsOf(keyspace)
    if (contents === undefined) return
    this.#seen.add(keyspace)
    this.#aggregation.changed(keyspace)
    void this.#lookThrough(keyspace, contents)
  }

  stop(): void {
    this.#abort.abort()
    this.#reaper.stop()
    this.#quotas.stop()
  }

  #queue(name: string, work: (key: Key) => Promise<void> | undefined): WorkQueue<Key> {
    const { clock, logger } = this.#options
    return new WorkQueue({
      name,
      clock,
      logger,
      signal: this.#abort.signal,
      work: async key => {
        await this.#started
        await work(key)
      },
    })
  }

  /** Finishes the deletes of objects that were deleted while nobody looked. */
  async #lookThrough(keyspace: Key, contents: Iterable<KeyValue>): Promise<void> {
    const { clock, pods, namespaces, quotas } = this.#options
    const changed = new Set<Key>()
    this.#changed.set(keyspace, changed)
    const slice = new Slice(clock)
    for (const entry of contents) {
      const { key } = entry
      const facts = changed.has(key) ? undefined : factsOf(entry)
      if (facts !== undefined) {
        this.#garbage.found(key, facts)
        this.#protection.found(keyspace, key, facts)
        this.#classProtection.found(keyspace, key, facts)
        if (keyspace === pods) this.#reaper.found(key, facts)
        if (keyspace === quotas) this.#quotas.changed(keyspace, { key })
        this.#policies.changed(keyspace, { key })
        this.#flows.found(keyspace, key)
        this.#signer?.changed(keyspace, { key })
        if (keyspace === namespaces) {
          this.#emptier.changed({ key, before: undefined, after: entry })
          this.#keeper?.found(key)
        }
      }
      if (!slice.isOver) continue
      await slice.next()
      // Its contents have been replaced once more.
      if (this.#abort.signal.aborted || this.#changed.get(keyspace) !== changed) return
    }
    this.#changed.delete(keyspace)
  }
}
