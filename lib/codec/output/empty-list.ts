/** How a server writes a list without items. Go writes null for a list that was never made, and [] for one that was. */

import { NotExact } from '../not-exact.ts'
import type { MediaType } from '../negotiate/negotiate.ts'
import type { OutputKind } from './output-kind.ts'
import type { EmptyList } from './learned-output.ts'

/** A list of no items, or of no rows. Undefined if it is not known how the server writes it. */
export function emptyListOf(
  listed: ListedKind,
  { rendering }: Pick<MediaType, 'rendering'>,
): EmptyList | undefined {
  const { learned } = listed.kind
  // The columns of all kinds are read for the first Table.
  if (rendering === 'Table') return (learned ?? listed.table).emptyRows
  // Lists of metadata are made by appending to nil, which stays nil if there is nothing to append.
  if (learned === undefined) return rendering === 'object' ? '[]' : 'null'
  return rendering === 'object' ? learned.emptyItems : learned.emptyMetadata
}

/** What is listed. */
interface ListedKind {
  readonly kind: Pick<OutputKind, 'learned'>
  readonly table: { readonly emptyRows: EmptyList }
}

export const unknownEmptyList: NotExact = new NotExact(
  'how the server writes an empty list is not known',
)
