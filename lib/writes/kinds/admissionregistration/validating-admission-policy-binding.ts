/** ValidatingAdmissionPolicyBindings: where a ValidatingAdmissionPolicy applies, and what a
 *  violation leads to. */

import type { Place } from '../../validation/place.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import { bindingRules, checkBinding } from './shared/bindings.ts'
import { ofStaticName } from './shared/static-names.ts'

export const validatingAdmissionPolicyBinding: BuiltInKind = kind({
  group: 'admissionregistration.k8s.io',
  kind: 'ValidatingAdmissionPolicyBinding',
  plural: 'validatingadmissionpolicybindings',
  needsVersion: true,
  counted: ['spec'],
  ...bindingRules(spec => {
    checkBinding(spec)
    checkActions(spec.in('validationActions'))
  }),
  warn: ofStaticName,
})

const actions = ['Audit', 'Deny', 'Warn']

function checkActions(list: Place): void {
  const seen = new Set<string>()
  for (const action of list.items) {
    action.oneOf(actions, 'unsupported')
    if (seen.has(action.text)) action.duplicate()
    seen.add(action.text)
  }
  if (seen.has('Deny') && seen.has('Warn')) {
    list.invalid(
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    )
  }
  if (seen.size === 0) list.required('at least one validation action is required')
}
