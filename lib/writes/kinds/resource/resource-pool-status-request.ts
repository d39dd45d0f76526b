/** ResourcePoolStatusRequests. */

import { type BuiltInKind, kind } from '../kind.ts'

export const resourcePoolStatusRequest: BuiltInKind = kind({
  group: 'resource.k8s.io',
  kind: 'ResourcePoolStatusRequest',
  plural: 'resourcepoolstatusrequests',
  resets: ['status'],
  subresources: {
    status: {
      resets: ['metadata', 'spec'],
    },
  },
})
