/** Errors about fields of an object, in the words of kube-apiserver: `spec.replicas: Invalid
 *  value: -1: must be ...`. */

import {
  goFloat,
  goJsonString,
  goParseInt,
  goQuote,
  JsonNumber,
  type JsonValue,
  textInOrder,
} from '@watchglass/go'
import { StatusError } from '@watchglass/kube'

/** The reasons of causes in a Status, and the words for them. */
const words = {
  FieldValueNotFound: 'Not found',
  FieldValueRequired: 'Required value',
  FieldValueDuplicate: 'Duplicate value',
  FieldValueInvalid: 'Invalid value',
  FieldValueNotSupported: 'Unsupported value',
  FieldValueForbidden: 'Forbidden',
  FieldValueTooLong: 'Too long',
  FieldValueTooMany: 'Too many',
  FieldValueTooFew: 'Too few',
  FieldValueTypeInvalid: 'Invalid value',
  FieldValueTooShort: 'Too short',
  InternalError: 'Internal error',
} as const

export type FieldErrorReason = keyof typeof words

export interface FieldError {
  readonly reason: FieldErrorReason
  /** As `spec.containers[0].name`. */
  readonly field: string
  /** Without the field: `Required value: must be set`. */
  readonly message: string
}

/** A value as Go shows it in an error: texts quoted, numbers and booleans plain, everything else
 *  as JSON. */
export type BadValue = JsonValue | number | NamedText | ShownValue

/** A text of a type that has a name in Go, as `ResourceName`: it is shown as JSON. */
export class NamedText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A value whose text is known. */
export class ShownValue {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

function make(
  reason: FieldErrorReason,
  field: string,
  { value, detail }: { readonly value?: BadValue | undefined; readonly detail?: string },
): FieldError {
  const shown = value === undefined ? words[reason] : `${words[reason]}: ${badValueText(value)}`
  const hasDetail = detail !== undefined && detail !== ''
  return {
    reason,
    field: field === '' ? '<nil>' : field,
    message: hasDetail ? `${shown}: ${detail}` : shown,
  }
}

/** The text of a value in an error. */
export function badValueText(value: BadValue): string {
  if (typeof value === 'string') return goQuote(value)
  if (value instanceof NamedText) return goJsonString(value.text)
  if (value instanceof ShownValue) return value.text
  if (typeof value === 'number') return String(value)
  if (!(value instanceof JsonNumber)) return textInOrder(value)
  // A number that is written as a whole number of up to 64 bits is an integer to Go, any other a
  // float.
  const isInteger = /^-?\d{1,18}$/.test(value.source)
  return isInteger ? value.text : (goInteger(value.source) ?? goFloat(Number(value.source)))
}

function goInteger(source: string): string | undefined {
  return goParseInt(source).error === undefined ? source : undefined
}

export function invalid(field: string, value: BadValue | undefined, detail: string): FieldError {
  return make('FieldValueInvalid', field, { value, detail })
}

/** The value has the wrong type. */
export function typeInvalid(field: string, value: BadValue, detail: string): FieldError {
  return make('FieldValueTypeInvalid', field, { value, detail })
}

export function required(field: string, detail = ''): FieldError {
  return make('FieldValueRequired', field, { detail })
}

export function forbidden(field: string, detail: string): FieldError {
  return make('FieldValueForbidden', field, { detail })
}

export function duplicate(field: string, value: BadValue | undefined): FieldError {
  return make('FieldValueDuplicate', field, { value })
}

export function notFound(field: string, value: BadValue, detail = ''): FieldError {
  return make('FieldValueNotFound', field, { value, detail })
}

/** The values are named in the order given: upstream sorts some lists and not others. */
export function notSupported(
  field: string,
  value: BadValue,
  values: readonly string[],
): FieldError {
  // Texts of which only some are supported have a type of their own.
  const shown = typeof value === 'string' ? new NamedText(value) : value
  return make('FieldValueNotSupported', field, { value: shown, detail: supported(values) })
}

/** An unsupported text of Go's plain type `string`. */
export function textNotSupported(
  field: string,
  text: string,
  values: readonly string[],
): FieldError {
  return make('FieldValueNotSupported', field, { value: text, detail: supported(values) })
}

function supported(values: readonly string[]): string {
  return values.length === 0 ? '' : `supported values: ${values.map(goQuote).join(', ')}`
}

/** The error of a text of more than `max` bytes, or `unit`s. */
export function tooLong(field: string, max: number, unit = 'byte'): FieldError {
  const limit = `may not be more than ${max} ${max === 1 ? unit : `${unit}s`}`
  const detail = max < 0 ? 'value is too long' : limit
  return make('FieldValueTooLong', field, { detail })
}

export function tooMany(field: string, actual: number, max: number): FieldError {
  const detail = `must have at most ${max} ${max === 1 ? 'item' : 'items'}`
  return make('FieldValueTooMany', field, { value: actual, detail })
}

/** The path of a member. */
export function child(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

/** The path of an item of a list. */
export function index(path: string, i: number): string {
  return `${path}[${i}]`
}

/** The path of a value in a map. */
export function keyed(path: string, key: string): string {
  return `${path}[${key}]`
}

/** The refusal of an object with such fields: 422. */
export function invalidObject(
  { group, kind }: { readonly group: string; readonly kind: string },
  name: string,
  errors: readonly FieldError[],
): StatusError {
  const kindText = group === '' ? kind : `${kind}.${group}`
  return new StatusError('invalid_request', {
    code: 422,
    message: `${kindText} ${goQuote(name)} is invalid: ${summary(errors)}`,
    reason: 'Invalid',
    details: {
      name,
      group,
      kind,
      causes: errors.map(({ reason, message, field }) => ({ reason, message, field })),
    },
  })
}

/** The errors in one line, each text once. */
export function summary(errors: readonly FieldError[]): string {
  if (errors.length === 0) return '<nil>'
  const texts = [...new Set(errors.map(({ field, message }) => `${field}: ${message}`))]
  return texts.length === 1 ? texts.join() : `[${texts.join(', ')}]`
}
