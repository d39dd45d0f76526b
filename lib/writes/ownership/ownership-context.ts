/** A write, as far as the ownership of fields goes. */

import type { Steps } from '@watchglass/base'
import type { JsonObject } from '@watchglass/go'
import type { WriteKind } from '../write-kind.ts'
import type { WriteContext } from './merge-updates.ts'
import { withoutResetFields } from './reset-fields.ts'
import { builtInType } from './types/built-in-types.ts'
import { customType } from './types/custom-types.ts'
import type { FieldType } from './types/field-type.ts'
import type { TypedObject } from './versioned-objects.ts'
import { checkType } from './typed/validate.ts'

export interface OwnershipContext {
  /** Kind of the request. */
  readonly kind: WriteKind
  /** The parameter fieldManager, or what User-Agent begins with. */
  readonly manager: string
  readonly subresource: string
  readonly isCustomScale?: boolean
  /** As the API writes times. */
  readonly now: string
  /** An object of the kind in another of its versions; undefined if there is no such version. */
  readonly convert: (object: JsonObject, apiVersion: string) => ConvertedObject | undefined
}

export interface ConvertedObject {
  readonly kind: WriteKind
  readonly object: JsonObject
}

export function writeContextOf({ kind, subresource, convert }: OwnershipContext): WriteContext {
  const { group, resource, apiVersion, definition } = kind
  const written = { group, resource, apiVersion, subresource }
  return {
    versions: {
      inVersion: (object, version) => {
        const converted = convert(object, version)
        return converted && { type: typeOfKind(converted.kind), value: converted.object }
      },
    },
    withoutReset: withoutResetFields({ ...written, hasCustomStatus: definition?.hasStatus }),
  }
}

/** The object with its type, checked in steps. Throws `TypeProblems` if it does not have it. */
export function* typedObject(
  kind: WriteKind,
  value: JsonObject,
  { allowsDuplicates }: { readonly allowsDuplicates: boolean },
): Steps<TypedObject> {
  const type = typeOfKind(kind)
  yield* checkType(type, value, { allowsDuplicates })
  return { apiVersion: kind.apiVersion, type, value }
}

function typeOfKind({ schema, type, definition }: WriteKind): FieldType {
  if (type !== undefined) return builtInType(type)
  if (definition === undefined) return customType(undefined, noMetadata)
  let made = customTypes.get(definition)
  if (made === undefined) {
    made = customType(definition.schema, {
      metadata: builtInType(schema.messageType('meta/v1.ObjectMeta')),
      preservesUnknownFields: definition.preservesUnknownFields,
    })
    customTypes.set(definition, made)
  }
  return made
}

const customTypes = new WeakMap<object, FieldType>()
const noMetadata = { metadata: {}, preservesUnknownFields: true }
