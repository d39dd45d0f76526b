/** Where objects are checked before they are stored. */

import type { JsonObject } from '../../../codec/json/tree.ts'
import { customRulesOf } from '../custom/rules.ts'
import { type FieldError, invalidObject } from '../field-errors.ts'
import { metaText } from '../metadata.ts'
import { Place } from '../validation/place.ts'
import { checkCommonUpdate, checkObjectMeta } from '../validation/object-meta.ts'
import { pathSegment } from '../validation/formats.ts'
import type { WriteSession } from './session.ts'

export function validateCreate(session: WriteSession, object: JsonObject): void {
  const { kind } = session
  if (kind.definition !== undefined) {
    refuse(session, object, customRulesOf(kind).validate(object, undefined, ''))
    return
  }
  const place = new Place(object, '', [])
  checkObjectMeta(place.in('metadata'), { isNamespaced: kind.isNamespaced, name: pathSegment })
  refuse(session, object, place.errors)
}

export function validateUpdate(session: WriteSession, object: JsonObject, old: JsonObject): void {
  const { kind, subresource } = session
  if (kind.definition !== undefined) {
    refuse(session, object, customRulesOf(kind).validate(object, old, subresource))
    return
  }
  const place = new Place(object, '', [])
  const before = new Place(old, '', [])
  checkCommonUpdate(place.in('metadata'), before.in('metadata'), kind.isNamespaced)
  refuse(session, object, place.errors)
}

function refuse({ kind }: WriteSession, object: JsonObject, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidObject(kind, metaText(object, 'name'), errors)
}
