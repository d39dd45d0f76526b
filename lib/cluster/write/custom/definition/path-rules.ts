/** Paths into objects: of scales, of columns, and of the fields that can be selected. */

import type { Place } from '../../validation/place.ts'
import { schemaAt } from './schema-rules.ts'

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
    const problem = pathProblem(path.text)
    const found = problem === undefined ? schemaAt(schema, path.text) : undefined
    if (found === undefined) {
      path.invalid(`is an invalid path: ${problem ?? 'does not refer to a valid field'}`)
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

function pathProblem(path: string): string | undefined {
  if (path.startsWith('.')) return path.includes('[') ? 'array notation is not allowed' : undefined
  return `expected [ or . but got: ${/^[^.[]*/.exec(path)?.[0] ?? ''}`
}
