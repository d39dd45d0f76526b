/** Access modes of volumes and claims, once they are stored. */

import { isSame } from '../../../validation/object-meta.ts'
import type { Place } from '../../../validation/place.ts'

export function checkModeUpdate(spec: Place, old: Place): void {
  const mode = spec.in('volumeMode')
  if (isSame(mode.value, old.in('volumeMode').value)) return
  mode.as('volumeMode').invalid('field is immutable', mode.value ?? null)
}
