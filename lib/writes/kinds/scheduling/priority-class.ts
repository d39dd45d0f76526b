/** PriorityClasses: neither their value nor their preemption policy changes. */

import { dnsSubdomain } from '../../validation/formats.ts'
import {
  checkChangedMeta,
  checkFinalizerDomains,
  checkImmutable,
  checkObjectMeta,
} from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { type BuiltInKind, kind } from '../kind.ts'

export const priorityClass: BuiltInKind = kind({
  group: 'scheduling.k8s.io',
  kind: 'PriorityClass',
  plural: 'priorityclasses',
  counted: [],
  hasOwnMetadata: true,
  validateCreate: object => {
    checkObjectMeta(object.in('metadata'), { isNamespaced: false, name: dnsSubdomain })
    checkFinalizerDomains(object.in('metadata'))
    checkPriority(object)
  },
  validateUpdate: (object, old) => {
    checkChangedMeta(object, old)
    if (object.in('value').number !== old.in('value').number) {
      object.in('value').forbidden('may not be changed in an update.')
    }
    checkImmutable(object.in('preemptionPolicy'), old.in('preemptionPolicy'))
  },
})

const highestUserPriority = 1_000_000_000

const systemPriorities: Readonly<Record<string, number>> = {
  'system-node-critical': 2000001000,
  'system-cluster-critical': 2000000000,
}

function checkPriority(object: Place): void {
  const [name, value, preemption] = [
    object.in('metadata', 'name'),
    object.in('value'),
    object.in('preemptionPolicy'),
  ]
  if (name.text.startsWith('system-')) {
    const known = Object.hasOwn(systemPriorities, name.text)
      ? systemPriorities[name.text]
      : undefined
    const words =
      "priority class names with 'system-' prefix are reserved for system use only. error: "
    if (known === undefined) {
      name.forbidden(`${words}${name.text} is not a known system priority class`)
    } else if (value.number !== known) {
      name.forbidden(`${words}value of ${name.text} PriorityClass must be ${known}`)
    } else if (object.in('globalDefault').isTrue) {
      name.forbidden(`${words}globalDefault of ${name.text} PriorityClass must be false`)
    }
  } else if (value.number > highestUserPriority) {
    value.forbidden(`maximum allowed value of a user defined priority is ${highestUserPriority}`)
  }
  if (preemption.isSet) preemption.oneOf(['PreemptLowerPriority', 'Never'], 'required')
}
