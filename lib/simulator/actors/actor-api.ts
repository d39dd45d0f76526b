/** The API as actors use it: what they write, they know at once, before the mirror tells it. */

import type { Clock, Key, Random } from '@watchglass/base'
import { textFromMilliseconds } from '@watchglass/go'
import { StatusError } from '@watchglass/kube'
import type { KeyValue } from '@watchglass/store'
import type { ApiCluster, PatchAs } from '../controllers/api-cluster.ts'
import type { ObjectPlace } from '../controllers/cluster.ts'
import { type NodeFact, type PodFact, podFact } from './facts.ts'
import type { Found, FoundPod } from './found.ts'
import type { Pod } from './objects.ts'
import type { PodStamps, Stamped } from './pod-stamps.ts'
import { type PodAddresses, runningStatus } from './pod-status.ts'

export interface ActorApiOptions {
  readonly cluster: ApiCluster
  readonly clock: Clock
  readonly random: Random
  /** An object as an actor has written it. */
  readonly onWritten: (entry: KeyValue, fact?: PodFact) => void
  readonly stamps: PodStamps
}

/** An object to create, and its place. */
export interface Creation {
  readonly group: string
  readonly resource: string
  readonly namespace: string
  readonly object: object
}

/** An object to apply. */
export interface Applied {
  readonly apiVersion: string
  readonly kind: string
  /** That of a namespaced object. */
  readonly namespace: string
  readonly object: { readonly metadata?: { readonly name?: string } }
}

export class ActorApi {
  readonly #options: ActorApiOptions

  constructor(options: ActorApiOptions) {
    this.#options = options
  }

  /** The present time, in whole seconds. */
  get now(): string {
    return textFromMilliseconds(this.#options.clock.wallMs())
  }

  /** A time to wait. */
  draw(minMs: number, maxMs: number): number {
    return minMs + this.#options.random.next() * (maxMs - minMs)
  }

  /** The object of now, and where it is; undefined if there is none. */
  async read<T>(key: Key): Promise<Found<T> | undefined> {
    const { cluster } = this.#options
    const place = cluster.placeOf(key)
    const entry = await cluster.read(key)
    if (place === undefined || entry === undefined) return undefined
    const object = cluster.plainOf(place.resource, entry) as T | undefined
    return object && { place, object, revision: entry.modRevision }
  }

  /** Throws if there is one of that name, as all refusals are thrown: the work is tried again with
   *  what is there then. The name it has been given. */
  async create(creation: Creation): Promise<string> {
    const key = await this.createAt(creation)
    return key === undefined ? '' : this.nameOf(key)
  }

  /** The same, and its key. */
  async createAt({ group, resource: name, namespace, object }: Creation): Promise<Key | undefined> {
    const { cluster, onWritten } = this.#options
    const resource = cluster.resourceOf(group, 'v1', name)
    if (resource === undefined) return undefined
    const place = { resource, namespace, name: '' }
    const stamped = await this.#stamped({ group, resource: name, object }, place)
    if (stamped !== undefined) return this.#stampedKey(stamped)
    const entry = await cluster.create(place, object)
    if (entry !== undefined) onWritten(entry)
    return entry?.key
  }

  async createIfMissing({ group, resource: name, namespace, object }: Creation): Promise<void> {
    const { cluster } = this.#options
    const resource = cluster.resourceOf(group, 'v1', name)
    if (resource !== undefined) {
      await cluster.createIfMissing({ resource, namespace, name: '' }, object)
    }
  }

  /** Applies an object: it is made, or changed if it is there. A part of it, if a subresource is
   *  named, for which it must be there. */
  async apply(
    { apiVersion, kind, namespace, object }: Applied,
    { type, subresource = '' }: Pick<PatchAs, 'type' | 'subresource'>,
  ): Promise<void> {
    const { cluster, onWritten } = this.#options
    const resource = cluster.resourceOfKind(apiVersion, kind)
    if (resource === undefined) throw new Error(`nothing of kind ${apiVersion} ${kind} is served`)
    const name = object.metadata?.name ?? ''
    const place = { resource, namespace: resource.isNamespaced ? namespace : '', name }
    if (subresource === '' && (await cluster.createIfMissing(place, object))) return
    const entry = await cluster.patchAs(place, { type, body: JSON.stringify(object), subresource })
    if (entry !== undefined) onWritten(entry)
  }

  nameOf(key: Key): string {
    return this.#options.cluster.placeOf(key)?.name ?? ''
  }

  /** A pod whose name is generated differs from others of its template in little. */
  async #stamped(
    { group, resource, object }: Omit<Creation, 'namespace'>,
    place: ObjectPlace,
  ): Promise<Stamped | undefined> {
    const { metadata } = object as { readonly metadata?: { readonly generateName?: string } }
    const isPod = group === '' && resource === 'pods'
    if (!isPod || metadata?.generateName === undefined) return undefined
    return this.#options.stamps.create(this.#options.cluster, place, object)
  }

  #stampedKey({ entry, fact }: Stamped): Key {
    this.#options.onWritten(entry, fact)
    return entry.key
  }

  /** A pod to be worked on. One that was stamped need not be read. */
  async readPod(key: Key): Promise<FoundPod | undefined> {
    const stamped = this.#options.stamps.find(key)
    if (stamped !== undefined) return stamped
    const found = await this.read<Pod>(key)
    return found && { ...found, fact: podFact(key, found.revision, found.object) }
  }

  /** Gives the pod its node. False if it has changed meanwhile: it is to be read again. */
  async bind(key: Key, place: ObjectPlace, node: NodeFact): Promise<boolean> {
    const { cluster, stamps } = this.#options
    if (!stamps.has(key)) {
      await cluster.bind(place, node.name)
      return true
    }
    const bound = await stamps.bind(key, node)
    if (bound !== undefined) this.#stampedKey(bound)
    return bound !== undefined
  }

  /** The pod runs, with the status that says so. False as for `bind`. */
  async run(key: Key, pod: Pod, addresses: PodAddresses): Promise<boolean> {
    const { stamps } = this.#options
    if (!stamps.has(key)) {
      const status = runningStatus(pod, { now: this.now, ...addresses })
      await this.patch(key, { status }, 'status')
      return true
    }
    const running = await stamps.run(key, addresses)
    if (running !== undefined) this.#stampedKey(running)
    return running !== undefined
  }

  /** False if the object is gone. */
  patch(key: Key, patch: object, subresource = ''): Promise<boolean> {
    return this.patchAs(key, { type: 'merge', body: JSON.stringify(patch), subresource })
  }

  /** The same for a patch of any kind. */
  async patchAs(key: Key, patch: PatchAs): Promise<boolean> {
    const { cluster, onWritten } = this.#options
    const place = cluster.placeOf(key)
    if (place === undefined) return false
    try {
      const entry = await cluster.patchAs(place, patch)
      if (entry !== undefined) onWritten(entry)
      return true
    } catch (error) {
      if (error instanceof StatusError && error.status.code === 404) return false
      throw error
    }
  }

  async delete(key: Key, uid: string, graceSeconds?: number): Promise<void> {
    const { cluster, onWritten } = this.#options
    const place = cluster.placeOf(key)
    if (place === undefined) return
    await cluster.delete(place, {
      uid,
      propagation: 'Background',
      ...(graceSeconds === undefined ? {} : { graceSeconds }),
    })
    const entry = await cluster.read(key)
    if (entry !== undefined) onWritten(entry)
  }
}
