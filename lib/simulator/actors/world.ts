/** Everything that controllers share: the kinds of objects that they follow, the queues in which
 *  their work waits, and the API by which they write. A controller is wired up by functions of
 *  this: what it follows, whose changes concern it, and its reconciler. */

import { type Clock, type Key, keyFromText, type Logger, type Random } from '@watchglass/base'
import type { Batch, Keyspace, KeyValue } from '@watchglass/store'
import type { ApiCluster } from '../controllers/api-cluster.ts'
import { WorkQueue } from '../controllers/work-queue.ts'
import { ActorApi } from './actor-api.ts'
import { EventRecorder } from './event-recorder.ts'
import { type Fact, nodeFact, type NodeFact, podFact, type PodFact } from './facts.ts'
import { type AnyFollow, type FactOf, Follow } from './follow.ts'
import type { Metadata, Node, Pod } from './objects.ts'
import { PodStamps } from './pod-stamps.ts'
import { Reconciler, type ReconcilerOptions } from './reconciler.ts'
import { Source } from './source.ts'

export interface WorldOptions {
  readonly random: Random
  /** The mirrored contents of a keyspace; undefined where it is not mirrored. */
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
  /** The API as a client of that name. */
  readonly clusterOf: (manager: string) => ApiCluster
  /** The prefix of all keys, without a slash at its end. */
  readonly prefix: string
  /** Undefined while the mirror does not know. */
  readonly contentsOf: (keyspace: Key) => Iterable<KeyValue> | undefined
  readonly clock: Clock
  readonly logger: Logger
  /** All that there was at the start is known. */
  readonly onComplete: () => void
}

/** A controller that is a reconciler. */
export interface ControllerOptions<T, Rest> extends Pick<
  ReconcilerOptions<T, Rest>,
  'gather' | 'reconcile' | 'source'
> {
  /** For the log. */
  readonly name: string
}

export class World {
  readonly signal: AbortSignal
  readonly events: EventRecorder
  readonly pods: Follow<PodFact, Pod>
  readonly nodes: Follow<NodeFact, Node>
  readonly stamps: PodStamps
  readonly #options: WorldOptions
  readonly #abort = new AbortController()
  readonly #follows = new Map<Key, AnyFollow>()
  readonly #owners = new Map<string, (namespace: string, name: string) => void>()
  readonly #ends: (() => void)[] = []
  #source: Source | undefined

  constructor(options: WorldOptions) {
    this.#options = options
    this.signal = this.#abort.signal
    const { clock, logger, clusterOf } = options
    this.stamps = new PodStamps({ ...options, kubelet: clusterOf('kubelet') })
    const [signal, api] = [this.signal, (name: string): ActorApi => this.api(name)]
    this.events = new EventRecorder({ api, clock, logger, signal })
    this.pods = this.follow<PodFact, Pod>('pods', podFact)
    this.pods.listen({ gone: ({ key }) => this.stamps.forget(key) })
    this.nodes = this.follow<NodeFact, Node>('minions', nodeFact)
  }

  get isComplete(): boolean {
    return this.#source?.isComplete === true
  }

  get clock(): Clock {
    return this.#options.clock
  }

  /** The objects below a folder of etcd's keys; the same for all who ask. */
  follow<F extends Fact, T>(folder: string, factOf: FactOf<F, T>): Follow<F, T> {
    return this.followAt(keyFromText(`${this.#options.prefix}/${folder}/`), factOf)
  }

  /** The same for a keyspace, which may be one that nobody followed before. */
  followAt<F extends Fact, T>(keyspace: Key, factOf: FactOf<F, T>): Follow<F, T> {
    const known = this.#follows.get(keyspace)
    // A keyspace has one kind of fact, of which others ask for a part.
    if (known !== undefined) return known as Follow<F, T>
    const follow = new Follow(keyspace, factOf)
    this.#follows.set(keyspace, follow)
    this.#source?.add(keyspace)
    return follow
  }

  api(manager: string): ActorApi {
    const { clusterOf, clock, random } = this.#options
    const onWritten = (entry: KeyValue, fact?: Fact): void => this.#source?.written(entry, fact)
    const cluster = clusterOf(manager)
    return new ActorApi({ cluster, clock, random, onWritten, stamps: this.stamps })
  }

  queue(name: string, work: (key: Key) => Promise<void>, restMs?: number): WorkQueue<Key> {
    const { clock, logger } = this.#options
    return new WorkQueue({ name, clock, logger, signal: this.signal, restMs, work })
  }

  /** Makes it work on the objects whose keys it is then given. */
  controller<T extends { readonly metadata: Metadata }, Rest>(
    options: ControllerOptions<T, Rest>,
  ): (key: Key) => void {
    const { name, source } = options
    const lookAt = (key: Key): void => queue.add(key)
    const api = this.api(source.component)
    const { clock } = this.#options
    const reconciler = new Reconciler<T, Rest>({
      ...options,
      api,
      clock,
      lookAt,
      events: this.events,
    })
    const queue = this.queue(name, key => reconciler.work(key))
    this.atEnd(() => reconciler.stop())
    return key => {
      if (this.isComplete) lookAt(key)
    }
  }

  /** The owners of that kind are told when something that they control has changed. */
  owners<F extends Fact, T>(kind: string, follow: Follow<F, T>, told: (owner: F) => void): void {
    this.#owners.set(kind, (namespace, name) => {
      const fact = follow.at(namespace, name)
      if (fact !== undefined) told(fact)
    })
  }

  /** Something that it may control has changed, or is gone. */
  tellOwner({ namespace, owner }: Fact): void {
    if (!this.isComplete || owner === undefined) return
    this.#owners.get(owner.kind)?.(namespace, owner.name)
  }

  /** Something that is to be stopped. */
  atEnd(stop: () => void): void {
    this.#ends.push(stop)
  }

  /** Everything is mirrored, and all that is followed is known. */
  start(): void {
    const { contentsOf, clock, onComplete } = this.#options
    this.#source = new Source({
      keyspaces: [...this.#follows.keys()],
      contentsOf,
      clock,
      signal: this.signal,
      onEntry: (keyspace, entry, fact) => this.#found(keyspace, entry, fact),
      onGone: (keyspace, key, revision) => this.#follows.get(keyspace)?.lost(key, revision),
      onComplete: () => {
        for (const follow of this.#follows.values()) follow.tellAll()
        onComplete()
      },
    })
    this.#source.start()
  }

  applied(keyspace: Key, batch: Batch): void {
    this.#source?.applied(keyspace, batch)
  }

  reset(keyspace: Key): void {
    this.#source?.reset(keyspace)
  }

  stateChanged(keyspace: Key): void {
    this.#source?.stateChanged(keyspace)
  }

  stop(): void {
    this.#abort.abort()
    for (const stop of this.#ends) stop()
  }

  #found(keyspace: Key, entry: KeyValue, fact?: Fact): void {
    const { key, modRevision } = entry
    const follow = this.#follows.get(keyspace)
    // An actor has written it, and has been told so.
    if (follow === undefined || follow.knows(key, modRevision)) return
    if (fact !== undefined) {
      follow.put(fact, this.isComplete)
      return
    }
    const cluster = this.#options.clusterOf('kubelet')
    const place = cluster.placeOf(key)
    const object = place && cluster.plainOf(place.resource, entry)
    if (object === undefined) return
    follow.found(key, modRevision, object, this.isComplete)
  }
}
