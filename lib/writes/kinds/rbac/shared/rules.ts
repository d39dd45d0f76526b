/** The rules of roles, and what roles and bindings have in common. */

import { pathSegment } from '../../../validation/formats.ts'
import {
  checkFinalizerDomains,
  checkObjectMeta,
  checkObjectMetaUpdate,
  isSame,
} from '../../../validation/object-meta.ts'
import type { Place } from '../../../validation/place.ts'
import type { KindRules } from '../../kind.ts'

/** The metadata of a change comes last. */
export function rulesOf(
  check: (object: Place, old?: Place) => void,
  isNamespaced: boolean,
): KindRules {
  const checkAll = (object: Place, old?: Place): void => {
    checkObjectMeta(object.in('metadata'), { isNamespaced, name: pathSegment })
    checkFinalizerDomains(object.in('metadata'))
    check(object, old)
  }
  return {
    hasOwnMetadata: true,
    validateCreate: object => checkAll(object),
    validateUpdate: (object, old) => {
      checkAll(object, old)
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

export function checkRules(object: Place, isNamespaced: boolean): void {
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
