/** Functions of texts: cel-go's strings extension, and Kubernetes' regular expressions. */

import { quoteEscapes } from '@watchglass/go'
import type { Library } from '../declarations.ts'
import { failure, noOverload } from '../values/errors.ts'
import { isInt } from '../values/numbers.ts'
import { areEqual, ArrayList, CelList, itemsOf, type Value } from '../values/values.ts'
import { ofChars, ofItems, spendWork } from '../values/work.ts'
import { textOf } from './conversions.ts'
import { formatted } from './formatted.ts'
import { joinedBy } from './standard.ts'
import { findAllIn, findIn, matchesIn } from './regexes.ts'

function textIn(value: Value | undefined): string {
  if (typeof value !== 'string') throw noOverload()
  return value
}

function intIn(value: Value | undefined): number {
  if (value === undefined || !isInt(value)) throw noOverload()
  return Number(value)
}

function charsOf(text: string): readonly string[] {
  spendWork(ofItems(text.length))
  return Array.from(text)
}

/** Takes the work of a search: at worst it compares each place with all of what is searched for. */
function spendSearch(text: string, part: string): void {
  spendWork(ofChars(text.length * Math.max(1, Math.min(part.length, text.length - part.length))))
}

/** Code points of a text: places in it are counted by them. */
function pointsOf(text: string): ArrayLike<string> & Iterable<string> {
  return /[\ud800-\udfff]/.test(text) ? charsOf(text) : text
}

function sliced(points: ArrayLike<string> & Iterable<string>, start: number, end: number): string {
  return typeof points === 'string'
    ? points.slice(start, end)
    : [...points].slice(start, end).join('')
}

const outOfRange = (index: number): Error => failure(`index out of range: ${index}`)

function charAt(text: Value, index: Value): Value {
  const points = pointsOf(textIn(text))
  const at = intIn(index)
  if (at < 0 || at > points.length) throw outOfRange(at)
  return points[at] ?? ''
}

function indexOf(text: Value, part: Value, offset?: Value): Value {
  if (text instanceof CelList) return itemsOf(text).findIndex(item => areEqual(item, part))
  const [whole, wanted] = [textIn(text), textIn(part)]
  spendSearch(whole, wanted)
  const start = offset === undefined ? 0 : intIn(offset)
  if (wanted === '') return start
  if (start < 0) throw outOfRange(start)
  const points = pointsOf(whole)
  if (start >= points.length) return -1
  if (typeof points === 'string') return whole.indexOf(wanted, start)
  const skipped = sliced(points, 0, start).length
  const found = whole.indexOf(wanted, skipped)
  return found < 0 ? -1 : Array.from(whole.slice(0, found)).length
}

function lastIndexOf(text: Value, part: Value, offset?: Value): Value {
  if (text instanceof CelList) return itemsOf(text).findLastIndex(item => areEqual(item, part))
  const [whole, wanted] = [textIn(text), textIn(part)]
  spendSearch(whole, wanted)
  const points = pointsOf(whole)
  if (offset === undefined && wanted === '') return points.length
  const start = offset === undefined ? points.length - 1 : intIn(offset)
  if (wanted === '') return start
  if (start < 0) {
    if (offset === undefined) return -1
    throw outOfRange(start)
  }
  if (start >= points.length) return -1
  const found = whole.lastIndexOf(wanted, sliced(points, 0, start).length)
  return found < 0 ? -1 : Array.from(whole.slice(0, found)).length
}

function splitAt(text: string, separator: string): readonly string[] {
  spendSearch(text, separator)
  const parts = text.split(separator)
  spendWork(parts.length)
  return parts
}

function replace(text: Value, old: Value, by: Value, count?: Value): Value {
  const [whole, wanted, instead] = [textIn(text), textIn(old), textIn(by)]
  const max = count === undefined ? -1 : intIn(count)
  // Nothing is found before each character, and at the end.
  const parts = wanted === '' ? [''].concat(charsOf(whole), '') : splitAt(whole, wanted)
  if (max < 0 || max >= parts.length) return joinedBy(parts, instead)
  return joinedBy([...parts.slice(0, max), parts.slice(max).join(wanted)], instead)
}

function split(text: Value, separator: Value, count?: Value): Value {
  const [whole, by] = [textIn(text), textIn(separator)]
  const max = count === undefined ? -1 : intIn(count)
  if (max === 0) return new ArrayList([])
  const parts = by === '' ? charsOf(whole) : splitAt(whole, by)
  if (max < 0 || parts.length <= max) return new ArrayList([...parts])
  return new ArrayList([...parts.slice(0, max - 1), parts.slice(max - 1).join(by)])
}

function substring(text: Value, from: Value, to?: Value): Value {
  const points = pointsOf(textIn(text))
  const start = intIn(from)
  const end = to === undefined ? points.length : intIn(to)
  if (to !== undefined && start > end) {
    throw failure(`invalid substring range. start: ${start}, end: ${end}`)
  }
  if (start < 0 || start > points.length) throw outOfRange(start)
  if (end < 0 || end > points.length) throw outOfRange(end)
  return sliced(points, start, end)
}

const goSpace =
  '[\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]'
const startSpace = new RegExp(`^${goSpace}+`)
const anySpace = new RegExp(goSpace)

/** strings.TrimSpace. */
function trimmed(text: string): string {
  const rest = text.replace(startSpace, '')
  let end = rest.length
  while (end > 0 && anySpace.test(rest.charAt(end - 1))) end--
  return rest.slice(0, end)
}

function join(list: Value, separator: Value = ''): Value {
  if (!(list instanceof CelList) || typeof separator !== 'string') throw noOverload()
  const parts = itemsOf(list).map(item => {
    if (typeof item !== 'string') throw failure(`join: invalid input: ${textOf(item) ?? ''}`)
    return item
  })
  return joinedBy(parts, separator)
}

export const texts: Library = {
  signatures: {
    charAt: ['string_char_at_int: string.(int) string'],
    indexOf: [
      'string_index_of_string: string.(string) int',
      'string_index_of_string_int: string.(string, int) int',
    ],
    lastIndexOf: [
      'string_last_index_of_string: string.(string) int',
      'string_last_index_of_string_int: string.(string, int) int',
    ],
    lowerAscii: ['string_lower_ascii: string.() string'],
    upperAscii: ['string_upper_ascii: string.() string'],
    replace: [
      'string_replace_string_string: string.(string, string) string',
      'string_replace_string_string_int: string.(string, string, int) string',
    ],
    split: [
      'string_split_string: string.(string) list(string)',
      'string_split_string_int: string.(string, int) list(string)',
    ],
    substring: [
      'string_substring_int: string.(int) string',
      'string_substring_int_int: string.(int, int) string',
    ],
    trim: ['string_trim: string.() string'],
    format: ['string_format: string.(list(dyn)) string'],
    'strings.quote': ['strings_quote: (string) string'],
    join: ['list_join: list(string).() string', 'list_join_string: list(string).(string) string'],
  },
  implementations: {
    charAt,
    indexOf,
    lastIndexOf,
    lowerAscii: (text: Value) => textIn(text).replaceAll(/[A-Z]+/g, part => part.toLowerCase()),
    upperAscii: (text: Value) => textIn(text).replaceAll(/[a-z]+/g, part => part.toUpperCase()),
    replace,
    split,
    substring,
    trim: (text: Value) => trimmed(textIn(text)),
    format: (text: Value, args: Value) => {
      if (!(args instanceof CelList)) throw noOverload()
      return formatted(textIn(text), itemsOf(args))
    },
    'strings.quote': (text: Value) =>
      // oxlint-disable-next-line no-control-regex
      `"${textIn(text).replaceAll(/[\x07-\r"\\]/g, char => quoteEscapes[char] ?? char)}"`,
    join,
  },
}

export const regexes: Library = {
  signatures: {
    find: ['string_find_string: string.(string) string'],
    findAll: [
      'string_find_all_string: string.(string) list(string)',
      'string_find_all_string_int: string.(string, int) list(string)',
    ],
  },
  implementations: {
    matches: (text: Value, pattern: Value) => matchesIn(textIn(text), textIn(pattern)),
    find: (text: Value, pattern: Value) => findIn(textIn(text), textIn(pattern)),
    findAll: (text: Value, pattern: Value, max?: Value) =>
      new ArrayList(findAllIn(textIn(text), textIn(pattern), max === undefined ? -1 : intIn(max))),
  },
}
