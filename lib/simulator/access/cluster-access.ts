/** Authentication and authorization in a cluster without an upstream: users of certificates and
 *  tokens, and the roles and bindings that are mirrored. One function decides for readers, for
 *  writers and for reviews. */

import { type Key, keyFromText, NotExact } from '@watchglass/base'
import {
  type Callers,
  type AccessGate,
  type OwnDocument,
  saltOfHashes,
  withAuthenticated,
} from '@watchglass/cache'
import {
  authorize,
  type RbacDecision,
  type HeldRules,
  type IssuedToken,
  metaText,
  type PolicyRule,
  referredRules,
  type ReviewedToken,
  type RoleReference,
  rulesFor,
  type TokenOrder,
  treeOf,
  type WriteAccess,
} from '@watchglass/writes'
import type { ApiState, Attributes, Identity } from '@watchglass/kube'
import type { Keyspace, KeyValue } from '@watchglass/store'
import {
  type AccountKeyOptions,
  type AccountKeys,
  openIdDocuments,
  readAccountKeys,
} from './account-keys.ts'
import { AccountTokens } from './account-tokens.ts'
import type { MirroredFlows } from './mirrored-flows.ts'
import { MirroredPolicy } from './mirrored-policy.ts'
import { RbacGate } from './rbac-gate.ts'
import type { StaticTokens } from './token-file.ts'

export interface ClusterAccessOptions {
  /** Finds users of certificates. */
  readonly callers: Callers
  readonly tokens: StaticTokens
  readonly accountKeys: AccountKeyOptions
}

export interface ClusterAccessParts {
  readonly state: () => ApiState
  readonly storeOf: (keyspace: Key) => Keyspace | undefined
  readonly nowMs: () => number
  readonly id: () => string
  /** Classifies requests. */
  readonly flows: MirroredFlows
  /** HOST:PORT by which others reach the server. */
  readonly address: string
}

/** The first minor version with constrained impersonation. */
const constrainedSince = 36

export class ClusterAccess implements WriteAccess {
  readonly gate: AccessGate
  readonly #options: ClusterAccessOptions
  readonly #policy: MirroredPolicy
  readonly #accounts: AccountTokens
  readonly #documents: () => ReadonlyMap<string, OwnDocument>

  constructor(options: ClusterAccessOptions, parts: ClusterAccessParts) {
    const { state, storeOf, flows, nowMs, id } = parts
    this.#options = options
    const { issuers } = options.accountKeys
    let known: AccountKeys | undefined
    const keys = (): AccountKeys => (known ??= readAccountKeys(options.accountKeys, saltOfHashes))
    let documents: ReadonlyMap<string, OwnDocument> | undefined
    this.#documents = () =>
      (documents ??= openIdDocuments(issuers[0] ?? '', keys().checking, parts.address))
    this.#accounts = new AccountTokens({
      issuers,
      keys,
      nowMs,
      id,
      uidOf: (resource, namespace, name) => uidOf(parts, { resource, namespace, name }),
    })
    this.#policy = new MirroredPolicy({ state, storeOf })
    this.gate = new RbacGate({
      callers: options.callers,
      userOfToken: token => this.#userOfToken(token),
      authorize: (user, attributes) => this.authorize(user, attributes),
      flowHeaders: (user, attributes) => flows.headersOf(user, attributes),
      isReady: () => this.#policy.isMirrored,
      isConstrained: () => Number(state().registry.schema.minor.split('.')[1]) >= constrainedSince,
    })
  }

  authorize(user: Identity, attributes: Attributes): RbacDecision {
    return authorize(this.#policy, user, attributes)
  }

  rulesFor(user: Identity, namespace: string): HeldRules {
    return rulesFor(this.#policy, user, namespace)
  }

  roleRules(role: RoleReference, namespace: string): readonly PolicyRule[] | undefined {
    return referredRules(this.#policy, role, namespace)
  }

  /** Whom tokens are for, unless they say something else. */
  get audiences(): readonly string[] {
    return this.#options.accountKeys.issuers
  }

  /** The documents by which others check tokens. */
  get documents(): ReadonlyMap<string, OwnDocument> {
    return this.#documents()
  }

  issueToken(order: TokenOrder): IssuedToken {
    return this.#accounts.issue(order)
  }

  #userOfToken(token: string): Identity | undefined {
    const { tokens } = this.#options
    const known = tokens.userOf(token)
    if (known !== undefined) return known
    const reviewed = this.#accounts.review(token, this.audiences)
    return reviewed === undefined || 'error' in reviewed ? undefined : reviewed.user
  }

  reviewToken(token: string, wanted: readonly string[]): ReviewedToken {
    const { audiences: own } = this
    const { tokens } = this.#options
    const audiences = wanted.length === 0 ? own : own.filter(one => wanted.includes(one))
    const user = audiences.length === 0 ? undefined : tokens.userOf(token)
    if (user === undefined) {
      const reviewed = this.#accounts.review(token, wanted.length === 0 ? own : wanted)
      if (reviewed === undefined) return { error: 'invalid bearer token' }
      if ('error' in reviewed) return { error: `[invalid bearer token, ${reviewed.error}]` }
      const { user: account } = reviewed
      return {
        user: { ...account, groups: withAuthenticated(account.user, account.groups) },
        audiences: reviewed.audiences,
      }
    }
    return { user: { ...user, groups: withAuthenticated(user.user, user.groups) }, audiences }
  }
}

interface NamedObject {
  readonly resource: string
  readonly namespace: string
  readonly name: string
}

/** Uids by the entry of the object. Each request with a token asks for them, and to read a pod of a
 *  megabyte takes ten milliseconds. */
const uids = new WeakMap<KeyValue, string>()

/** The uid of a mirrored object of the core group; undefined if there is none. */
function uidOf(
  { state, storeOf }: ClusterAccessParts,
  { resource: plural, namespace, name }: NamedObject,
): string | undefined {
  const resource = state().registry.find('', 'v1', plural)
  const encoder = resource && state().encoderOf(resource)
  if (resource?.storage === undefined || encoder === undefined || encoder instanceof NotExact) {
    return undefined
  }
  const { prefix } = resource.storage
  const snapshot = storeOf(keyFromText(prefix))?.latest()
  const place = resource.isNamespaced ? `${namespace}/${name}` : name
  const entry = snapshot?.get(keyFromText(prefix + place))
  if (entry === undefined) return undefined
  const known = uids.get(entry)
  if (known !== undefined) return known
  const uid = metaText(treeOf(encoder, resource, entry), 'uid')
  uids.set(entry, uid)
  return uid
}
