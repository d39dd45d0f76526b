/** Annotations that became fields. */

import type { Place } from '../validation/place.ts'

export function hasAnnotation(object: Place | undefined, name: string): boolean {
  return object?.in('metadata', 'annotations').object?.has(name) === true
}

export const storageClass = [
  'volume.beta.kubernetes.io/storage-class',
  'deprecated since v1.8; use "storageClassName" attribute instead',
] as const

export function ofOldAnnotation(object: Place, [name, word]: readonly [string, string]): string[] {
  return hasAnnotation(object, name) ? [`metadata.annotations[${name}]: ${word}`] : []
}
