/** ClusterTrustBundles: certificates that a signer's clients trust (KEP 3257). */

import { type BuiltInKind, kind } from '../kind.ts'

export const clusterTrustBundle: BuiltInKind = kind({
  group: 'certificates.k8s.io',
  kind: 'ClusterTrustBundle',
  plural: 'clustertrustbundles',
  needsVersion: true,
})
