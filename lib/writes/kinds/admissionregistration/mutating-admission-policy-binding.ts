/** MutatingAdmissionPolicyBindings: where a MutatingAdmissionPolicy applies. */

import { type BuiltInKind, kind } from '../kind.ts'
import { bindingRules, checkBinding } from './shared/bindings.ts'
import { checkMutating } from './shared/policies.ts'
import { ofStaticName } from './shared/static-names.ts'

export const mutatingAdmissionPolicyBinding: BuiltInKind = kind({
  group: 'admissionregistration.k8s.io',
  kind: 'MutatingAdmissionPolicyBinding',
  plural: 'mutatingadmissionpolicybindings',
  needsVersion: true,
  counted: ['spec'],
  ...bindingRules(spec => {
    checkBinding(spec)
    checkMutating(spec.in('matchResources', 'resourceRules'))
  }),
  warn: ofStaticName,
})
