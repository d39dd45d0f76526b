/** Leases: who holds what, and until when. */

import type { Place } from '../../validation/place.ts'
import { type BuiltInKind, kind } from '../kind.ts'

export const lease: BuiltInKind = kind({
  group: 'coordination.k8s.io',
  kind: 'Lease',
  plural: 'leases',
  createsOnUpdate: true,
  needsVersion: true,
  // CoordinatedLeaderElection
  gated: [
    ['spec', 'strategy'],
    ['spec', 'preferredHolder'],
  ],
  hasFreeFinalizers: true,
  validateCreate: object => checkLease(object.in('spec')),
  validateUpdate: object => checkLease(object.in('spec')),
})

/** Strategies and preferred holders are switched off: writes drop them. */
function checkLease(spec: Place): void {
  const [duration, transitions] = [spec.in('leaseDurationSeconds'), spec.in('leaseTransitions')]
  if (duration.isSet && duration.number <= 0) duration.invalid('must be greater than 0')
  transitions.notNegative()
}
