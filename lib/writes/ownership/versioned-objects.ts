/** An object in the versions in which its managers own fields. */

import type { Steps } from '@watchglass/base'
import type { JsonObject } from '@watchglass/go'
import { checkType } from './typed/validate.ts'
import type { FieldType } from './types/field-type.ts'

/** Converts objects of a kind to other versions. */
export interface Versions {
  /** The object in another version, and its type there; undefined if that version does not exist
   *  (any more). */
  readonly inVersion: (
    object: JsonObject,
    apiVersion: string,
  ) => { readonly type: FieldType; readonly value: JsonObject } | undefined
}

/** An object that has been checked against its type. */
export interface TypedObject {
  readonly apiVersion: string
  readonly type: FieldType
  readonly value: JsonObject
}

/** The object in that version, in steps; undefined if it does not exist. Throws `TypeProblems` if
 *  the conversion makes something wrong. */
export function* inVersion(
  versions: Versions,
  object: TypedObject,
  apiVersion: string,
): Steps<TypedObject | undefined> {
  if (object.apiVersion === apiVersion) return object
  const converted = versions.inVersion(object.value, apiVersion)
  if (converted === undefined) return undefined
  yield* checkType(converted.type, converted.value, { allowsDuplicates: false })
  return { apiVersion, ...converted }
}
