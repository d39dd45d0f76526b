/** StorageVersions: in which version each kube-apiserver stores a resource. */

import { type BuiltInKind, kind } from '../kind.ts'

export const storageVersion: BuiltInKind = kind({
  group: 'internal.apiserver.k8s.io',
  kind: 'StorageVersion',
  plural: 'storageversions',
  hasStatus: true,
  keepsMetadata: true,
  needsVersion: true,
})
