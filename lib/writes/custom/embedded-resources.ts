/** Resources inside of a custom resource (x-kubernetes-embedded-resource): they have a kind, and
 *  metadata of their own. */

import { appendAll } from '../lists.ts'
import { isObject } from '@watchglass/base'
import type { Schema } from '@watchglass/codec'
import { type JsonObject, type JsonValue, sortTree } from '@watchglass/go'
import { DecodeError, decodeTyped } from '../decode/typed-decoder.ts'
import { treeDocument } from '../decode/documents.ts'
import { completeTree } from '../decode/complete-tree.ts'
import { checkObjectMeta } from '../validation/object-meta.ts'
import { dns1035Label, pathSegment } from '../validation/formats.ts'
import { type FieldError, invalid } from '../field-errors.ts'
import type { Place } from '../validation/place.ts'
import { anywhereBelow } from './schema-parts.ts'

const hasEmbedded = anywhereBelow(schema => schema['x-kubernetes-embedded-resource'] === true)

/** Metadata decoded as Go's type, and the members that the type does not have. Throws
 *  `DecodeError`. */
export function decodeMetadata(metadata: JsonValue, schema: Schema): DecodedMetadata {
  const type = schema.messageType('meta/v1.ObjectMeta')
  // As Go, which decodes the text that it makes of a map.
  const { object, unknownFields } = decodeTyped(treeDocument(sortTree(metadata)), type)
  return { metadata: completeTree(object, type), unknownFields }
}

/** The members that Go's type takes one by one: of an apply, the others are dropped. The managed
 *  fields are the server's own. */
export function wellFormed(metadata: JsonValue, schema: Schema): JsonValue {
  if (!(metadata instanceof Map)) return metadata
  return new Map(
    [...metadata].filter(
      member => member[0] === 'managedFields' || isMetadata(new Map([member]), schema),
    ),
  )
}

function isMetadata(metadata: JsonObject, schema: Schema): boolean {
  try {
    decodeMetadata(metadata, schema)
    return true
  } catch (error) {
    if (error instanceof DecodeError) return false
    throw error
  }
}

/** A member of an embedded resource that is not of the type that Go has for it. */
export class NoMetadata extends DecodeError {
  readonly error: FieldError

  constructor(field: string, value: JsonValue, detail: string) {
    const error = invalid(field, sortTree(value), detail)
    super(`${error.field}: ${error.message}`)
    this.error = error
  }
}

interface DecodedMetadata {
  readonly metadata: JsonValue
  readonly unknownFields: readonly string[]
}

/** Gives embedded resources the metadata that Go's type has. Returns what was dropped; throws
 *  `NoMetadata` for what is none. */
export function coerceEmbedded(place: Place, schema: unknown, types: Schema): string[] {
  if (!isObject(schema) || !hasEmbedded(schema)) return []
  const { value } = place
  if (Array.isArray(value)) {
    return place.items.flatMap(item => coerceEmbedded(item, schema['items'], types))
  }
  if (!(value instanceof Map)) return []
  const dropped: string[] = []
  if (schema['x-kubernetes-embedded-resource'] === true) {
    for (const name of ['apiVersion', 'kind']) {
      const member = value.get(name)
      if (member === undefined || typeof member === 'string') continue
      throw new NoMetadata(place.in(name).path, member, 'must be a string')
    }
    const metadata = value.get('metadata')
    if (metadata !== undefined) {
      const { path } = place.in('metadata')
      const decoded = decodeEmbedded(metadata, path, types)
      value.set('metadata', decoded.metadata)
      for (const name of decoded.unknownFields) dropped.push(`${path}.${name}`)
    }
  }
  for (const [member, inner] of described(place, schema)) {
    appendAll(dropped, coerceEmbedded(member, inner, types))
  }
  return dropped
}

function decodeEmbedded(metadata: JsonValue, path: string, types: Schema): DecodedMetadata {
  try {
    return decodeMetadata(metadata, types)
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error
    throw new NoMetadata(path, metadata, error.message)
  }
}

/** The members that the schema describes, each with its schema. */
function described(
  place: Place,
  schema: Readonly<Record<string, unknown>>,
): [member: Place, schema: unknown][] {
  const { properties, additionalProperties } = schema
  const declared = isObject(properties) ? properties : {}
  const keys = [...(place.object?.keys() ?? [])].sort()
  return keys.flatMap((key): [Place, unknown][] => {
    if (Object.hasOwn(declared, key)) return [[place.in(key), declared[key]]]
    if (!isObject(additionalProperties)) return []
    const member = place.in(key)
    return [[member.as(`${place.path}[${key}]`), additionalProperties]]
  })
}

/** Checks the embedded resources below a value by the schema that JSON.parse gave. */
export function checkEmbedded(place: Place, schema: unknown): void {
  if (!isObject(schema) || !hasEmbedded(schema)) return
  for (const item of place.items) checkEmbedded(item, schema['items'])
  if (place.object === undefined) return
  if (schema['x-kubernetes-embedded-resource'] === true) checkResource(place)
  for (const [member, inner] of described(place, schema)) checkEmbedded(member, inner)
}

function checkResource(place: Place): void {
  const [apiVersion, kind] = [place.in('apiVersion'), place.in('kind')]
  if (apiVersion.value === undefined) apiVersion.required()
  if (kind.value === undefined) kind.required()
  if (apiVersion.value !== undefined) {
    if (typeof apiVersion.value !== 'string') apiVersion.invalid('must be a string')
    else if (apiVersion.text === '') apiVersion.invalid('must not be empty')
    else if (apiVersion.text.split('/').length > 2) {
      apiVersion.invalid(`unexpected GroupVersion string: ${apiVersion.text}`)
    }
  }
  if (kind.value !== undefined) {
    const errors = dns1035Label(kind.text.toLowerCase())
    if (typeof kind.value !== 'string') kind.invalid('must be a string')
    else if (kind.text === '') kind.invalid('must not be empty')
    else if (errors.length > 0) {
      kind.invalid(`may have mixed case, but should otherwise match: ${errors.join(',')}`)
    }
  }
  const metadata = place.in('metadata')
  if (metadata.object === undefined) return
  const name = metadata.in('name').text === '' ? 'fakename' : metadata.in('name').text
  const named = metadata.as(metadata.path, new Map([...metadata.object, ['name', name]]))
  const isNamespaced = metadata.in('namespace').text !== ''
  checkObjectMeta(named, { isNamespaced, name: pathSegment })
}
