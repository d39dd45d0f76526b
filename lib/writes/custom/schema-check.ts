/** Checks a value by an OpenAPI schema in the order and with the words of the library that
 *  kube-apiserver uses (kube-openapi).
 *
 *  With an old value, what has not changed may break the schema: the errors of an unchanged
 *  member or item are dropped, so that an object can be changed after its schema became
 *  stricter. Items of lists are compared with old ones only where they have keys. */

import { isStepDue, type Steps } from '@watchglass/base'
import { goQuote, JsonNumber, type JsonValue, textFromTree } from '@watchglass/go'
import { type FieldError, invalid, required, tooMany, typeInvalid } from '../field-errors.ts'
import type { ValidationSchema } from './open-api-schema.ts'
import { fullBudget, spend, spendFrom } from './budget.ts'
import { checkNumber, isInteger, isWhole, kindOf } from './schema-numbers.ts'
import { checkChoices, checkText, longMatches, longText } from './schema-scalars.ts'
import { failed, SchemaResult, type SchemaError } from './schema-result.ts'

/** The value as it was; undefined where there was none to compare with. */
export interface Correlated {
  readonly old: JsonValue
  /** The old values of a member and of an item. */
  readonly member: (name: string) => Correlated | undefined
  readonly item: (i: number) => Correlated | undefined
}

/** The errors of a value that lies at `field` ('' is the object itself). Paths in messages begin
 *  below it. */
export function* schemaErrors(
  value: JsonValue,
  schema: ValidationSchema,
  field: string,
  old?: Correlated,
): Steps<FieldError[]> {
  const budget = fullBudget()
  spendFrom(budget)
  const steps = checkCorrelated(value, schema, { path: '', old })
  for (;;) {
    const { done, value: result } = steps.next()
    if (done === true) {
      const { errors } = result
      return errors.map(({ error }) => ({ ...error, field: fieldUnder(field, error.field) }))
    }
    // Other objects may be checked meanwhile, within bounds of their own.
    yield
    spendFrom(budget)
  }
}

function fieldUnder(field: string, path: string): string {
  const name = path === '<nil>' ? '' : path
  if (name === '') return field === '' ? '<nil>' : field
  return field === '' ? name : `${field}.${name}`
}

interface At {
  readonly path: string
  readonly old: Correlated | undefined
}

function* checkCorrelated(value: JsonValue, schema: ValidationSchema, at: At): Steps<SchemaResult> {
  const result = yield* check(value, schema, at)
  // A value has changed if one in it has: it is not compared again at each level.
  if (result.isValid || at.old === undefined || result.hasChanged) return result
  const text = textFromTree(value)
  spend('checks', text.length / charactersPerCheck)
  if (text === textFromTree(at.old.old)) return new SchemaResult()
  result.hasChanged = true
  return result
}

/** Comparing so many characters takes about as long as checking a value. */
const charactersPerCheck = 64

function* check(value: JsonValue, schema: ValidationSchema, at: At): Steps<SchemaResult> {
  spend('checks', 1)
  if (isStepDue()) yield
  const { path } = at
  const result = new SchemaResult()
  if (value === null) {
    return result.merge(checkType(null, schema, path)).merge(checkChoices(null, schema, path))
  }
  if (schema.types.length > 0 || schema.format !== '') {
    result.merge(checkType(value, schema, path)).count()
  }
  result.merge(yield* checkAlternatives(value, schema, at)).count()
  if (typeof value === 'string') {
    const matches = value.length < longText ? undefined : yield* longMatches(value, schema)
    result.merge(checkText(value, schema, path, matches)).count()
  } else if (value instanceof JsonNumber) {
    result.merge(checkNumber(value, schema, path)).count()
  } else if (Array.isArray(value)) result.merge(yield* checkList(value, schema, at)).count()
  result.merge(checkChoices(value, schema, path)).count()
  if (value instanceof Map) result.merge(yield* checkObject(value, schema, at)).count()
  return result.count()
}

function checkType(value: JsonValue, schema: ValidationSchema, path: string): SchemaResult {
  const { types, format } = schema
  const kind = kindOf(value)
  const expected = types.join(',')
  if (value === null) {
    const isFine = types.length === 0 || schema.isNullable
    return isFine ? new SchemaResult().count() : wrongType(path, expected, kind)
  }
  const isNumber = value instanceof JsonNumber
  const isInteger_ = isNumber && isInteger(value)
  const isWholeNumber = isNumber && !isInteger_ && isWhole(value) && types.includes('integer')
  const isIntegerAsNumber = isInteger_ && types.includes('number')
  const isFlat = typeof value === 'string' || Array.isArray(value)
  const actualFormat = isNumber ? (isInteger_ ? 'int64' : 'float64') : ''
  if (!isFlat && format !== '') {
    const isRight = types.includes(kind) || actualFormat === format
    if (!isRight && !isWholeNumber && !isIntegerAsNumber) {
      return wrongType(path, format, actualFormat)
    }
  }
  if (!types.includes('number') && !types.includes('integer') && format !== '' && isFlat) {
    return new SchemaResult().count()
  }
  if (!types.includes(kind) && !isWholeNumber && !isIntegerAsNumber) {
    return wrongType(path, expected, kind)
  }
  return new SchemaResult().count()
}

function wrongType(path: string, expected: string, actual: string): SchemaResult {
  const text = `${path} in body must be of type ${expected}: ${goQuote(actual)}`
  return failed({ text, error: typeInvalid(fieldOf(path), actual, text) })
}

/** Paths of errors have no dot before the first name. */
function fieldOf(path: string): string {
  return path.startsWith('.') ? path.slice(1) : path
}

function* checkAlternatives(
  value: JsonValue,
  schema: ValidationSchema,
  at: At,
): Steps<SchemaResult> {
  const main = new SchemaResult()
  if (schema.anyOf.length > 0) yield* checkAnyOf(main, value, schema.anyOf, at)
  if (schema.oneOf.length > 0) yield* checkOneOf(main, value, schema.oneOf, at)
  if (schema.allOf.length > 0) yield* checkAllOf(main, value, schema.allOf, at)
  if (schema.not !== undefined && (yield* check(value, schema.not, at)).isValid) {
    main.add(message(`${goQuote(at.path)} must not validate the schema (not)`))
  }
  return main.count()
}

function message(text: string): SchemaError {
  return { text, error: invalid('', '', text) }
}

type Alternatives = readonly ValidationSchema[]

function* checkAnyOf(
  main: SchemaResult,
  value: JsonValue,
  schemas: Alternatives,
  at: At,
): Steps<void> {
  let best: SchemaResult | undefined
  for (const schema of schemas) {
    const result = yield* check(value, schema, at)
    if (result.isValid) {
      main.merge(result)
      return
    }
    if (best === undefined || result.matchCount > best.matchCount) best = result
  }
  main.add(message(`${goQuote(at.path)} must validate at least one schema (anyOf)`))
  main.merge(best)
}

function* checkOneOf(
  main: SchemaResult,
  value: JsonValue,
  schemas: Alternatives,
  at: At,
): Steps<void> {
  let best: SchemaResult | undefined
  const right: SchemaResult[] = []
  for (const schema of schemas) {
    const result = yield* check(value, schema, at)
    if (result.isValid) right.push(result)
    else if (right.length === 0 && (best?.matchCount ?? -1) < result.matchCount) best = result
  }
  if (right.length === 1) {
    main.merge(right[0])
    return
  }
  const found = right.length === 0 ? 'Found none valid' : `Found ${right.length} valid alternatives`
  main.add(message(`${goQuote(at.path)} must validate one and only one schema (oneOf). ${found}`))
  if (right.length === 0) main.merge(best)
}

function* checkAllOf(
  main: SchemaResult,
  value: JsonValue,
  schemas: Alternatives,
  at: At,
): Steps<void> {
  let right = 0
  for (const schema of schemas) {
    const result = yield* check(value, schema, at)
    if (result.isValid) right++
    main.merge(result)
  }
  if (right === schemas.length) return
  const none = right === 0 ? '. None validated' : ''
  main.add(message(`${goQuote(at.path)} must validate all the schemas (allOf)${none}`))
}

function* checkList(list: JsonValue[], schema: ValidationSchema, at: At): Steps<SchemaResult> {
  const { path, old } = at
  const result = new SchemaResult()
  const { items, minItems, maxItems } = schema
  if (items !== undefined) {
    for (const [i, item] of list.entries()) {
      const inner = { path: `${path}[${i}]`, old: old?.item(i) }
      result.merge(yield* checkCorrelated(item, items, inner))
    }
  }
  const field = fieldOf(path)
  if (minItems !== undefined && list.length < minItems) {
    const text = `${path} in body should have at least ${minItems} items`
    result.add({ text, error: invalid(field, list.length, text) })
  }
  if (maxItems !== undefined && list.length > maxItems) {
    const text = `${path} in body should have at most ${maxItems} items`
    result.add({ text, error: tooMany(field, list.length, maxItems) })
  }
  if (schema.isUnique && new Set(list.map(textFromTree)).size < list.length) {
    const text = `${path} in body shouldn't contain duplicates`
    result.add({ text, error: invalid(field, '', text) })
  }
  return result.count()
}

function* checkObject(
  object: ReadonlyMap<string, JsonValue>,
  schema: ValidationSchema,
  at: At,
): Steps<SchemaResult> {
  const { path, old } = at
  const result = new SchemaResult()
  checkSize(result, object.size, schema, path)
  const keys = [...object.keys()].sort()
  const others = keys.filter(key => !schema.properties.has(key))
  for (const key of others) {
    const inner = { path: `${path}.${key}`, old: old?.member(key) }
    if (schema.isClosed) {
      const text = `${path}.${key} in body is a forbidden property`
      result.add({ text, error: invalid(fieldOf(path), key, text) })
    } else if (schema.additional !== undefined) {
      result.merge(yield* checkCorrelated(object.get(key) ?? null, schema.additional, inner))
    }
  }
  for (const [name, property] of schema.properties) {
    const value = object.get(name)
    if (value === undefined) continue
    const isTypeMeta = path === '' && (name === 'kind' || name === 'apiVersion')
    const inner = {
      path: path === '' ? name : `${path}.${name}`,
      old: isTypeMeta ? undefined : old?.member(name),
    }
    result.merge(yield* checkCorrelated(value, property, inner))
  }
  for (const name of schema.required) {
    if (object.has(name)) continue
    const text = `${path}.${name} in body is required`
    result.add({ text, error: required(fieldOf(`${path}.${name}`)) })
  }
  return result
}

function checkSize(
  result: SchemaResult,
  size: number,
  schema: ValidationSchema,
  path: string,
): void {
  const { minProperties, maxProperties } = schema
  const field = fieldOf(path)
  if (minProperties !== undefined && size < minProperties) {
    const text = `${path} in body should have at least ${minProperties} properties`
    result.add({ text, error: invalid(field, size, text) })
  }
  if (maxProperties !== undefined && size > maxProperties) {
    const text = `${path} in body should have at most ${maxProperties} properties`
    result.add({ text, error: tooMany(field, size, maxProperties) })
  }
}
