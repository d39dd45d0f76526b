/** CSIDrivers: how the kubelet and the scheduler treat volumes of a driver. */

import { isSame } from '../../validation/object-meta.ts'
import type { Place } from '../../validation/place.ts'
import { type BuiltInKind, kind } from '../kind.ts'

export const csiDriver: BuiltInKind = kind({
  group: 'storage.k8s.io',
  kind: 'CSIDriver',
  plural: 'csidrivers',
  needsVersion: true,
  returnsDeleted: true,
  counted: ['spec'],
  keepsGeneration: true,
  // VolumeLimitScaling
  gated: [['spec', 'preventPodSchedulingIfMissing']],
  validateCreate: object => checkDriver(object.in('spec')),
  validateUpdate: (object, old) => {
    checkDriver(object.in('spec'))
    for (const [name, path] of [
      ['attachRequired', 'attachedRequired'],
      ['volumeLifecycleModes', 'volumeLifecycleModes'],
    ] as const) {
      const place = object.in('spec', name)
      if (isSame(place.value, old.in('spec', name).value)) continue
      place.as(`spec.${path}`).invalid('field is immutable', place.shown)
    }
  },
  warn: ofDriver,
})

function checkDriver(spec: Place): void {
  for (const [name, path] of [
    ['attachRequired', 'attachedRequired'],
    ['podInfoOnMount', 'podInfoOnMount'],
    ['storageCapacity', 'storageCapacity'],
  ] as const) {
    if (!spec.in(name).isSet) spec.as(`${spec.path}.${path}`).required()
  }
  const policy = spec.in('fsGroupPolicy')
  if (policy.isSet) policy.oneOf(['File', 'None', 'ReadWriteOnceWithFSType'], 'unsupported')
  checkTokenRequests(spec.in('tokenRequests'))
  const modes = spec.in('volumeLifecycleModes')
  for (const mode of modes.texts) {
    if (mode === 'Persistent' || mode === 'Ephemeral') continue
    modes.notSupported(['Persistent', 'Ephemeral'], mode)
  }
  if (!spec.in('seLinuxMount').isSet) spec.in('seLinuxMount').required()
  const period = spec.in('nodeAllocatableUpdatePeriodSeconds')
  if (period.isSet && period.number < 10) {
    period.invalid('must be greater than or equal to 10 seconds')
  }
  const inSecrets = spec.in('serviceAccountTokenInSecrets')
  if (inSecrets.isSet && spec.in('tokenRequests').size === 0) {
    inSecrets.invalid('serviceAccountTokenInSecrets is set but no tokenRequests are specified')
  }
}

function checkTokenRequests(requests: Place): void {
  const audiences = new Set<string>()
  for (const request of requests.items) {
    const [audience, seconds] = [request.in('audience'), request.in('expirationSeconds')]
    if (audiences.has(audience.text)) {
      audience.duplicate(audience.text)
      continue
    }
    audiences.add(audience.text)
    if (!seconds.isSet) continue
    if (seconds.number < 600) seconds.invalid('may not specify a duration less than 10 minutes')
    if (seconds.number > 2 ** 32) {
      seconds.invalid('may not specify a duration larger than 2^32 seconds')
    }
  }
}

function ofDriver(object: Place, old: Place | undefined): string[] {
  const spec = object.in('spec')
  const [requests, before] = [spec.in('tokenRequests'), old?.in('spec', 'tokenRequests')]
  const isAsked = before === undefined || !isSame(requests.value, before.value)
  return isAsked && requests.size > 0 && !spec.in('serviceAccountTokenInSecrets').isSet
    ? [
        'spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible logging of tokens in volume attributes',
      ]
    : []
}
