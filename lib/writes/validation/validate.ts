/** The problems of an object of a built-in kind, in kube-apiserver's words and order. Rules are
 *  functions over places of the object with its defaults; each page of kinds/ has those of one. */

import type { JsonObject } from '@watchglass/go'
import type { FieldError } from '../field-errors.ts'
import { kindNamed } from '../kinds/index.ts'
import type { KindRules } from '../kinds/kind.ts'
import type { WriteKind } from '../write-kind.ts'
import {
  checkCommonUpdate,
  checkFinalizerDomains,
  checkObjectMeta,
  checkObjectMetaUpdate,
} from './object-meta.ts'
import { dnsSubdomain, pathSegment } from './formats.ts'
import { Place } from './place.ts'
import { withoutKnownComparisons } from './pods/scheduling.ts'

/** The errors of a new object if there is no `old` one, or of a changed one. */
export function validateBuiltIn(
  { kind, group, isNamespaced }: Pick<WriteKind, 'kind' | 'group' | 'isNamespaced'>,
  object: JsonObject,
  old: JsonObject | undefined,
  subresource: string,
): FieldError[] {
  const errors: FieldError[] = []
  const rules = kindNamed(kind, group)
  const place = new Place(object, '', errors)
  const metadata = place.in('metadata')
  if (old === undefined) {
    if (rules?.hasOwnMetadata !== true) checkAsNew(metadata, rules, isNamespaced)
    rules?.validateCreate?.(place)
    if (errors.length === 0) checkObjectMeta(metadata, { isNamespaced, name: pathSegment })
    return errors
  }
  const before = new Place(old, '', [])
  checkCommonUpdate(metadata, before.in('metadata'), isNamespaced)
  const isFree =
    subresource === '' ? rules?.hasFreeUpdate === true : rules?.hasFreeStatusMetadata === true
  if (subresource === '' && rules?.isCheckedAsNew === true) {
    checkAsNew(metadata, rules, isNamespaced)
  }
  if (rules?.hasOwnMetadata !== true && !isFree) {
    checkObjectMetaUpdate(metadata, before.in('metadata'))
    if (rules?.hasFreeFinalizers !== true) checkFinalizerDomains(metadata)
  }
  if (subresource === '') rules?.validateUpdate?.(place, before)
  else rules?.subresources?.[subresource]?.validate?.(place, before)
  return withoutKnownComparisons(errors, before)
}

function checkAsNew(metadata: Place, rules: KindRules | undefined, isNamespaced: boolean): void {
  const name = rules?.nameFormat ?? dnsSubdomain
  checkObjectMeta(metadata, { isNamespaced, name, hasFreePrefix: rules?.hasFreePrefix })
  if (rules?.hasFreeFinalizers !== true) checkFinalizerDomains(metadata)
}
