/** An openAPIV3Schema as its validator reads it: the keywords with their types, and formats only
 *  where servers know them. */

import { isObject, type UntypedObject } from '@watchglass/base'
import { treeMaxDepth } from '@watchglass/go'
import { isKnownFormat } from './text-formats.ts'

export interface ValidationSchema {
  /** The allowed types: one, two for int-or-string, or none for any. */
  readonly types: readonly string[]
  readonly isNullable: boolean
  readonly format: string
  readonly maximum: number | undefined
  readonly minimum: number | undefined
  readonly isMaximumExclusive: boolean
  readonly isMinimumExclusive: boolean
  readonly multipleOf: number | undefined
  readonly maxLength: number | undefined
  readonly minLength: number | undefined
  readonly pattern: string
  readonly maxItems: number | undefined
  readonly minItems: number | undefined
  readonly isUnique: boolean
  readonly maxProperties: number | undefined
  readonly minProperties: number | undefined
  readonly required: readonly string[]
  readonly choices: readonly unknown[]
  readonly allOf: readonly ValidationSchema[]
  readonly anyOf: readonly ValidationSchema[]
  readonly oneOf: readonly ValidationSchema[]
  readonly not: ValidationSchema | undefined
  /** The schemas of members, in the order of their names. */
  readonly properties: ReadonlyMap<string, ValidationSchema>
  readonly additional: ValidationSchema | undefined
  readonly isClosed: boolean
  readonly items: ValidationSchema | undefined
}

/** The schema in what JSON.parse gave; what lies deeper than a body may nest accepts everything. */
export function openApiSchema(schema: unknown, depth = 0): ValidationSchema {
  const raw = isObject(schema) && depth <= treeMaxDepth ? schema : {}
  const nested = (value: unknown): ValidationSchema => openApiSchema(value, depth + 1)
  const list = (value: unknown): ValidationSchema[] =>
    Array.isArray(value) ? value.map(nested) : []
  const { additionalProperties, items, not } = raw
  const types = typesOf(raw)
  return {
    types,
    isNullable: raw['nullable'] === true,
    format: formatOf(raw, types),
    maximum: numberOf(raw['maximum']),
    minimum: numberOf(raw['minimum']),
    isMaximumExclusive: raw['exclusiveMaximum'] === true,
    isMinimumExclusive: raw['exclusiveMinimum'] === true,
    multipleOf: numberOf(raw['multipleOf']),
    maxLength: numberOf(raw['maxLength']),
    minLength: numberOf(raw['minLength']),
    pattern: typeof raw['pattern'] === 'string' ? raw['pattern'] : '',
    maxItems: numberOf(raw['maxItems']),
    minItems: numberOf(raw['minItems']),
    isUnique: raw['uniqueItems'] === true,
    maxProperties: numberOf(raw['maxProperties']),
    minProperties: numberOf(raw['minProperties']),
    required: textsIn(raw['required']),
    choices: Array.isArray(raw['enum']) ? raw['enum'] : [],
    allOf: list(raw['allOf']),
    anyOf: list(raw['anyOf']),
    oneOf: list(raw['oneOf']),
    not: isObject(not) ? nested(not) : undefined,
    properties: propertiesOf(raw['properties'], nested),
    additional: isObject(additionalProperties) ? nested(additionalProperties) : undefined,
    isClosed: additionalProperties === false,
    items: isObject(items) ? nested(items) : undefined,
  }
}

function typesOf(raw: UntypedObject): readonly string[] {
  if (raw['x-kubernetes-int-or-string'] === true) return ['integer', 'string']
  const { type } = raw
  return typeof type === 'string' && type !== '' ? [type] : []
}

/** A format that the type does not have is ignored. */
function formatOf(raw: UntypedObject, types: readonly string[]): string {
  const { format } = raw
  if (typeof format !== 'string') return ''
  const [type = ''] = types.length === 1 ? types : []
  const isKnown =
    type === 'integer'
      ? format === 'int32' || format === 'int64'
      : type === 'number'
        ? format === 'float' || format === 'double'
        : (type === '' || type === 'string') && isKnownFormat(format)
  return isKnown ? format : ''
}

function propertiesOf(
  value: unknown,
  nested: (schema: unknown) => ValidationSchema,
): ReadonlyMap<string, ValidationSchema> {
  if (!isObject(value)) return new Map()
  const names = Object.keys(value).sort()
  return new Map(names.map(name => [name, nested(value[name])]))
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter(item => typeof item === 'string') : []
}
