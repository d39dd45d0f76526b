/** Keeps the status of resource quotas: what is counted, and how much of it is used. Admission
 *  notes what is about to be used; here is what is really there, after deletes and what came to
 *  nothing. */

import { type Clock, type Key, Slice } from '@watchglass/base'
import { type JsonObject, memberOf } from '@watchglass/go'
import type { KeyValue } from '@watchglass/store'
import {
  countedResource,
  evaluatorOf,
  isAbout,
  masked,
  metaText,
  resourceList,
  type ResourceList,
  selectorsOf,
  sumOf,
} from '@watchglass/writes'
import type { ClusterApi, ApiPlace } from '../runtime/cluster-api.ts'

export interface QuotaKeeperOptions {
  readonly cluster: ClusterApi
  /** The prefix of keys. */
  readonly quotas: Key
  readonly objectOf: (place: ApiPlace) => Promise<JsonObject | undefined>
  /** The object as the API shows it; undefined if it cannot be shown. */
  readonly treeOf: (place: ApiPlace, entry: KeyValue) => JsonObject | undefined
  readonly clock: Clock
  /** `work` is to be called with the key soon. */
  readonly lookAt: (key: Key) => void
}

/** The quiet before a namespace is counted again. Admission notes a use before the object is
 *  stored: who counts in between would take the note away, and let in more than there is room
 *  for. */
const quietMs = 500
/** The longest wait for that quiet. */
const waitMaxMs = 10_000

interface Waiting {
  readonly sinceMs: number
  readonly cancel: () => void
}

export class QuotaKeeper {
  readonly #options: QuotaKeeperOptions
  /** The quotas of the namespaces that have some. */
  readonly #byNamespace = new Map<string, Set<Key>>()
  /** Namespaces that will be counted after the pause. */
  readonly #waiting = new Map<string, Waiting>()

  constructor(options: QuotaKeeperOptions) {
    this.#options = options
  }

  changed(keyspace: Key, { key }: { readonly key: Key }): void {
    const { quotas, lookAt } = this.#options
    if (keyspace !== quotas && this.#byNamespace.size === 0) return
    const slash = key.indexOf('/', keyspace.length)
    if (slash < 0) return
    const namespace = key.slice(keyspace.length, slash)
    const known = this.#byNamespace.get(namespace)
    if (keyspace === quotas && known?.has(key) !== true) {
      this.#byNamespace.set(namespace, (known ?? new Set()).add(key))
      lookAt(key)
    } else if (known !== undefined) this.#lookLater(namespace)
  }

  stop(): void {
    for (const { cancel } of this.#waiting.values()) cancel()
    this.#waiting.clear()
  }

  #lookLater(namespace: string): void {
    const { clock, lookAt } = this.#options
    const nowMs = clock.monotonicMs()
    const { sinceMs, cancel: stop } = this.#waiting.get(namespace) ?? {
      sinceMs: nowMs,
      cancel: undefined,
    }
    stop?.()
    const delayMs = Math.max(0, Math.min(quietMs, sinceMs + waitMaxMs - nowMs))
    const cancel = clock.setTimer(delayMs, () => {
      this.#waiting.delete(namespace)
      for (const key of this.#byNamespace.get(namespace) ?? []) lookAt(key)
    })
    this.#waiting.set(namespace, { sinceMs, cancel })
  }

  async work(key: Key): Promise<void> {
    const { cluster, objectOf } = this.#options
    const place = cluster.placeOf(key)
    const quota = place && (await objectOf(place))
    if (place === undefined || quota === undefined) {
      this.#forget(key)
      return
    }
    const hard = resourceList(memberOf(quota.get('spec'), 'hard'))
    const used = await this.#used(quota, place.namespace, hard)
    const status = quota.get('status')
    const changes = {
      hard: changesOf(resourceList(memberOf(status, 'hard')), hard),
      used: changesOf(resourceList(memberOf(status, 'used')), used),
    }
    const isSame = Object.values(changes).every(change => Object.keys(change).length === 0)
    if (isSame) return
    // Whoever has written it meanwhile has noted a use: it is counted anew.
    const metadata = { resourceVersion: metaText(quota, 'resourceVersion') }
    await cluster.patch(place, { metadata, status: changes }, 'status')
  }

  #forget(key: Key): void {
    for (const [namespace, keys] of this.#byNamespace) {
      keys.delete(key)
      if (keys.size === 0) this.#byNamespace.delete(namespace)
    }
  }

  async #used(quota: JsonObject, namespace: string, hard: ResourceList): Promise<ResourceList> {
    const selectors = selectorsOf(quota)
    const counted = new Map<string, ReturnType<typeof countedResource>>()
    for (const name of hard.keys()) {
      const found = countedResource(name)
      counted.set(`${found.group}/${found.resource}`, found)
    }
    let used: ResourceList = new Map([...hard.keys()].map(name => [name, '0']))
    for (const found of counted.values()) {
      const evaluator = evaluatorOf(found.group, found.resource)
      for await (const object of this.#objects(found, namespace)) {
        if (!isAbout({ hard, selectors }, evaluator, object)) continue
        const usage = evaluator.usage(object, this.#options.clock.wallMs())
        used = sumOf(used, masked(usage, hard.keys()))
      }
    }
    return used
  }

  async *#objects(
    { group, resource: plural }: ReturnType<typeof countedResource>,
    namespace: string,
  ): AsyncIterable<JsonObject> {
    const { cluster, treeOf, clock } = this.#options
    const slice = new Slice(clock)
    for (const resource of cluster.namespacedResources()) {
      if (resource.group !== group || resource.resource !== plural) continue
      for (const entry of await cluster.readAll(resource, namespace)) {
        const place = cluster.placeOf(entry.key)
        const object = place && treeOf(place, entry)
        if (object !== undefined) yield object
        await slice.giveWay()
      }
    }
  }
}

/** A merge patch of one list into another one. */
function changesOf(from: ResourceList, to: ResourceList): Record<string, string | null> {
  const changes: Record<string, string | null> = {}
  for (const name of from.keys()) if (!to.has(name)) changes[name] = null
  for (const [name, quantity] of to) if (from.get(name) !== quantity) changes[name] = quantity
  return changes
}
