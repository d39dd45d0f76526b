/** Other objects of the cluster, as admission looks at them: single ones as etcd has them now, so
 *  that nobody has to wait after a write; lists out of the mirror, which cost no request. Nobody
 *  may change what comes from here. */

import { type Key, keyFromText, NotExact, prefixRange } from '@watchglass/base'
import type { JsonObject } from '@watchglass/go'
import type { ObjectEncoder } from '@watchglass/codec'
import type { Resource } from '@watchglass/kube'
import type { Keyspace, KeyValue, Snapshot } from '@watchglass/store'
import { treeOf, type WriteSession } from '../operations/session.ts'

/** The group, version and plural name of a resource. */
export type ResourceName = readonly [group: string, version: string, resource: string]

export interface StoredObjectName {
  /** Empty for what is in no namespace. */
  readonly namespace: string
  readonly name: string
}

type Asking = Pick<WriteSession, 'state' | 'store' | 'signal' | 'slice' | 'services'>

interface Known {
  readonly resource: Resource
  readonly encoder: ObjectEncoder
  readonly prefix: string
}

export class StoredObjects {
  readonly #storeOf: (keyspace: Key) => Keyspace | undefined
  readonly #trees = new WeakMap<KeyValue, JsonObject>()
  /** Lists of the whole cluster, as long as nothing of them changes. */
  readonly #lists = new WeakMap<
    Snapshot,
    { readonly encoder: ObjectEncoder; readonly trees: readonly JsonObject[] }
  >()

  /** @param storeOf the mirrored contents of a keyspace; undefined where there is no mirror */
  constructor(storeOf: (keyspace: Key) => Keyspace | undefined) {
    this.#storeOf = storeOf
  }

  /** The object as the API shows it in this version; undefined if there is none. */
  async get(
    asking: Asking,
    resource: ResourceName,
    { namespace, name }: StoredObjectName,
  ): Promise<JsonObject | undefined> {
    const known = find(asking, resource)
    if (known === undefined || name === '') return undefined
    const place = namespace === '' ? name : `${namespace}/${name}`
    const entry = await asking.store.get(keyFromText(known.prefix + place), asking.signal)
    return entry && treeOf(known.encoder, known.resource, entry)
  }

  /** The objects of a namespace, or all of the cluster if it is empty, by name. For resources of
   *  which there are few: what has been read is kept as long as it is stored. */
  async list(
    asking: Asking,
    resource: ResourceName,
    namespace = '',
  ): Promise<readonly JsonObject[]> {
    const known = find(asking, resource)
    if (known === undefined) return []
    asking.services.onListed?.(known.prefix, namespace)
    const snapshot = namespace === '' ? this.#snapshotOf(known) : undefined
    const kept = snapshot && this.#lists.get(snapshot)
    if (kept?.encoder === known.encoder) return kept.trees
    const found: JsonObject[] = []
    const entries = snapshot?.iterate(prefixRange(keyFromText(known.prefix)))
    for (const entry of entries ?? (await this.#entries(asking, known, namespace))) {
      found.push(this.#treeOf(known, entry))
      if (asking.slice.isOver) await asking.slice.next()
    }
    if (snapshot !== undefined) {
      this.#lists.set(snapshot, { encoder: known.encoder, trees: found })
    }
    return found
  }

  /** The mirrored contents of now; undefined if there are none. */
  #snapshotOf({ prefix }: Known): Snapshot | undefined {
    const snapshot = this.#storeOf(keyFromText(prefix))?.latest()
    return snapshot?.revision === 0 ? undefined : snapshot
  }

  /** Looks at the objects of a namespace, however many, one after the other. */
  async visit(
    asking: Asking,
    resource: ResourceName,
    namespace: string,
    look: (object: JsonObject) => void,
  ): Promise<void> {
    const known = find(asking, resource)
    if (known === undefined) return
    asking.services.onListed?.(known.prefix, namespace)
    for (const entry of await this.#entries(asking, known, namespace)) {
      look(treeOf(known.encoder, known.resource, entry))
      await asking.slice.giveWay()
    }
  }

  async #entries(
    { store, signal }: Asking,
    known: Known,
    namespace: string,
  ): Promise<Iterable<KeyValue>> {
    const place = namespace === '' ? '' : `${namespace}/`
    const range = prefixRange(keyFromText(known.prefix + place))
    const snapshot = this.#snapshotOf(known)
    if (snapshot !== undefined) return snapshot.iterate(range)
    return (await store.list(range, { limit: 0 }, signal)).entries
  }

  #treeOf({ resource, encoder }: Known, entry: KeyValue): JsonObject {
    const known = this.#trees.get(entry)
    if (known !== undefined) return known
    const tree = treeOf(encoder, resource, entry)
    this.#trees.set(entry, tree)
    return tree
  }
}

function find({ state }: Asking, [group, version, name]: ResourceName): Known | undefined {
  const resource = state.registry.find(group, version, name)
  const encoder = resource && state.encoderOf(resource)
  if (resource?.storage === undefined || encoder === undefined || encoder instanceof NotExact) {
    return undefined
  }
  return { resource, encoder, prefix: resource.storage.prefix }
}
