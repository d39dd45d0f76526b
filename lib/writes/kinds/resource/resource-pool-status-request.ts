/** ResourcePoolStatusRequests: written as any object; only the owners of fields know of
 *  a status. */

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
