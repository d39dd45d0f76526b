/** MutatingAdmissionPolicies: changes of objects in CEL (KEP 3962). */

import { checkFreeMeta } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { type BuiltInKind, kind } from '../kind.ts'
import type { Expressions } from './shared/matching.ts'
import { checkCommon, checkMutating } from './shared/policies.ts'
import { ofStaticName } from './shared/static-names.ts'

export const mutatingAdmissionPolicy: BuiltInKind = kind({
  group: 'admissionregistration.k8s.io',
  kind: 'MutatingAdmissionPolicy',
  plural: 'mutatingadmissionpolicies',
  needsVersion: true,
  counted: ['spec'],
  hasFreeFinalizers: true,
  hasFreeUpdate: true,
  validateCreate: object => checkMutatingPolicy(object.in('spec')),
  validateUpdate: (object, old) => {
    checkFreeMeta(object, false)
    checkMutatingPolicy(object.in('spec'), old.in('spec'))
  },
  warn: ofStaticName,
})

function checkMutatingPolicy(spec: Place, old?: Place): void {
  const expressions = checkCommon(spec, old, checkMutating)
  const mutations = spec.in('mutations')
  if (mutations.size === 0) mutations.required('mutations must contain at least one item')
  for (const mutation of mutations.items) checkMutation(mutation, expressions)
  spec.in('reinvocationPolicy').oneOf(['IfNeeded', 'Never'], 'required')
}

function checkMutation(mutation: Place, expressions: Expressions): void {
  const type = mutation.in('patchType')
  const members = { ApplyConfiguration: 'applyConfiguration', JSONPatch: 'jsonPatch' } as const
  type.oneOf(Object.keys(members), 'required')
  if (type.text !== 'ApplyConfiguration' && type.text !== 'JSONPatch') return
  const own = members[type.text]
  const other = own === 'jsonPatch' ? 'applyConfiguration' : 'jsonPatch'
  const [place, unwanted] = [mutation.in(own), mutation.in(other)]
  if (!place.isSet) place.required(`must be specified when patchType is ${type.text}`)
  else if (place.in('expression').text.trim() === '') place.in('expression').required()
  else expressions.check(place.in('expression'))
  if (unwanted.isSet) {
    unwanted.invalid(`must not be specified when patchType is ${type.text}`, `{${other}}`)
  }
}
