/** Empties namespaces that are being deleted, and lets them go: deletes what is in them, says in
 *  their conditions what remains, and takes the finalizer `kubernetes` away when nothing does. Pods
 *  go first: nothing else is deleted while there is one, so that network policies hold for it. */

import { type Key, Slice, type SliceClock } from '@watchglass/base'
import { itemsOf, type JsonObject, memberOf } from '@watchglass/go'
import type { Resource } from '@watchglass/kube'
import type { Event, KeyValue } from '@watchglass/store'
import type { ClusterApi, ApiPlace } from '../runtime/cluster-api.ts'
import { factsOf } from './object-facts.ts'

const finalizer = 'kubernetes'

/** The number of deletes that are under way at once. */
const togetherMax = 16
/** The number of finalizers named in a condition: contents may have any number of different ones,
 *  and a namespace that is too large to be stored would never say what holds it. */
const namedMax = 1_000

export interface NamespaceEmptierOptions {
  readonly cluster: ClusterApi
  readonly clock: SliceClock
  /** The prefix of namespaces' keys. */
  readonly keyspace: Key
  /** The namespace is to be passed to `work` soon. */
  readonly lookAt: (key: Key) => void
  /** The object as the API shows it. */
  readonly objectOf: (place: ApiPlace) => Promise<JsonObject | undefined>
  readonly now: () => string
}

export class NamespaceEmptier {
  readonly #options: NamespaceEmptierOptions
  /** The namespaces that are being deleted, by name. */
  readonly #terminating = new Map<string, Key>()

  constructor(options: NamespaceEmptierOptions) {
    this.#options = options
  }

  changed({ key, after }: Event): void {
    if (key.startsWith(this.#options.keyspace)) {
      const name = key.slice(this.#options.keyspace.length)
      const isDeleted = after !== undefined && factsOf(after)?.deletedAtMs !== undefined
      if (!isDeleted) this.#terminating.delete(name)
      else if (!this.#terminating.has(name)) {
        this.#terminating.set(name, key)
        this.#options.lookAt(key)
      }
      return
    }
    if (this.#terminating.size === 0 || after !== undefined) return
    const namespace = this.#options.cluster.placeOf(key)?.namespace ?? ''
    const terminating = this.#terminating.get(namespace)
    if (terminating !== undefined) this.#options.lookAt(terminating)
  }

  async work(key: Key): Promise<void> {
    const place = this.#options.cluster.placeOf(key)
    const namespace = place && (await this.#options.objectOf(place))
    if (place === undefined || namespace === undefined) return
    const held = itemsOf(memberOf(namespace.get('spec'), 'finalizers'))
    const isDeleted = memberOf(namespace.get('metadata'), 'deletionTimestamp') !== undefined
    if (!isDeleted || !held.includes(finalizer)) return
    const all = [...this.#options.cluster.namespacedResources()]
    const isPods = ({ group, resource }: Resource): boolean => group === '' && resource === 'pods'
    const pods = all.filter(isPods)
    await this.#deleteContents(place.name, pods)
    if (await this.#hasAny(place.name, pods)) {
      // As upstream: the conditions name what remains only when no pod does.
      await this.#tellConditions(place, namespace, { resources: [], finalizers: [] })
      return
    }
    await this.#deleteContents(
      place.name,
      all.filter(one => !isPods(one)),
    )
    const remaining = await this.#remaining(place.name)
    await this.#tellConditions(place, namespace, remaining)
    if (remaining.resources.length > 0) return
    const left = held.filter(one => one !== finalizer && typeof one === 'string') as string[]
    await this.#options.cluster.finalizeNamespace(place.name, left)
  }

  async #hasAny(namespace: string, resources: readonly Resource[]): Promise<boolean> {
    for (const resource of resources) {
      if ((await this.#options.cluster.readAll(resource, namespace)).length > 0) return true
    }
    return false
  }

  async #deleteContents(namespace: string, resources: readonly Resource[]): Promise<void> {
    const { cluster } = this.#options
    for (const resource of resources) {
      const entries = await cluster.readAll(resource, namespace)
      for (let at = 0; at < entries.length; at += togetherMax) {
        await Promise.all(entries.slice(at, at + togetherMax).map(entry => this.#delete(entry)))
      }
    }
  }

  async #delete(entry: KeyValue): Promise<void> {
    const { cluster } = this.#options
    const facts = factsOf(entry)
    const place = cluster.placeOf(entry.key)
    if (facts === undefined || place === undefined || facts.deletedAtMs !== undefined) return
    await cluster.delete(place, { uid: facts.uid, propagation: 'Background' })
  }

  async #remaining(namespace: string): Promise<Remaining> {
    const { cluster, clock } = this.#options
    const slice = new Slice(clock)
    const resources: string[] = []
    const finalizers = new Map<string, number>()
    for (const resource of cluster.namespacedResources()) {
      const entries = await cluster.readAll(resource, namespace)
      if (entries.length === 0) continue
      const name = `${resource.resource}.${resource.group}`
      resources.push(`${name} has ${String(entries.length)} resource instances`)
      for (const entry of entries) {
        for (const one of factsOf(entry)?.finalizers ?? []) {
          finalizers.set(one, (finalizers.get(one) ?? 0) + 1)
        }
        await slice.giveWay()
      }
    }
    const held = [...finalizers]
      .slice(0, namedMax)
      .map(([name, count]) => `${name} in ${String(count)} resource instances`)
      .sort()
    if (finalizers.size > namedMax) held.push(`and ${finalizers.size - namedMax} others`)
    return { resources: resources.sort(), finalizers: held }
  }

  async #tellConditions(
    place: ApiPlace,
    namespace: JsonObject,
    remaining: Remaining,
  ): Promise<void> {
    const known = itemsOf(memberOf(namespace.get('status'), 'conditions'))
    const conditions = conditionsOf(remaining, this.#options.now())
    const isKnown = conditions.every(({ type, status, reason, message }) =>
      known.some(
        one =>
          memberOf(one, 'type') === type &&
          memberOf(one, 'status') === status &&
          memberOf(one, 'reason') === reason &&
          memberOf(one, 'message') === message,
      ),
    )
    if (isKnown) return
    const kept = conditions.map(condition => {
      const before = known.find(one => memberOf(one, 'type') === condition.type)
      const isSame = memberOf(before, 'status') === condition.status
      const since = isSame ? memberOf(before, 'lastTransitionTime') : undefined
      return typeof since === 'string' ? { ...condition, lastTransitionTime: since } : condition
    })
    await this.#options.cluster.patch(place, { status: { conditions: kept } }, 'status')
  }
}

interface Remaining {
  readonly resources: readonly string[]
  readonly finalizers: readonly string[]
}

interface Condition {
  readonly type: string
  readonly status: 'True' | 'False'
  readonly lastTransitionTime: string
  readonly reason: string
  readonly message: string
}

/** In the order and in the words of upstream's controller. */
function conditionsOf({ resources, finalizers }: Remaining, now: string): Condition[] {
  const good = (type: string, reason: string, message: string): Condition => ({
    type,
    status: 'False',
    lastTransitionTime: now,
    reason,
    message,
  })
  const conditions = [
    good(
      'NamespaceDeletionDiscoveryFailure',
      'ResourcesDiscovered',
      'All resources successfully discovered',
    ),
    good(
      'NamespaceDeletionGroupVersionParsingFailure',
      'ParsedGroupVersions',
      'All legacy kube types successfully parsed',
    ),
    good(
      'NamespaceDeletionContentFailure',
      'ContentDeleted',
      'All content successfully deleted, may be waiting on finalization',
    ),
    good('NamespaceContentRemaining', 'ContentRemoved', 'All content successfully removed'),
    good(
      'NamespaceFinalizersRemaining',
      'ContentHasNoFinalizers',
      'All content-preserving finalizers finished',
    ),
  ]
  return conditions.map(condition => {
    if (condition.type === 'NamespaceContentRemaining' && resources.length > 0) {
      return remain(
        condition,
        'SomeResourcesRemain',
        `Some resources are remaining: ${resources.join(', ')}`,
      )
    }
    if (condition.type === 'NamespaceFinalizersRemaining' && finalizers.length > 0) {
      return remain(
        condition,
        'SomeFinalizersRemain',
        `Some content in the namespace has finalizers remaining: ${finalizers.join(', ')}`,
      )
    }
    return condition
  })
}

function remain(condition: Condition, reason: string, message: string): Condition {
  return { ...condition, status: 'True', reason, message }
}
