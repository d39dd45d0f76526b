/** The values of ConfigMaps and Secrets: their size, and that immutable ones stay. */

import { isSame } from '../../../validation/object-meta.ts'
import type { Place } from '../../../validation/place.ts'

/** All values of a ConfigMap or a Secret together. */
export const contentMaxBytes: number = 1024 * 1024

export function decodedLength(base64: string): number {
  return Buffer.byteLength(base64, 'base64')
}

export function checkImmutableContent(object: Place, old: Place, names: readonly string[]): void {
  if (!old.in('immutable').isTrue) return
  const detail = 'field is immutable when `immutable` is set'
  if (!object.in('immutable').isTrue) object.in('immutable').forbidden(detail)
  for (const name of names) {
    const place = object.in(name)
    if (!isSame(place.value, old.in(name).value) || isEmptied(object, name)) place.forbidden(detail)
  }
}

/** True for a map that is written as an empty one, which is a change here of one that is not
 *  there: what is stored has none that are empty. A ConfigMap's data are there by default. */
function isEmptied(object: Place, name: string): boolean {
  const place = object.in(name)
  const hasDefault = name === 'data' && object.in('kind').text === 'ConfigMap'
  return !place.isSet && place.isWritten && !hasDefault
}
