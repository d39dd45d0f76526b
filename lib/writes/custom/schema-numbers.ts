/** Numbers as the schema's validator sees them: what is written without a point and fits in 64
 *  bits is an integer, anything else a float. */

import { goFloat, JsonNumber, type JsonValue } from '@watchglass/go'
import { invalid } from '../field-errors.ts'
import type { ValidationSchema } from './open-api-schema.ts'
import { failed, SchemaResult, type SchemaError } from './schema-result.ts'

const int64Max = 2n ** 63n - 1n

export function isInteger(number: JsonNumber): boolean {
  if (!/^-?\d+$/.test(number.source)) return false
  const value = BigInt(number.source)
  return value <= int64Max && value >= -int64Max - 1n
}

/** A float that is a whole number but for rounding. */
export function isWhole(number: JsonNumber): boolean {
  return isNearlyWhole(Number(number.source))
}

function isNearlyWhole(value: number): boolean {
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return false
  const whole = Math.trunc(value)
  if (value === whole) return true
  return Math.abs(value - whole) / (Math.abs(value) + Math.abs(whole)) < 1e-9
}

/** The type of a value in the words of schemas. */
export function kindOf(value: JsonValue): string {
  if (value === null) return 'null'
  if (value instanceof JsonNumber) return isInteger(value) ? 'integer' : 'number'
  if (Array.isArray(value)) return 'array'
  if (value instanceof Map) return 'object'
  return typeof value
}

export function checkNumber(
  number: JsonNumber,
  schema: ValidationSchema,
  path: string,
): SchemaResult {
  const result = new SchemaResult()
  result.add(rangeError(number, schema, 'Checked', path))
  const { multipleOf, maximum, minimum } = schema
  if (multipleOf !== undefined) {
    result.merge(checkLimit(number, multipleOf, { schema, path, name: 'MultipleOf' }))
  }
  if (minimum !== undefined) {
    result.merge(checkLimit(number, minimum, { schema, path, name: 'Minimum boundary' }))
  }
  if (maximum !== undefined) {
    result.merge(checkLimit(number, maximum, { schema, path, name: 'Maximum boundary' }))
  }
  return result.count()
}

interface Limit {
  readonly schema: ValidationSchema
  readonly path: string
  readonly name: 'MultipleOf' | 'Minimum boundary' | 'Maximum boundary'
}

/** Integers are compared with the limit cut to an integer, where that fits the format. */
function checkLimit(
  number: JsonNumber,
  limit: number,
  { schema, path, name }: Limit,
): SchemaResult {
  const result = new SchemaResult()
  const unfit = rangeError(new JsonNumber(goFloat(limit)), schema, name, path)
  result.add(unfit)
  const isExact = unfit === undefined && isInteger(number)
  const bound = isExact ? Math.trunc(limit) : limit
  const isBroken = {
    MultipleOf: () => isNoMultiple(number, bound, isExact),
    'Minimum boundary': () => isBeyond(number, bound, schema.isMinimumExclusive, -1),
    'Maximum boundary': () => isBeyond(number, bound, schema.isMaximumExclusive, 1),
  }[name]
  if (!isBroken()) return result
  const boundText = isExact ? String(bound) : goFloat(bound)
  const text = `${path} in body should be ${limitWords(schema, name)} ${boundText}`
  const field = path.startsWith('.') ? path.slice(1) : path
  if (name === 'MultipleOf' && bound <= 0) {
    const words = `factor MultipleOf declared for ${path} must be positive: ${boundText}`
    return result.merge(failed({ text: words, error: invalid(field, bound, words) }))
  }
  return result.merge(failed({ text, error: invalid(field, number, text) }))
}

function limitWords(schema: ValidationSchema, name: Limit['name']): string {
  if (name === 'MultipleOf') return 'a multiple of'
  if (name === 'Minimum boundary') {
    return schema.isMinimumExclusive ? 'greater than' : 'greater than or equal to'
  }
  return schema.isMaximumExclusive ? 'less than' : 'less than or equal to'
}

function isBeyond(number: JsonNumber, bound: number, isExclusive: boolean, sign: 1 | -1): boolean {
  const difference = Number(number.source) * sign - bound * sign
  return difference > 0 || (isExclusive && difference === 0)
}

function isNoMultiple(number: JsonNumber, factor: number, isExact: boolean): boolean {
  if (factor <= 0) return true
  if (isExact) return BigInt(number.source) % BigInt(factor) !== 0n
  const value = Number(number.source)
  return !isNearlyWhole(factor < 1 ? (1 / factor) * value : value / factor)
}

/** The number does not fit in the type and format of the schema. */
function rangeError(
  number: JsonNumber,
  schema: ValidationSchema,
  prefix: string,
  path: string,
): SchemaError | undefined {
  const [type = ''] = schema.types.length === 1 ? schema.types : []
  const isOfInteger = type === 'integer'
  if (!isOfInteger && !(type === 'number' && schema.format === 'float')) return undefined
  const { format } = schema
  const isFit = isOfInteger ? fitsInteger(number, format) : fitsFloat(number)
  if (isFit) return undefined
  const words = format === '' ? `${type} (default format)` : `${type} with format ${format}`
  const text = `${prefix} value must be of type ${words} in ${path}`
  return { text, error: invalid('', '', text) }
}

function fitsInteger(number: JsonNumber, format: string): boolean {
  const value = Number(number.source)
  if (!Number.isInteger(value) || value >= 2 ** 63 || value < -(2 ** 63)) return false
  return format !== 'int32' || (value <= 2147483647 && value >= -2147483648)
}

function fitsFloat(number: JsonNumber): boolean {
  return Number.isFinite(Math.fround(Number(number.source)))
}
