/** Who may do what in a cluster without an upstream: users of certificates and tokens, and the
 *  roles and bindings that are mirrored. One function decides for readers, for writers and for
 *  reviews. */

import type { Key } from '../../base/keys.ts'
import type { Callers } from '../../http/auth/callers.ts'
import { withAuthenticated } from '../../http/auth/certificates.ts'
import type { Gate } from '../../http/auth/gate.ts'
import type { Identity } from '../../kube/access-review.ts'
import type { ApiState } from '../../kube/api-state.ts'
import type { Attributes } from '../../kube/request/attributes.ts'
import type { Keyspace } from '../../store/keyspace.ts'
import type { PolicyRule, RoleReference } from '../rbac/policy.ts'
import { authorize, type Decision, type HeldRules, referredRules, rulesFor } from '../rbac/rbac.ts'
import type { ReviewedToken, WriteAccess } from '../write/write-access.ts'
import { MirroredPolicy } from './mirrored-policy.ts'
import { RbacGate } from './rbac-gate.ts'
import type { StaticTokens } from './token-file.ts'

export interface ClusterAccessOptions {
  /** Finds users of certificates. */
  readonly callers: Callers
  readonly tokens: StaticTokens
  /** Whom tokens are for, unless they say something else. */
  readonly audiences: readonly string[]
}

export interface ClusterAccessParts {
  readonly state: () => ApiState
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
}

/** The first minor version with constrained impersonation. */
const constrainedSince = 36

export class ClusterAccess implements WriteAccess {
  readonly gate: Gate
  readonly #options: ClusterAccessOptions
  readonly #policy: MirroredPolicy

  constructor(options: ClusterAccessOptions, { state, storeOf }: ClusterAccessParts) {
    this.#options = options
    this.#policy = new MirroredPolicy({ state, storeOf })
    this.gate = new RbacGate({
      callers: options.callers,
      userOfToken: token => options.tokens.userOf(token),
      authorize: (user, attributes) => this.authorize(user, attributes),
      isReady: () => this.#policy.isMirrored,
      isConstrained: () => Number(state().registry.schema.minor.split('.')[1]) >= constrainedSince,
    })
  }

  authorize(user: Identity, attributes: Attributes): Decision {
    return authorize(this.#policy, user, attributes)
  }

  rulesFor(user: Identity, namespace: string): HeldRules {
    return rulesFor(this.#policy, user, namespace)
  }

  roleRules(role: RoleReference, namespace: string): readonly PolicyRule[] | undefined {
    return referredRules(this.#policy, role, namespace)
  }

  reviewToken(token: string, wanted: readonly string[]): ReviewedToken {
    const { tokens, audiences: own } = this.#options
    const audiences = wanted.length === 0 ? own : own.filter(one => wanted.includes(one))
    const user = audiences.length === 0 ? undefined : tokens.userOf(token)
    if (user === undefined) return { error: 'invalid bearer token' }
    return { user: { ...user, groups: withAuthenticated(user.user, user.groups) }, audiences }
  }
}
