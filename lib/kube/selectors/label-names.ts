/** Checks label keys and label values, with the error texts of k8s.io/apimachinery. */

import type { Schema } from '@watchglass/codec'
import { goQuote } from '@watchglass/go'

const partMaxBytes = 63
const prefixMaxBytes = 253

const keyFormat = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]'
const valueFormat = `(${keyFormat})?`
const subdomainFormat = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'

const keyPattern = new RegExp(`^(?:${keyFormat})$`)
const valuePattern = new RegExp(`^(?:${valueFormat})$`)
const subdomainPattern = new RegExp(`^(?:${subdomainFormat})$`)

const keyCharacters =
  "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
  `(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${keyFormat}')`

const valueCharacters =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end " +
  `with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '${valueFormat}')`

const subdomainCharacters =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end " +
  `with an alphanumeric character (e.g. 'example.com', regex used for validation is '${subdomainFormat}')`

/** The words for a label key, and the unit of its length, which differ between versions. */
export interface LabelWords {
  readonly key: string
  readonly unit: string
}

export function labelWords(schema: Pick<Schema, 'has'>): LabelWords {
  return schema.has('labelKeyTexts') ? newWords : oldWords
}

const newWords: LabelWords = { key: 'a valid label key', unit: 'bytes' }
const oldWords: LabelWords = { key: 'a qualified name', unit: 'characters' }

/** The problem of a label key, as `field: Invalid value: ...`; undefined if there is none. */
export function invalidLabelKey(key: string, field: string, words: LabelWords): string | undefined {
  return invalidValue(field, key, problemsOfKey(key, words))
}

/** The problem of a label value; undefined if there is none. */
export function invalidLabelValue(
  value: string,
  field: string,
  words: LabelWords,
): string | undefined {
  const problems: string[] = []
  if (Buffer.byteLength(value) > partMaxBytes) problems.push(tooLong(partMaxBytes, words))
  if (!valuePattern.test(value)) problems.push(valueCharacters)
  return invalidValue(field, value, problems)
}

/** The message of an invalid value; undefined without problems. */
export function invalidValue(
  field: string,
  value: string,
  problems: readonly string[],
): string | undefined {
  if (problems.length === 0) return undefined
  return `${field}: Invalid value: ${goQuote(value)}: ${problems.join('; ')}`
}

function problemsOfKey(key: string, words: LabelWords): string[] {
  const parts = key.split('/')
  if (parts.length > 2) {
    return [
      `${words.key} must ${keyCharacters} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ]
  }
  const name = parts.at(-1) ?? ''
  const problems = parts.length === 2 ? problemsOfPrefix(parts[0] ?? '', words) : []
  if (name === '') problems.push('name part must be non-empty')
  else if (Buffer.byteLength(name) > partMaxBytes) {
    problems.push(`name part ${tooLong(partMaxBytes, words)}`)
  }
  if (!keyPattern.test(name)) problems.push(`name part must ${keyCharacters}`)
  return problems
}

function problemsOfPrefix(prefix: string, words: LabelWords): string[] {
  if (prefix === '') return ['prefix part must be non-empty']
  const problems: string[] = []
  if (Buffer.byteLength(prefix) > prefixMaxBytes) {
    problems.push(`prefix part ${tooLong(prefixMaxBytes, words)}`)
  }
  if (!subdomainPattern.test(prefix)) problems.push(`prefix part ${subdomainCharacters}`)
  return problems
}

function tooLong(max: number, { unit }: LabelWords): string {
  return `must be no more than ${max} ${unit}`
}
