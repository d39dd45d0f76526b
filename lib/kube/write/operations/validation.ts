/** Where objects are checked before they are stored. */

import type { JsonObject } from '../../../codec/json/tree.ts'
import { type FieldError, invalidObject } from '../field-errors.ts'
import { metaText } from '../metadata.ts'
import type { WriteSession } from './session.ts'

export function validateCreate(session: WriteSession, object: JsonObject): void {
  refuse(session, object, [])
}

export function validateUpdate(session: WriteSession, object: JsonObject, old: JsonObject): void {
  void old
  refuse(session, object, [])
}

function refuse({ kind }: WriteSession, object: JsonObject, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalidObject(kind, metaText(object, 'name'), errors)
}
