/** Who may do what by the roles and bindings of a store in memory, read anew for each question; and
 *  tokens that name their users, since none is checked here. */

import { type Key, keyFromText } from '../../../../lib/base/keys.ts'
import {
  type Binding,
  bindingOf,
  type PolicyRule,
  rulesOf,
} from '../../../../lib/writes/rbac/policy.ts'
import {
  authorize,
  type RbacDecision,
  type HeldRules,
  type Policy,
  referredRules,
  rulesFor,
} from '../../../../lib/writes/rbac/rbac.ts'
import type {
  IssuedToken,
  ReviewedToken,
  TokenOrder,
  WriteAccess,
} from '../../../../lib/writes/write-access.ts'
import { jsonFromStored } from '../../../../lib/codec/transcode/transcode.ts'
import type { Identity } from '../../../../lib/kube/access-review.ts'
import type { MemoryStore } from './memory-store.ts'

const group = '/registry'

/** The issuer, and the audience of tokens that ask for none. */
const issuer = 'https://kubernetes.default.svc.cluster.local'

class StoredPolicy implements Policy {
  readonly #entries: MemoryStore['entries']

  constructor(entries: MemoryStore['entries']) {
    this.#entries = entries
  }

  get clusterRoleBindings(): readonly Binding[] {
    return this.#bindings(`${group}/clusterrolebindings/`)
  }

  roleBindings(namespace: string): readonly Binding[] {
    return this.#bindings(`${group}/rolebindings/${namespace}/`)
  }

  rules(
    kind: 'ClusterRole' | 'Role',
    namespace: string,
    name: string,
  ): readonly PolicyRule[] | undefined {
    const place = kind === 'ClusterRole' ? `clusterroles/${name}` : `roles/${namespace}/${name}`
    const role = this.#plainAt(keyFromText(`${group}/${place}`))
    return role === undefined ? undefined : rulesOf(role)
  }

  #bindings(prefix: string): Binding[] {
    const start = keyFromText(prefix)
    return [...this.#entries.keys()]
      .filter(key => key.startsWith(start))
      .sort()
      .map(key => bindingOf(this.#plainAt(key)))
  }

  #plainAt(key: Key): unknown {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    return JSON.parse(Buffer.from(jsonFromStored(entry.value) as Uint8Array).toString())
  }
}

export class StoredAccess implements WriteAccess {
  readonly audiences: readonly string[] = [issuer]
  readonly #policy: Policy

  constructor(entries: MemoryStore['entries']) {
    this.#policy = new StoredPolicy(entries)
  }

  authorize(user: Identity, attributes: Parameters<WriteAccess['authorize']>[1]): RbacDecision {
    return authorize(this.#policy, user, attributes)
  }

  rulesFor(user: Identity, namespace: string): HeldRules {
    return rulesFor(this.#policy, user, namespace)
  }

  roleRules(...asked: Parameters<WriteAccess['roleRules']>): readonly PolicyRule[] | undefined {
    return referredRules(this.#policy, ...asked)
  }

  /** The tokens that the recorded server was started with. */
  reviewToken(token: string, wanted: readonly string[]): ReviewedToken {
    const audiences = wanted.length === 0 ? [issuer] : wanted.filter(one => one === issuer)
    if (token !== 'golden-bob-token' || audiences.length === 0) {
      return { error: 'invalid bearer token' }
    }
    const user = { user: 'bob', uid: 'u-bob', groups: ['system:authenticated'], extra: {} }
    return { user, audiences }
  }

  issueToken({ seconds }: TokenOrder): IssuedToken {
    return { token: 'TOKEN', expiresAtMs: Date.parse('2026-01-01T00:00:00Z') + seconds * 1000 }
  }
}
