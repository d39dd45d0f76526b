/** StorageVersionMigrations: objects that are to be stored in another version (KEP 4192). */

import { type BuiltInKind, kind } from '../kind.ts'

export const storageVersionMigration: BuiltInKind = kind({
  group: 'storagemigration.k8s.io',
  kind: 'StorageVersionMigration',
  plural: 'storageversionmigrations',
  hasStatus: true,
  keepsMetadata: true,
  needsVersion: true,
})
