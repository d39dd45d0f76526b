/** Fills ClusterRoles that have an aggregation rule with the rules of the roles that it selects.
 *  All are looked at after each change of any: there are few, and one may select another one
 *  that selects. */

import { isStepDue, type Key, Slice, type SliceClock, type Steps } from '@watchglass/base'
import { itemsOf, type JsonObject, type JsonValue, memberOf, textFromTree } from '@watchglass/go'
import type { KeyValue } from '@watchglass/store'
import { isEqual, matchesSelector } from '@watchglass/writes'
import type { ClusterApi, ApiPlace } from '../runtime/cluster-api.ts'

export interface RoleAggregationOptions {
  readonly cluster: ClusterApi
  /** The prefix of keys. */
  readonly clusterRoles: Key
  /** Contents of a keyspace now; undefined while the mirror has none of it. */
  readonly contentsOf: (keyspace: Key) => Iterable<KeyValue> | undefined
  /** The object as the API shows it; undefined if it cannot be shown. */
  readonly treeOf: (place: ApiPlace, entry: KeyValue) => JsonObject | undefined
  readonly clock: SliceClock
  /** `work` is to be called soon. */
  readonly lookAtAll: () => void
}

const manager = 'clusterrole-aggregation-controller'

export class RoleAggregation {
  readonly #options: RoleAggregationOptions
  /** Roles that were read before: most have not changed. */
  readonly #roles = new WeakMap<KeyValue, JsonObject>()

  constructor(options: RoleAggregationOptions) {
    this.#options = options
  }

  changed(keyspace: Key): void {
    if (keyspace === this.#options.clusterRoles) this.#options.lookAtAll()
  }

  async work(): Promise<void> {
    const { cluster, clusterRoles, contentsOf, clock } = this.#options
    const slice = new Slice(clock)
    const places = new Map<JsonObject, ApiPlace>()
    for (const entry of contentsOf(clusterRoles) ?? []) {
      const place = cluster.placeOf(entry.key)
      const role = place && this.#roleOf(place, entry)
      if (place !== undefined && role !== undefined) places.set(role, place)
      await slice.giveWay()
    }
    const roles = [...places.keys()]
    for (const [role, place] of places) {
      const rules = await slice.take(aggregatedRules(role, roles))
      if (rules === undefined || isEqual(role.get('rules'), rules)) continue
      await cluster.apply(place, rules.length === 0 ? {} : { rules }, manager)
    }
  }

  #roleOf(place: ApiPlace, entry: KeyValue): JsonObject | undefined {
    const known = this.#roles.get(entry)
    if (known !== undefined) return known
    const role = this.#options.treeOf(place, entry)
    if (role !== undefined) this.#roles.set(entry, role)
    return role
  }
}

/** The rules that a role should have, each once; undefined if it has no aggregation rule. The other
 *  roles are in the order of their names. */
export function* aggregatedRules(
  role: JsonObject,
  others: readonly JsonObject[],
): Steps<JsonValue[] | undefined> {
  const aggregation = role.get('aggregationRule')
  if (!(aggregation instanceof Map)) return undefined
  const rules = new Map<string, JsonValue>()
  // A role that was selected has given its rules: there may be thousands of selectors and of rules.
  const left = new Set(others)
  left.delete(role)
  for (const selector of itemsOf(aggregation.get('clusterRoleSelectors'))) {
    for (const other of left) {
      yield
      if (!matchesSelector(selector, memberOf(other.get('metadata'), 'labels'))) continue
      left.delete(other)
      for (const rule of itemsOf(other.get('rules'))) {
        if (isStepDue()) yield
        const text = textFromTree(rule)
        if (!rules.has(text)) rules.set(text, rule)
      }
    }
  }
  return [...rules.values()]
}
