/** Paths into objects: of scales, of columns, and of the fields that can be selected. */

import type { Place } from '../../validation/place.ts'
import { tokensOf } from '../cel/field-path.ts'

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string']
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password']
const selectableMax = 8

export function checkScale(scale: Place): void {
  if (!scale.isSet) return
  checkPath(scale.in('specReplicasPath'), ['.spec.'], 'under .spec')
  checkPath(scale.in('statusReplicasPath'), ['.status.'], 'under .status')
  const selector = scale.in('labelSelectorPath')
  if (selector.text === '') return
  checkPath(selector, ['.spec.', '.status.'], 'under either .spec or .status')
}

function checkPath(path: Place, prefixes: readonly string[], where: string): void {
  if (path.text === '') path.required()
  else if (checkSimplePath(path) && !prefixes.some(prefix => path.text.startsWith(prefix))) {
    path.invalid(`should be a json path ${where}`)
  }
}

function checkSimplePath(path: Place): boolean {
  if (path.text.startsWith('.')) return true
  path.invalid('must be a simple json path starting with .')
  return false
}

export function checkColumn(column: Place): void {
  const [name, type, format, path] = [
    column.in('name'),
    column.in('type'),
    column.in('format'),
    column.in('JSONPath'),
  ]
  if (name.text === '') name.required()
  const types = `must be one of ${columnTypes.join(',')}`
  if (type.text === '') type.required(types)
  else if (!columnTypes.includes(type.text)) type.invalid(types)
  if (format.text !== '' && !columnFormats.includes(format.text)) {
    format.invalid(`must be one of ${columnFormats.join(',')}`)
  }
  if (path.text === '') path.required()
  else checkSimplePath(path)
}

export function checkSelectableFields(fields: Place, schema: Place): void {
  if (fields.size === 0) return
  if (!schema.isSet) {
    const isOfVersion = fields.path.includes('versions')
    const detail = isOfVersion
      ? 'may only be set when `version.schema.openAPIV3Schema` is not included'
      : 'may only be set when validations.schema is included'
    fields.invalid(detail, '')
    return
  }
  const seen = new Set<string>()
  for (const field of fields.items) {
    const path = field.in('jsonPath')
    if (path.text === '') {
      path.required()
      continue
    }
    const found = followed(path.text, schema)
    if (typeof found === 'string') {
      path.invalid(`is an invalid path: ${found}`)
      continue
    }
    if (/^\.metadata(?:\.|$)/.test(path.text)) {
      path.invalid('must not point to fields in metadata')
    }
    if (!['string', 'boolean', 'integer'].includes(found.in('type').text)) {
      path.invalid(
        'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
      )
    }
    if (seen.has(path.text)) path.duplicate()
    seen.add(path.text)
  }
  if (seen.size > selectableMax) fields.tooMany(selectableMax)
}

/** The schema at a path as `.spec.size`, or what is wrong with the path. */
function followed(path: string, schema: Place): Place | string {
  const tokens = tokensOf(path)
  let found: Place | undefined = schema
  for (let i = 0; i < tokens.length; i += 2) {
    const [token = '', name] = tokens.slice(i, i + 2)
    if (token === '[') return 'array notation is not allowed'
    if (token !== '.') return `expected [ or . but got: ${token}`
    if (name === undefined) return 'unexpected end of JSON path'
    found = memberOf(found, name)
    if (found === undefined) return 'does not refer to a valid field'
  }
  return found
}

function memberOf(schema: Place, name: string): Place | undefined {
  const [properties, additional] = [schema.in('properties'), schema.in('additionalProperties')]
  if (properties.size > 0) return new Map(properties.entries).get(name)
  return additional.isSet ? additional : undefined
}
