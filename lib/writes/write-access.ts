/** Authorization and tokens, as writes ask for them: reviews, and grants of roles. Undefined in a
 *  service that authorizes nothing. */

import type { Attributes, Identity } from '@watchglass/kube'
import type { PolicyRule, RoleReference } from './rbac/policy.ts'
import type { RbacDecision, HeldRules } from './rbac/rbac.ts'

export interface WriteAccess {
  authorize(user: Identity, attributes: Attributes): RbacDecision
  /** The rules that a user has in a namespace; in the cluster, if it is empty. */
  rulesFor(user: Identity, namespace: string): HeldRules
  /** The rules of the role that a binding in a namespace names; undefined if there is none. */
  roleRules(role: RoleReference, namespace: string): readonly PolicyRule[] | undefined
  /** The user that a token is of.
   *  @param audiences of the token; the audiences of this server, if empty */
  reviewToken(token: string, audiences: readonly string[]): ReviewedToken
  /** The audiences of tokens that ask for none. */
  readonly audiences: readonly string[]
  /** A token of a service account. */
  issueToken(order: TokenOrder): IssuedToken
}

export interface TokenOrder {
  readonly account: { readonly name: string; readonly uid: string }
  readonly namespace: string
  /** The object with which the token ends. */
  readonly bound: BoundObject | undefined
  readonly audiences: readonly string[]
  readonly seconds: number
}

export interface BoundObject {
  readonly kind: 'pod' | 'secret' | 'node'
  readonly name: string
  readonly uid: string
  /** The node of a pod; without a uid if there is no such node. */
  readonly node?: { readonly name: string; readonly uid: string } | undefined
}

export interface IssuedToken {
  readonly token: string
  readonly expiresAtMs: number
}

/** The user of a token, or why it has none. */
export type ReviewedToken =
  | { readonly user: Identity; readonly audiences: readonly string[] }
  | { readonly error: string }
