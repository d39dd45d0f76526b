/** The API as actors use it: what they write, they know at once, before the mirror tells it. */

import type { Clock } from '../../base/clock.ts'
import type { Key } from '../../base/keys.ts'
import type { Random } from '../../base/random.ts'
import { textFromMilliseconds } from '../../go/time.ts'
import { StatusError } from '../../kube/status.ts'
import type { KeyValue } from '../../store/event.ts'
import type { ApiCluster, PatchAs } from '../controllers/api-cluster.ts'
import type { ObjectPlace } from '../controllers/cluster.ts'
import type { NodeFact } from './facts.ts'
import type { Pod } from './objects.ts'
import type { PodStamps } from './pod-stamps.ts'
import { type PodAddresses, runningStatus } from './pod-status.ts'

export interface ActorApiOptions {
  readonly cluster: ApiCluster
  readonly clock: Clock
  readonly random: Random
  /** An object as an actor has written it. */
  readonly onWritten: (entry: KeyValue) => void
  readonly stamps: PodStamps
}

/** An object that was read. */
export interface Found<T> {
  readonly place: ObjectPlace
  readonly object: T
  readonly revision: number
  readonly entry: KeyValue
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
    return object && { place, object, revision: entry.modRevision, entry }
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
    const entry = stamped ?? (await cluster.create(place, object))
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
  ): Promise<KeyValue | undefined> {
    const { metadata } = object as { readonly metadata?: { readonly generateName?: string } }
    const isPod = group === '' && resource === 'pods'
    if (!isPod || metadata?.generateName === undefined) return undefined
    return this.#options.stamps.create(this.#options.cluster, place, object)
  }

  /** Gives the pod its node. */
  async bind({ entry, place }: Found<Pod>, node: NodeFact): Promise<void> {
    const { cluster, stamps, onWritten } = this.#options
    const bound = await stamps.bind(entry, place, node)
    if (bound === undefined) await cluster.bind(place, node.name)
    else onWritten(bound)
  }

  /** The pod runs, with the status that says so. */
  async run({ entry, place, object }: Found<Pod>, addresses: PodAddresses): Promise<void> {
    const { stamps, onWritten } = this.#options
    const running = await stamps.run(entry, place, addresses)
    if (running !== undefined) return onWritten(running)
    const status = runningStatus(object, { now: this.now, ...addresses })
    await this.patch(entry.key, { status }, 'status')
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
