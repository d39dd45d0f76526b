/** Warnings about definitions that are stored nevertheless. */

import { isObject } from '@watchglass/base'
import { goQuote, itemsOf, type JsonValue, memberOf, textFromTree } from '@watchglass/go'
import type { Place } from '../../validation/place.ts'
import { isKnownFormat } from '../text-formats.ts'

export function ofDefinition(object: Place, old: Place | undefined): string[] {
  const known = new Set(unknownFormats(old))
  const formats = unknownFormats(object).filter(format => !known.has(format))
  return formats.map(format => `unrecognized format ${goQuote(format)}`)
}

function schemasOf(object: Place | undefined): unknown[] {
  return itemsOf(memberOf(object?.in('spec').value, 'versions')).map((version): unknown => {
    const schema: JsonValue = memberOf(memberOf(version, 'schema'), 'openAPIV3Schema') ?? null
    return JSON.parse(textFromTree(schema))
  })
}

function unknownFormats(object: Place | undefined): string[] {
  return schemasOf(object).flatMap(schema => formatsIn(schema))
}

function formatsIn(schema: unknown): string[] {
  if (!isObject(schema)) return []
  const { format, type, properties, items, additionalProperties, not } = schema
  const own = typeof format === 'string' && format !== '' && !isKnown(format, type) ? [format] : []
  const members = isObject(properties) ? Object.values(properties) : []
  const lists = ['allOf', 'anyOf', 'oneOf'].flatMap(name => {
    const list = schema[name]
    return Array.isArray(list) ? (list as unknown[]) : []
  })
  return [...own, ...[items, additionalProperties, not, ...members, ...lists].flatMap(formatsIn)]
}

function isKnown(format: string, type: unknown): boolean {
  if (type === 'integer') return format === 'int32' || format === 'int64'
  if (type === 'number') return format === 'float' || format === 'double'
  return (type === undefined || type === '' || type === 'string') && isKnownFormat(format)
}
