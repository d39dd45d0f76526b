/** Warnings about claims of volumes. */

import type { Place } from '../validation/place.ts'
import { ofFraction } from './amounts.ts'

export function ofClaimSpec(spec: Place): string[] {
  return ['requests', 'limits'].flatMap(list => ofFraction(spec.in('resources', list), 'storage'))
}
