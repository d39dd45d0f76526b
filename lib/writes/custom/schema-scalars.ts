/** Checks of strings and of enums. */

import type { Steps } from '@watchglass/base'
import { goPattern, goQuote, JsonNumber, type JsonValue, textFromTree } from '@watchglass/go'
import { invalid, notSupported, textNotSupported, tooLong, typeInvalid } from '../field-errors.ts'
import { spend } from './budget.ts'
import type { ValidationSchema } from './open-api-schema.ts'
import { isInteger } from './schema-numbers.ts'
import { failed, SchemaResult } from './schema-result.ts'
import { hasFormat } from './text-formats.ts'

/** Length and pattern, of which only the first violation is reported, and the format. Whether the
 *  pattern occurs in a long text may have been found out before. */
export function checkText(
  text: string,
  schema: ValidationSchema,
  path: string,
  matches?: boolean,
): SchemaResult {
  const result = checkLengths(text, schema, path, matches)
  if (schema.format === '' || hasFormat(text, schema.format)) return result
  const words = `${path} in body must be of type ${schema.format}: ${goQuote(text)}`
  result.add({ text: words, error: typeInvalid(fieldOf(path), text, words) })
  return result
}

/** Texts from here on are matched in steps. */
export const longText = 4096

/** Whether the pattern of the schema occurs in a long text; undefined where there is none, or where
 *  the length is wrong, which `checkText` finds first. */
export function* longMatches(text: string, schema: ValidationSchema): Steps<boolean | undefined> {
  const { maxLength = Infinity, minLength = 0, pattern } = schema
  if (pattern === '') return undefined
  const length = charactersOf(text)
  if (length > maxLength || length < minLength) return undefined
  return yield* goPattern(pattern).testInSteps(text, states => spend('states', states))
}

function charactersOf(text: string): number {
  let pairs = 0
  for (let i = 1; i < text.length; i++) {
    if ((text.charCodeAt(i) & 0xfc00) !== 0xdc00) continue
    if ((text.charCodeAt(i - 1) & 0xfc00) === 0xd800) pairs++
  }
  return text.length - pairs
}

function checkLengths(
  text: string,
  schema: ValidationSchema,
  path: string,
  matches?: boolean,
): SchemaResult {
  const { maxLength, minLength, pattern } = schema
  const length = maxLength === undefined && minLength === undefined ? 0 : charactersOf(text)
  const field = fieldOf(path)
  if (maxLength !== undefined && length > maxLength) {
    const words = `${path} in body should be at most ${maxLength} chars long`
    return failed({ text: words, error: tooLong(field, maxLength) })
  }
  if (minLength !== undefined && length < minLength) {
    const words = `${path} in body should be at least ${minLength} chars long`
    return failed({ text: words, error: invalid(field, text, words) })
  }
  const test = (): boolean => goPattern(pattern).test(text, states => spend('states', states))
  if (pattern !== '' && !(matches ?? test())) {
    const words = `${path} in body should match '${pattern}'`
    return failed({ text: words, error: invalid(field, text, words) })
  }
  return new SchemaResult()
}

/** The enum of a schema. */
export function checkChoices(
  value: JsonValue,
  { choices }: ValidationSchema,
  path: string,
): SchemaResult | undefined {
  if (choices.length === 0 || isOneOf(value, choices)) return undefined
  const text = `${path} in body should be one of`
  const names = choices.map(choice => (typeof choice === 'string' ? choice : jsonOf(choice)))
  const error =
    typeof value === 'string'
      ? textNotSupported(fieldOf(path), value, names)
      : notSupported(fieldOf(path), value, names)
  return failed({ text, error })
}

/** The choices come out of JSON.parse. There may be thousands, for each of thousands of items. */
function isOneOf(value: JsonValue, choices: readonly unknown[]): boolean {
  if (value === null) return false
  if (value instanceof JsonNumber) return choices.some(choice => isChoice(value, choice))
  return textsOf(choices).has(textFromTree(value))
}

const textsOfChoices = new WeakMap<readonly unknown[], ReadonlySet<string>>()

function textsOf(choices: readonly unknown[]): ReadonlySet<string> {
  const known = textsOfChoices.get(choices)
  if (known !== undefined) return known
  const given = choices.filter(choice => choice !== null)
  const texts = new Set(given.map(choice => textFromTree(treeOf(choice))))
  textsOfChoices.set(choices, texts)
  return texts
}

/** Go converts numbers to the type of the choice before it compares, and integers to texts. */
function isChoice(value: JsonNumber, choice: unknown): boolean {
  const number = Number(value.source)
  if (typeof choice === 'number') {
    return (Number.isInteger(choice) ? Math.trunc(number) : number) === choice
  }
  return typeof choice === 'string' && isInteger(value) && isCodePoint(number, choice)
}

function isCodePoint(number: number, text: string): boolean {
  const isValid = number >= 0 && number <= 0x10ffff
  return text === (isValid ? String.fromCodePoint(number) : '\ufffd')
}

function treeOf(value: unknown): JsonValue {
  if (typeof value === 'number') return new JsonNumber(String(value))
  if (Array.isArray(value)) return value.map(treeOf)
  if (typeof value !== 'object' || value === null) return value as string | boolean | null
  return new Map(Object.entries(value).map(([name, member]) => [name, treeOf(member)]))
}

function jsonOf(value: unknown): string {
  return textFromTree(treeOf(value))
}

function fieldOf(path: string): string {
  return path.startsWith('.') ? path.slice(1) : path
}
