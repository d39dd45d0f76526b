/** Names of what a server reads from its own files. */

import type { Place } from '../../../validation/place.ts'

/** Names of what a server reads from its own files. */
const staticSuffix = '.static.k8s.io'

export function ofStaticName(object: Place): string[] {
  return object.in('metadata', 'name').text.endsWith(staticSuffix)
    ? [
        `metadata.name: names ending with "${staticSuffix}" are reserved for static manifest-based configurations and cannot be managed via the API`,
      ]
    : []
}
