/** Roles and their bindings. */

import { dnsSubdomain, pathSegment } from '../formats.ts'
import type { KindRules } from '../kind-rules.ts'
import {
  checkFinalizerDomains,
  checkObjectMeta,
  checkObjectMetaUpdate,
  isSame,
} from '../object-meta.ts'
import type { Place, Rule } from '../place.ts'
import { checkLabelSelector } from '../selectors.ts'

const group = 'rbac.authorization.k8s.io'

export const rbacRules: Readonly<Record<string, KindRules>> = {
  [`Role.${group}`]: rulesOf(object => checkRules(object, true), true),
  [`ClusterRole.${group}`]: rulesOf(checkClusterRole, false),
  [`RoleBinding.${group}`]: rulesOf(object => checkBinding(object, true), true),
  [`ClusterRoleBinding.${group}`]: rulesOf(object => checkBinding(object, false), false),
}

/** The metadata of a change comes last. */
function rulesOf(check: Rule, isNamespaced: boolean): KindRules {
  const create: Rule = object => {
    checkObjectMeta(object.in('metadata'), { isNamespaced, name: pathSegment })
    checkFinalizerDomains(object.in('metadata'))
    check(object)
  }
  return {
    hasOwnMetadata: true,
    create,
    update: (object, old) => {
      create(object)
      checkObjectMetaUpdate(object.in('metadata'), old.in('metadata'))
      checkFinalizerDomains(object.in('metadata'))
      const [reference, before] = [object.in('roleRef'), old.in('roleRef')]
      if (!isSame(reference.value, before.value)) {
        reference.invalid('cannot change roleRef', shownReference(reference))
      }
    },
  }
}

/** The server's own type. */
function shownReference(reference: Place): Map<string, string> {
  return new Map([
    ['APIGroup', reference.in('apiGroup').text],
    ['Kind', reference.in('kind').text],
    ['Name', reference.in('name').text],
  ])
}

function checkRules(object: Place, isNamespaced: boolean): void {
  for (const rule of object.in('rules').items) checkPolicyRule(rule, isNamespaced)
}

function checkPolicyRule(rule: Place, isNamespaced: boolean): void {
  const [verbs, urls, groups, resources] = [
    rule.in('verbs'),
    rule.in('nonResourceURLs'),
    rule.in('apiGroups'),
    rule.in('resources'),
  ]
  if (verbs.size === 0) verbs.required('verbs must contain at least one value')
  if (urls.size > 0) {
    if (isNamespaced) urls.invalid('namespaced rules cannot apply to non-resource URLs')
    if (groups.size > 0 || resources.size > 0 || rule.in('resourceNames').size > 0) {
      urls.invalid('rules cannot apply to both regular resources and non-resource URLs')
    }
    return
  }
  if (groups.size === 0) groups.required('resource rules must supply at least one api group')
  if (resources.size === 0) {
    resources.required('resource rules must supply at least one resource')
  }
}

function checkClusterRole(object: Place): void {
  checkRules(object, false)
  const aggregation = object.in('aggregationRule')
  if (!aggregation.isSet) return
  const selectors = aggregation.in('clusterRoleSelectors')
  if (selectors.size === 0) {
    selectors.required('at least one clusterRoleSelector required if aggregationRule is non-nil')
  }
  for (const selector of selectors.items) {
    const before = selector.errors.length
    checkLabelSelector(selector)
    // A selector that is none is shown as the one that it became: nothing.
    if (selector.errors.length > before) selector.invalid('invalid label selector.', null)
  }
}

function checkBinding(object: Place, isNamespaced: boolean): void {
  const reference = object.in('roleRef')
  const [apiGroup, kind, name] = [
    reference.in('apiGroup'),
    reference.in('kind'),
    reference.in('name'),
  ]
  if (apiGroup.text !== group) apiGroup.notSupported([group], apiGroup.text)
  kind.oneOf(isNamespaced ? ['Role', 'ClusterRole'] : ['ClusterRole'], 'unsupported')
  if (name.text === '') name.required()
  else name.mustBe(pathSegment)
  for (const subject of object.in('subjects').items) checkSubject(subject, isNamespaced)
}

function checkSubject(subject: Place, isNamespaced: boolean): void {
  const [name, kind, apiGroup, namespace] = [
    subject.in('name'),
    subject.in('kind'),
    subject.in('apiGroup'),
    subject.in('namespace'),
  ]
  if (name.text === '') name.required()
  if (kind.text === 'ServiceAccount') {
    if (name.text !== '') name.mustBe(dnsSubdomain)
    if (apiGroup.text !== '') apiGroup.notSupported([''])
    if (!isNamespaced && namespace.text === '') namespace.required()
  } else if (kind.text === 'User' || kind.text === 'Group') {
    if (apiGroup.text !== group) apiGroup.notSupported([group], apiGroup.text)
  } else kind.notSupported(['ServiceAccount', 'User', 'Group'], kind.text)
}
