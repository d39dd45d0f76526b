/** PodGroups: pods that are scheduled together (KEP 4671). */

import { type BuiltInKind, kind } from '../kind.ts'

export const podGroup: BuiltInKind = kind({
  group: 'scheduling.k8s.io',
  kind: 'PodGroup',
  plural: 'podgroups',
  hasStatus: true,
  keepsMetadata: true,
})
