/** LeaseCandidates: who would like to hold a Lease (KEP 4355). */

import { type BuiltInKind, kind } from '../kind.ts'

export const leaseCandidate: BuiltInKind = kind({
  group: 'coordination.k8s.io',
  kind: 'LeaseCandidate',
  plural: 'leasecandidates',
  createsOnUpdate: true,
  needsVersion: true,
})
