/** The roles and bindings that are mirrored. A stored object is read once, when it is first asked
 *  about, and the bindings of a keyspace are put in order once for each of its changes: a request
 *  costs a look at the bindings that can concern it. */

import { type Key, keyFromText, minKey, NotExact } from '@watchglass/base'
import { textInOrder } from '@watchglass/go'
import type { ApiState } from '@watchglass/kube'
import type { Keyspace, KeyValue, Snapshot } from '@watchglass/store'
import {
  type Binding,
  bindingOf,
  type Policy,
  type PolicyRule,
  rulesOf,
  treeOf,
} from '@watchglass/writes'

export interface MirroredPolicyOptions {
  readonly state: () => ApiState
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
}

const group = 'rbac.authorization.k8s.io'

type RuleResource = 'clusterroles' | 'clusterrolebindings' | 'roles' | 'rolebindings'

const noBindings: readonly Binding[] = []

export class MirroredPolicy implements Policy {
  readonly #options: MirroredPolicyOptions
  readonly #rules = new WeakMap<KeyValue, readonly PolicyRule[]>()
  readonly #bindings = new WeakMap<KeyValue, Binding>()
  /** By the root of a snapshot's tree, which stays the same until something in it changes. */
  readonly #byNamespace = new WeakMap<Snapshot['root'], ReadonlyMap<string, readonly Binding[]>>()

  constructor(options: MirroredPolicyOptions) {
    this.#options = options
  }

  /** All four keyspaces have contents. Before, nobody can be told what they may do. */
  get isMirrored(): boolean {
    return (['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'] as const).every(
      resource => this.#snapshotOf(resource) !== undefined,
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
    const prefix = this.#prefixOf(resource)
    const snapshot = this.#snapshotOf(resource)
    if (prefix === undefined || snapshot === undefined) return undefined
    const entry = snapshot.get(keyFromText(`${prefix}${place}`))
    if (entry === undefined) return undefined
    const known = this.#rules.get(entry)
    if (known !== undefined) return known
    const rules = rulesOf(this.#plainOf(resource, entry))
    this.#rules.set(entry, rules)
    return rules
  }

  #bindingsIn(
    resource: 'clusterrolebindings' | 'rolebindings',
    namespace: string,
  ): readonly Binding[] {
    const snapshot = this.#snapshotOf(resource)
    if (snapshot === undefined) return noBindings
    const known = this.#byNamespace.get(snapshot.root) ?? this.#ordered(resource, snapshot)
    this.#byNamespace.set(snapshot.root, known)
    return known.get(namespace) ?? noBindings
  }

  #ordered(resource: RuleResource, snapshot: Snapshot): ReadonlyMap<string, readonly Binding[]> {
    const byNamespace = new Map<string, Binding[]>()
    for (const entry of snapshot.iterate({ start: minKey, end: undefined })) {
      const binding = this.#bindings.get(entry) ?? bindingOf(this.#plainOf(resource, entry))
      this.#bindings.set(entry, binding)
      const inNamespace = byNamespace.get(binding.namespace)
      if (inNamespace === undefined) byNamespace.set(binding.namespace, [binding])
      else inNamespace.push(binding)
    }
    return byNamespace
  }

  /** The object as the API shows it; undefined, which is read as empty, if it cannot be shown. */
  #plainOf(resource: RuleResource, entry: KeyValue): unknown {
    const state = this.#options.state()
    const found = state.registry.find(group, 'v1', resource)
    const encoder = found && state.encoderOf(found)
    if (found === undefined || encoder === undefined || encoder instanceof NotExact) {
      return undefined
    }
    return JSON.parse(textInOrder(treeOf(encoder, found, entry)))
  }

  #prefixOf(resource: RuleResource): string | undefined {
    return this.#options.state().registry.find(group, 'v1', resource)?.storage?.prefix
  }

  #snapshotOf(resource: RuleResource): Snapshot | undefined {
    const prefix = this.#prefixOf(resource)
    const keyspace = prefix === undefined ? undefined : this.#options.storeOf(keyFromText(prefix))
    const snapshot = keyspace?.latest()
    return snapshot?.revision === 0 ? undefined : snapshot
  }
}
