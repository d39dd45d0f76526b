/** The roles and bindings that are mirrored. A stored object is read once, when it is first asked
 *  about, and the bindings of a keyspace are put in order once for each of its changes: a request
 *  costs a look at the bindings that can concern it. */

import { keyFromText, minKey } from '@watchglass/base'
import type { KeyValue, Snapshot } from '@watchglass/store'
import { type Binding, bindingOf, type Policy, type PolicyRule, rulesOf } from '@watchglass/writes'
import { MirroredObjects, type MirroredObjectsOptions } from './mirrored-objects.ts'

const group = 'rbac.authorization.k8s.io'

type RuleResource = 'clusterroles' | 'clusterrolebindings' | 'roles' | 'rolebindings'

const noBindings: readonly Binding[] = []

export class MirroredPolicy implements Policy {
  readonly #objects: MirroredObjects
  readonly #rules = new WeakMap<KeyValue, readonly PolicyRule[]>()
  readonly #bindings = new WeakMap<KeyValue, Binding>()
  /** By the root of a snapshot's tree, which stays the same until something in it changes. */
  readonly #byNamespace = new WeakMap<Snapshot['root'], ReadonlyMap<string, readonly Binding[]>>()

  constructor(options: MirroredObjectsOptions) {
    this.#objects = new MirroredObjects(options, group)
  }

  /** All four keyspaces have contents. Before, nobody can be told what they may do. */
  get isMirrored(): boolean {
    return (['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'] as const).every(
      resource => this.#objects.snapshotOf(resource) !== undefined,
    )
  }

  get clusterRoleBindings(): readonly Binding[] {
    return this.#bindingsIn('clusterrolebindings', '')
  }

  roleBindings(namespace: string): readonly Binding[] {
    return this.#bindingsIn('rolebindings', namespace)
  }

  rules(
    kind: 'ClusterRole' | 'Role',
    namespace: string,
    name: string,
  ): readonly PolicyRule[] | undefined {
    const resource = kind === 'ClusterRole' ? 'clusterroles' : 'roles'
    const place = kind === 'ClusterRole' ? name : `${namespace}/${name}`
    const prefix = this.#objects.prefixOf(resource)
    const snapshot = this.#objects.snapshotOf(resource)
    if (prefix === undefined || snapshot === undefined) return undefined
    const entry = snapshot.get(keyFromText(`${prefix}${place}`))
    if (entry === undefined) return undefined
    const known = this.#rules.get(entry)
    if (known !== undefined) return known
    const rules = rulesOf(this.#objects.plainOf(resource, entry))
    this.#rules.set(entry, rules)
    return rules
  }

  #bindingsIn(
    resource: 'clusterrolebindings' | 'rolebindings',
    namespace: string,
  ): readonly Binding[] {
    const snapshot = this.#objects.snapshotOf(resource)
    if (snapshot === undefined) return noBindings
    const known = this.#byNamespace.get(snapshot.root) ?? this.#ordered(resource, snapshot)
    this.#byNamespace.set(snapshot.root, known)
    return known.get(namespace) ?? noBindings
  }

  #ordered(resource: RuleResource, snapshot: Snapshot): ReadonlyMap<string, readonly Binding[]> {
    const byNamespace = new Map<string, Binding[]>()
    for (const entry of snapshot.iterate({ start: minKey, end: undefined })) {
      const binding = this.#bindings.get(entry) ?? bindingOf(this.#objects.plainOf(resource, entry))
      this.#bindings.set(entry, binding)
      const inNamespace = byNamespace.get(binding.namespace)
      if (inNamespace === undefined) byNamespace.set(binding.namespace, [binding])
      else inNamespace.push(binding)
    }
    return byNamespace
  }
}
