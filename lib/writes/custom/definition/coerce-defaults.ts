/** Defaults that are embedded resources have the metadata that Go's type has: upstream's check of
 *  a definition leaves them so, and that is stored. */

import { memberOf as rawMemberOf, type UntypedObject } from '@watchglass/base'
import { type JsonValue, memberOf, textFromTree } from '@watchglass/go'
import { schemaOf, typeAndObjectMeta } from '@watchglass/codec'
import { Place } from '../../validation/place.ts'
import { coerceEmbedded, NoMetadata } from '../embedded-resources.ts'

const embeddedKey = 'x-kubernetes-embedded-resource'

/** Changes the defaults of a schema. Those that are no resources are left to who checks them. */
export function coerceDefaults(schema: JsonValue | undefined): void {
  if (!(schema instanceof Map)) return
  const text = textFromTree(schema)
  if (!text.includes('"default":')) return
  coerceIn(schema, { ...(JSON.parse(text) as UntypedObject), [embeddedKey]: true })
}

/** @param raw the schema as JSON.parse gives it
 *  @param isInsideMeta what the metadata of a resource has is checked in a copy */
function coerceIn(schema: JsonValue | undefined, raw: unknown, isInsideMeta = false): void {
  const isEmbedded = rawMemberOf(raw, embeddedKey) === true
  const isInside = isInsideMeta && !isEmbedded
  const value = memberOf(schema, 'default')
  if (!isInside && (value instanceof Map || Array.isArray(value))) coerce(value, raw)
  const items = memberOf(schema, 'items')
  if (items instanceof Map) coerceIn(items, rawMemberOf(raw, 'items'), isInside)
  const properties = memberOf(schema, 'properties')
  if (!(properties instanceof Map)) return
  for (const [name, property] of properties) {
    const isMeta = isEmbedded && typeAndObjectMeta.includes(name)
    coerceIn(property, rawMemberOf(rawMemberOf(raw, 'properties'), name), isInside || isMeta)
  }
}

function coerce(value: JsonValue, raw: unknown): void {
  try {
    coerceEmbedded(new Place(value, '', []), raw, schemaOf())
  } catch (error) {
    if (!(error instanceof NoMetadata)) throw error
  }
}
