/** How an aggregated server writes a list without items. Go writes null for a list that was never made, and [] for one that was. */

import { NotExact } from '../../not-exact.ts'
import type { MediaType } from '../../negotiate/negotiate.ts'
import type { OutputKind } from '../../output/output-kind.ts'
import type { EmptyList } from './learned-output.ts'

/** A list of no items, or of no rows. Undefined if it is not known how the server writes it. */
export function emptyListOf(
  { learned }: Pick<OutputKind, 'learned'>,
  { rendering }: Pick<MediaType, 'rendering'>,
): EmptyList | undefined {
  // Lists of metadata are made by appending to nil, which stays nil if there is nothing to append.
  if (learned === undefined) return rendering === 'object' || rendering === 'Table' ? '[]' : 'null'
  if (rendering === 'Table') return learned.emptyRows
  return rendering === 'object' ? learned.emptyItems : learned.emptyMetadata
}

export const unknownEmptyList: NotExact = new NotExact(
  'how the server writes an empty list is not known',
)
