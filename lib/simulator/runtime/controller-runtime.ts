/** Everything that controllers share: the kinds of objects that they follow, the queues in which
 *  their work waits, and the API by which they write. A controller is wired up by a function of
 *  this: what it follows, whose changes concern it, and its reconciler. */

import { type Clock, type Key, keyFromText, type Logger, type Random } from '@watchglass/base'
import type { Batch, KeyValue } from '@watchglass/store'
import type { ApiClient, PodStamper } from './api-client.ts'
import { ChangeFeed } from './change-feed.ts'
import { EventRecorder, managerOf } from './event-recorder.ts'
import { type Fact, nodeFact, type NodeFact, podFact, type PodFact } from './facts.ts'
import { type AnyInformer, type FactOf, Informer } from './informer.ts'
import type { Metadata, NodeObject, Pod } from './objects.ts'
import { Reconciler, type ReconcilerOptions } from './reconciler.ts'
import { WorkQueue } from './work-queue.ts'

export interface ControllerRuntimeOptions {
  /** Source of all times and choices that are drawn. */
  readonly random: Random
  /** The API as a client of that name. */
  readonly clientOf: (manager: string) => ApiClient
  readonly stamper: PodStamper
  /** The prefix of all keys, without a slash at its end. */
  readonly prefix: string
  /** Undefined while the mirror does not know. */
  readonly contentsOf: (keyspace: Key) => Iterable<KeyValue> | undefined
  readonly clock: Clock
  readonly logger: Logger
  /** All that there was at the start is known. */
  readonly onComplete: () => void
}

/** A controller: the loop of one kind of object, with a queue of its own. */
export interface ControllerOptions<T, Rest> extends Omit<
  ReconcilerOptions<T, Rest>,
  'api' | 'clock' | 'events' | 'lookAt'
> {
  /** For the log. */
  readonly name: string
  /** The time for which an object that was looked at rests; undefined: it does not rest. */
  readonly restMs?: number | undefined
}

/** Asks a controller to look at objects, by their keys. */
export interface Controller {
  /** Nothing is looked at before all that there was at the start is known. */
  readonly lookAt: (key: Key) => void
  /** Looks at the object after a while, unless it is going to be looked at before. */
  readonly lookAfter: (key: Key, delayMs: number) => void
  /** An object that is gone is not looked at any more. */
  readonly forget: (key: Key) => void
}

export class ControllerRuntime {
  readonly signal: AbortSignal
  readonly events: EventRecorder
  readonly pods: Informer<PodFact, Pod>
  readonly nodes: Informer<NodeFact, NodeObject>
  readonly #options: ControllerRuntimeOptions
  readonly #abort = new AbortController()
  readonly #informers = new Map<Key, AnyInformer>()
  readonly #owners = new Map<string, (namespace: string, name: string) => void>()
  readonly #ends: (() => void)[] = []
  #feed: ChangeFeed | undefined

  constructor(options: ControllerRuntimeOptions) {
    this.#options = options
    this.signal = this.#abort.signal
    const { clock, logger } = options
    const [signal, api] = [this.signal, (name: string): ApiClient => this.api(name)]
    this.events = new EventRecorder({ api, clock, logger, signal })
    this.pods = this.informer<PodFact, Pod>('pods', podFact)
    this.nodes = this.informer<NodeFact, NodeObject>('minions', nodeFact)
  }

  get isComplete(): boolean {
    return this.#feed?.isComplete === true
  }

  get clock(): Clock {
    return this.#options.clock
  }

  /** The objects below a folder of etcd's keys: one informer for all who ask. */
  informer<F extends Fact, T>(folder: string, factOf: FactOf<F, T>): Informer<F, T> {
    return this.informerAt(keyFromText(`${this.#options.prefix}/${folder}/`), factOf)
  }

  /** The objects of a keyspace, which may be one that nobody followed before. */
  informerAt<F extends Fact, T>(keyspace: Key, factOf: FactOf<F, T>): Informer<F, T> {
    const known = this.#informers.get(keyspace)
    // A keyspace has one kind of fact, of which others ask for a part.
    if (known !== undefined) return known as Informer<F, T>
    const informer = new Informer(keyspace, factOf)
    this.#informers.set(keyspace, informer)
    this.#feed?.add(keyspace)
    return informer
  }

  /** The API as a client of that name. What it writes is known to all informers at once. */
  api(manager: string): ApiClient {
    const { clientOf, stamper } = this.#options
    const onWritten = (entry: KeyValue, fact?: Fact): void => this.#feed?.written(entry, fact)
    return clientOf(manager).telling({ onWritten, stamper })
  }

  /** A number from a range, such as a time to wait. */
  draw(least: number, most: number): number {
    return least + this.#options.random.next() * (most - least)
  }

  queue(name: string, work: (key: Key) => Promise<void>, restMs?: number): WorkQueue<Key> {
    const { clock, logger } = this.#options
    return new WorkQueue({ name, clock, logger, signal: this.signal, restMs, work })
  }

  /** Starts the loop of a controller. It writes as the program that its component is a part of. */
  controller<T extends { readonly metadata: Metadata }, Rest>(
    options: ControllerOptions<T, Rest>,
  ): Controller {
    const { name, source, restMs } = options
    const lookAt = (key: Key): void => {
      if (this.isComplete) queue.add(key)
    }
    const api = this.api(managerOf(source.component))
    const { events, clock } = this
    const reconciler = new Reconciler<T, Rest>({ ...options, api, clock, lookAt, events })
    const queue = this.queue(name, key => reconciler.work(key), restMs)
    this.atEnd(() => reconciler.stop())
    return {
      lookAt,
      lookAfter: (key, delayMs) => reconciler.lookAfter(key, delayMs),
      forget: key => reconciler.forget(key),
    }
  }

  /** The owners of that kind are told when something that they control has changed. */
  owners<F extends Fact, T>(
    kind: string,
    informer: Informer<F, T>,
    told: (owner: F) => void,
  ): void {
    this.#owners.set(kind, (namespace, name) => {
      const fact = informer.at(namespace, name)
      if (fact !== undefined) told(fact)
    })
  }

  /** Something that it may control has changed, or is gone. */
  tellOwner({ namespace, owner }: Fact): void {
    if (!this.isComplete || owner === undefined) return
    this.#owners.get(owner.kind)?.(namespace, owner.name)
  }

  /** The owners of these objects are told when one changes, or is gone. */
  tellOwners<F extends Fact, T>(informer: Informer<F, T>): void {
    informer.listen({ changed: fact => this.tellOwner(fact), gone: fact => this.tellOwner(fact) })
  }

  /** Something that is to be stopped. */
  atEnd(stop: () => void): void {
    this.#ends.push(stop)
  }

  /** Everything is mirrored, and all that is followed is known. */
  start(): void {
    const { contentsOf, clock, onComplete } = this.#options
    this.#feed = new ChangeFeed({
      keyspaces: [...this.#informers.keys()],
      contentsOf,
      clock,
      signal: this.signal,
      onEntry: (keyspace, entry, fact) => this.#found(keyspace, entry, fact),
      onGone: (keyspace, key, revision) => this.#informers.get(keyspace)?.lost(key, revision),
      onComplete: () => {
        for (const informer of this.#informers.values()) informer.tellAll()
        onComplete()
      },
    })
    this.#feed.start()
  }

  applied(keyspace: Key, batch: Batch): void {
    this.#feed?.applied(keyspace, batch)
  }

  reset(keyspace: Key): void {
    this.#feed?.reset(keyspace)
  }

  stateChanged(keyspace: Key): void {
    this.#feed?.stateChanged(keyspace)
  }

  stop(): void {
    this.#abort.abort()
    for (const stop of this.#ends) stop()
  }

  #found(keyspace: Key, entry: KeyValue, fact?: Fact): void {
    const { key, modRevision } = entry
    const informer = this.#informers.get(keyspace)
    // A controller has written it, and has been told so.
    if (informer === undefined || informer.knows(key, modRevision)) return
    if (fact !== undefined) {
      informer.put(fact, this.isComplete)
      return
    }
    const client = this.#options.clientOf('kubelet')
    const place = client.placeOf(key)
    const object = place && client.plainOf(place.resource, entry)
    if (object === undefined) return
    informer.found(key, modRevision, object, this.isComplete)
  }
}
