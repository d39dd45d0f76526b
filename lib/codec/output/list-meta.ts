/** The fields of a list itself, as JSON. */

import { appendJsonString } from '@watchglass/go'
import { ByteWriter, NotExact } from '@watchglass/base'
import type { MediaType } from '../negotiate/negotiate.ts'
import type { OutputKind, EmptyList } from '../output-kind.ts'

/** The list's own fields. */
export interface ListMeta {
  readonly resourceVersion: string
  readonly continue?: string | undefined
  readonly remainingItemCount?: number | undefined
  /** Which shards the list is of. Only lists of whole objects of built-in kinds repeat it. */
  readonly shardSelector?: string | undefined
}

/** The metadata of a list that is written from a Go struct. */
export function typedMeta({
  resourceVersion,
  continue: token = '',
  remainingItemCount,
  shardSelector,
}: ListMeta): string {
  // A dry run has none.
  const members = resourceVersion === '' ? [] : [`"resourceVersion":"${resourceVersion}"`]
  if (token !== '') members.push(`"continue":${jsonString(token)}`)
  if (remainingItemCount !== undefined) members.push(`"remainingItemCount":${remainingItemCount}`)
  if (shardSelector !== undefined) {
    members.push(`"shardInfo":{"selector":${jsonString(shardSelector)}}`)
  }
  return `{${members.join(',')}}`
}

/** The metadata of a list that is written from a map with sorted names. */
export function untypedMeta({
  resourceVersion,
  continue: token = '',
  remainingItemCount,
}: ListMeta): string {
  const members = [`"continue":${jsonString(token)}`]
  if (remainingItemCount !== undefined) members.push(`"remainingItemCount":${remainingItemCount}`)
  members.push(`"resourceVersion":"${resourceVersion}"`)
  return `{${members.join(',')}}`
}

function jsonString(text: string): string {
  const out = new ByteWriter(text.length + 16)
  appendJsonString(out, text)
  return Buffer.from(out.copy()).toString()
}

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

/** The kind of a list's items. */
interface ListedKind {
  readonly kind: Pick<OutputKind, 'learned'>
  readonly table: { readonly emptyRows: EmptyList }
}

export const unknownEmptyList: NotExact = new NotExact(
  'how the server writes an empty list is not known',
)
