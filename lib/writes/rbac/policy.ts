/** Roles and bindings in plain values, as RBAC reads them, and whether a rule allows a request. The
 *  matching is kube-apiserver's (pkg/apis/rbac/v1/evaluation_helpers.go). */

import { listOf, memberOf, textOf, textsOf } from '@watchglass/base'
import type { Attributes } from '@watchglass/kube'

export interface PolicyRule {
  readonly verbs: readonly string[]
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames: readonly string[]
  readonly nonResourceURLs: readonly string[]
}

export interface RbacSubject {
  readonly kind: string
  readonly name: string
  readonly namespace: string
}

export interface RoleReference {
  readonly kind: string
  readonly name: string
}

/** A ClusterRoleBinding, or a RoleBinding, which has a namespace. */
export interface Binding {
  readonly name: string
  readonly namespace: string
  readonly subjects: readonly RbacSubject[]
  readonly role: RoleReference
}

/** The rules of a Role or a ClusterRole as the API shows it. */
export function rulesOf(role: unknown): readonly PolicyRule[] {
  return listOf(memberOf(role, 'rules')).map(rule => ({
    verbs: textsOf(memberOf(rule, 'verbs')),
    apiGroups: textsOf(memberOf(rule, 'apiGroups')),
    resources: textsOf(memberOf(rule, 'resources')),
    resourceNames: textsOf(memberOf(rule, 'resourceNames')),
    nonResourceURLs: textsOf(memberOf(rule, 'nonResourceURLs')),
  }))
}

/** A binding as the API shows it. */
export function bindingOf(object: unknown): Binding {
  const metadata = memberOf(object, 'metadata')
  return {
    name: textOf(memberOf(metadata, 'name')),
    namespace: textOf(memberOf(metadata, 'namespace')),
    subjects: listOf(memberOf(object, 'subjects')).map(subject => ({
      kind: textOf(memberOf(subject, 'kind')),
      name: textOf(memberOf(subject, 'name')),
      namespace: textOf(memberOf(subject, 'namespace')),
    })),
    role: roleReferenceOf(object),
  }
}

/** The role that a binding names. */
export function roleReferenceOf(binding: unknown): RoleReference {
  const role = memberOf(binding, 'roleRef')
  return { kind: textOf(memberOf(role, 'kind')), name: textOf(memberOf(role, 'name')) }
}

/** Whether a rule allows a request. */
export function ruleAllows(rule: PolicyRule, attributes: Attributes): boolean {
  if (!hasOrAll(rule.verbs, attributes.verb)) return false
  if ('path' in attributes) {
    return rule.nonResourceURLs.some(pattern => pathMatches(pattern, attributes.path))
  }
  const { group, name } = attributes
  return (
    hasOrAll(rule.apiGroups, group) &&
    rule.resources.some(resource => resourceMatches(resource, attributes)) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(name))
  )
}

export function hasOrAll(texts: readonly string[], text: string): boolean {
  return texts.includes('*') || texts.includes(text)
}

/** A pattern is a path, or one that ends with a star. */
export function pathMatches(pattern: string, path: string): boolean {
  if (pattern === '*' || pattern === path) return true
  if (!pattern.endsWith('*')) return false
  let end = pattern.length
  while (pattern[end - 1] === '*') end--
  return path.startsWith(pattern.slice(0, end))
}

function resourceMatches(
  pattern: string,
  { resource, subresource }: { readonly resource: string; readonly subresource: string },
): boolean {
  if (pattern === '*') return true
  if (subresource === '') return pattern === resource
  return pattern === `${resource}/${subresource}` || pattern === `*/${subresource}`
}
