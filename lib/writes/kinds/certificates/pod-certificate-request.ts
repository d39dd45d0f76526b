/** PodCertificateRequests: certificates that a kubelet asks for (KEP 4317). */

import { type BuiltInKind, kind } from '../kind.ts'

export const podCertificateRequest: BuiltInKind = kind({
  group: 'certificates.k8s.io',
  kind: 'PodCertificateRequest',
  plural: 'podcertificaterequests',
  hasStatus: true,
  keepsMetadata: true,
  needsVersion: true,
  resets: [],
  subresources: {
    status: {
      resets: ['spec'],
    },
  },
})
