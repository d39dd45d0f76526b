/** The fields of a list itself, as JSON. */

import { appendJsonString } from '../json/strings.ts'
import { ByteWriter } from '../../wire/byte-writer.ts'

/** The list's own fields. */
export interface ListMeta {
  readonly resourceVersion: string
  readonly continue?: string | undefined
  readonly remainingItemCount?: number | undefined
}

/** The metadata of a list that is written from a Go struct. */
export function typedMeta({
  resourceVersion,
  continue: token = '',
  remainingItemCount,
}: ListMeta): string {
  const members = [`"resourceVersion":"${resourceVersion}"`]
  if (token !== '') members.push(`"continue":${jsonString(token)}`)
  if (remainingItemCount !== undefined) members.push(`"remainingItemCount":${remainingItemCount}`)
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
