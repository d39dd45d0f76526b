/** The RBAC authorizer: what a user may do by roles and bindings, and why. A pure function of them,
 *  in kube-apiserver's words (plugin/pkg/auth/authorizer/rbac). */

import { goQuote } from '@watchglass/go'
import type { Attributes, Identity } from '@watchglass/kube'
import {
  type Binding,
  type PolicyRule,
  type RoleReference,
  ruleAllows,
  type RbacSubject,
} from './policy.ts'

/** The roles and bindings of now. */
export interface Policy {
  readonly clusterRoleBindings: readonly Binding[]
  /** The RoleBindings in a namespace. */
  roleBindings(namespace: string): readonly Binding[]
  /** The rules of a role; undefined if there is none. A ClusterRole is in no namespace. */
  rules(
    kind: 'ClusterRole' | 'Role',
    namespace: string,
    name: string,
  ): readonly PolicyRule[] | undefined
}

export interface RbacDecision {
  readonly isAllowed: boolean
  /** Empty for administrators, and for a plain refusal. */
  readonly reason: string
}

/** The group whose members may do everything, whatever roles say. */
export const administrators = 'system:masters'

export function isAdministrator({ groups }: Pick<Identity, 'groups'>): boolean {
  return groups.includes(administrators)
}

/** Whether a user may do something. */
export function authorize(policy: Policy, user: Identity, attributes: Attributes): RbacDecision {
  if (isAdministrator(user)) return { isAllowed: true, reason: '' }
  const problems: string[] = []
  const namespace = 'path' in attributes ? '' : attributes.namespace
  for (const { binding, subject, rules } of bound(policy, user, namespace, problems)) {
    if (rules.some(rule => ruleAllows(rule, attributes))) {
      return { isAllowed: true, reason: `RBAC: allowed by ${describe(binding, subject)}` }
    }
  }
  return {
    isAllowed: false,
    reason: problems.length === 0 ? '' : `RBAC: ${joinedErrors(problems)}`,
  }
}

export interface HeldRules {
  readonly rules: readonly PolicyRule[]
  /** Roles that could not be resolved. */
  readonly problems: readonly string[]
}

/** All rules that apply to a user in a namespace; those of the cluster, if it is empty. */
export function rulesFor(policy: Policy, user: Identity, namespace: string): HeldRules {
  const problems: string[] = []
  const rules = [...bound(policy, user, namespace, problems)].flatMap(one => one.rules)
  return { rules, problems }
}

/** The rules of the role that a binding in a namespace names; undefined if there is none. */
export function referredRules(
  policy: Policy,
  { kind, name }: RoleReference,
  namespace: string,
): readonly PolicyRule[] | undefined {
  if (kind === 'ClusterRole') return policy.rules(kind, '', name)
  return kind === 'Role' ? policy.rules(kind, namespace, name) : undefined
}

interface Bound {
  readonly binding: Binding
  readonly subject: RbacSubject
  readonly rules: readonly PolicyRule[]
}

/** The bindings that apply, those of the cluster first. */
function* bound(
  policy: Policy,
  user: Identity,
  namespace: string,
  problems: string[],
): Iterable<Bound> {
  const local = namespace === '' ? [] : policy.roleBindings(namespace)
  for (const binding of [policy.clusterRoleBindings, local].flat()) {
    const subject = binding.subjects.find(one => isMeant(one, user, binding.namespace))
    if (subject === undefined) continue
    const rules = referredRules(policy, binding.role, binding.namespace)
    if (rules !== undefined) yield { binding, subject, rules }
    else problems.push(missing(binding.role))
  }
}

function missing({ kind, name }: RoleReference): string {
  return `${kind.toLowerCase()}.rbac.authorization.k8s.io ${goQuote(name)} not found`
}

function isMeant(
  subject: RbacSubject,
  { user, groups }: Identity,
  bindingNamespace: string,
): boolean {
  switch (subject.kind) {
    case 'User':
      return subject.name === user
    case 'Group':
      return groups.includes(subject.name)
    case 'ServiceAccount': {
      const namespace = subject.namespace || bindingNamespace
      return namespace !== '' && user === `system:serviceaccount:${namespace}:${subject.name}`
    }
    default:
      return false
  }
}

function describe({ name, namespace, role }: Binding, subject: RbacSubject): string {
  const binding =
    namespace === ''
      ? `ClusterRoleBinding ${goQuote(name)}`
      : `RoleBinding ${goQuote(`${name}/${namespace}`)}`
  const whom =
    subject.kind === 'ServiceAccount'
      ? `${subject.name}/${subject.namespace || namespace}`
      : subject.name
  return `${binding} of ${role.kind} ${goQuote(role.name)} to ${subject.kind} ${goQuote(whom)}`
}

/** Several errors, each once, as Go joins them. */
export function joinedErrors(problems: readonly string[]): string {
  const [first = '', ...rest] = new Set(problems)
  return rest.length === 0 ? first : `[${[first, ...rest].join(', ')}]`
}
