/** Bindings of policies that mutate and that validate. */

import { dnsSubdomain, pathSegment } from '../../../validation/formats.ts'
import { checkFreeMeta } from '../../../validation/object-meta.ts'
import type { Place } from '../../../validation/place.ts'
import { checkLabelSelector } from '../../../validation/selectors.ts'
import type { KindRules } from '../../kind.ts'
import { checkMatch } from './matching.ts'

export function bindingRules(check: (spec: Place) => void): KindRules {
  return {
    hasFreeFinalizers: true,
    hasFreeUpdate: true,
    validateCreate: object => check(object.in('spec')),
    validateUpdate: object => {
      checkFreeMeta(object, false)
      check(object.in('spec'))
    },
  }
}

export function checkBinding(spec: Place): void {
  const [policy, parameters] = [spec.in('policyName'), spec.in('paramRef')]
  if (policy.text === '') policy.required()
  else policy.mustBe(dnsSubdomain)
  if (parameters.isSet) checkParameters(parameters)
  if (spec.in('matchResources').isSet) checkMatch(spec.in('matchResources'))
}

function checkParameters(reference: Place): void {
  const [name, selector, action] = [
    reference.in('name'),
    reference.in('selector'),
    reference.in('parameterNotFoundAction'),
  ]
  const both = 'name and selector are mutually exclusive'
  if (name.text !== '') {
    name.mustBe(pathSegment)
    if (selector.isSet) name.forbidden(both)
  }
  if (selector.isSet) {
    checkLabelSelector(selector)
    if (name.text !== '') selector.forbidden(both)
  }
  if (name.text === '' && !selector.isSet) {
    reference.required('one of name or selector must be specified')
  }
  action.oneOf(['Deny', 'Allow'], 'required')
}
