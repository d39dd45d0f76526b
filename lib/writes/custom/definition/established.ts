/** Definitions whose kinds are served. */

import type { Place } from '../../validation/place.ts'

export function isEstablished(definition: Place): boolean {
  return definition
    .in('status', 'conditions')
    .items.some(
      condition =>
        condition.in('type').text === 'Established' && condition.in('status').text === 'True',
    )
}
