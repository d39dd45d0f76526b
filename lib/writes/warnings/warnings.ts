/** Warnings about objects of built-in kinds: what works and should not be used any more, and what
 *  is hardly meant. kubectl shows them. */

import type { JsonObject } from '@watchglass/go'
import { kindNamed } from '../kinds/index.ts'
import type { WarningContext } from '../kinds/kind.ts'
import { Place } from '../validation/place.ts'
import type { WriteKind } from '../write-kind.ts'

/** A written object. */
export interface WarnedWrite extends WarningContext {
  readonly object: JsonObject
  readonly old: JsonObject | undefined
  readonly subresource: string
}

export function warningsAbout(
  { kind, group }: Pick<WriteKind, 'kind' | 'group'>,
  { object, old, subresource, keyPairProblem }: WarnedWrite,
): string[] {
  const known = kindNamed(kind, group)
  const warn = subresource === '' ? known?.warn : known?.subresources?.[subresource]?.warn
  const before = old && new Place(old, '', [])
  return warn?.(new Place(object, '', []), before, { keyPairProblem }) ?? []
}
