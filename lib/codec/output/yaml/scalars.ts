/** The form of a scalar in go-yaml v2: which texts stay plain, which are quoted and how, and what
 *  numbers become.
 *
 *  A text stays plain when reading it back would give a text again (YAML 1.1 has many words for
 *  truth, and dates) and when no character in it means something at its place. The rules for
 *  characters are libyaml's. */

import { goFloat } from '@watchglass/go'

/** The styles of a text. */
export type ScalarStyle = 'plain' | 'single' | 'double' | 'literal'

/** A text's style, and whether it has lines. */
export interface YamlScalar {
  readonly style: ScalarStyle
  /** A name with a line break cannot stand before a colon. */
  readonly isMultiline: boolean
}

const plainWords = /^[A-Za-z_/(][\w./()-]*$/
const nonTextWords: ReadonlySet<string> = new Set(
  (
    ' ~ null Null NULL << .nan .NaN .NAN .inf .Inf .INF +.inf +.Inf +.INF -.inf -.Inf -.INF ' +
    'y Y yes Yes YES true True TRUE on On ON n N no No NO false False FALSE off Off OFF'
  ).split(' '),
)

/** The form of `text`; `isName` when it stands before a colon. */
export function scalarForm(text: string, isName: boolean): YamlScalar {
  if (plainWords.test(text) && !nonTextWords.has(text)) return plainForm
  const marks = marksOf(text)
  const { isMultiline } = marks
  return { style: styleOf(text, marks, isName), isMultiline }
}

const plainForm: YamlScalar = { style: 'plain', isMultiline: false }

function styleOf(text: string, marks: TextMarks, isName: boolean): ScalarStyle {
  if (text.includes('\n')) return isName || !marks.isBlockAllowed ? 'double' : 'literal'
  if (!isReadAsText(text) || (isName && marks.isMultiline)) return 'double'
  if (marks.isPlainAllowed) return 'plain'
  return marks.isSingleAllowed ? 'single' : 'double'
}

interface TextMarks {
  readonly isMultiline: boolean
  readonly isPlainAllowed: boolean
  readonly isSingleAllowed: boolean
  readonly isBlockAllowed: boolean
}

/** The marks that the emitter of libyaml finds in a text that is not empty. */
function marksOf(text: string): TextMarks {
  const hasSpecial = special.test(text)
  const isMultiline = lineBreak.test(text)
  const hasSpaceBeforeBreak = spaceThenBreak.test(text)
  const hasSpaceAfterBreak = breakThenSpace.test(text)
  const isPlainAllowed = !hasSpecial && !isMultiline && !/^ | $/.test(text) && !hasIndicator(text)
  return {
    isMultiline,
    isPlainAllowed,
    isSingleAllowed: !hasSpecial && !hasSpaceBeforeBreak && !hasSpaceAfterBreak,
    isBlockAllowed: !hasSpecial && !hasSpaceBeforeBreak && !text.endsWith(' '),
  }
}

/** Characters that libyaml does not take for printable: control characters, tabs and carriage
 *  returns among them, but no line feeds; byte order marks, and everything above U+FFFF. */
export const special: RegExp = /[^\n\u0020-\u007e\u00a0-\ud7ff\ue000-\ufefe\uff00-\ufffd]/u
const lineBreak = /[\n\r\u0085\u2028\u2029]/
const spaceThenBreak = / [\n\r\u0085\u2028\u2029]/
const breakThenSpace = /[\n\r\u0085\u2028\u2029] /

/** Whether a character means something where it stands, outside of brackets. */
function hasIndicator(text: string): boolean {
  return (
    /^(?:---|\.\.\.)/.test(text) ||
    /^[#,[\]{}&*!|>'"%@`]/.test(text) ||
    /^[?-](?: |$)/.test(text) ||
    /:(?: |$)/.test(text) ||
    / #/.test(text)
  )
}

/** False for what would be read back as a number, a truth value, a date, or nothing. */
function isReadAsText(text: string): boolean {
  if (nonTextWords.has(text)) return false
  const first = text.charCodeAt(0)
  if (first === 0x2e) return !isFiniteFloat(/^\.\d+(?:[eE][+-]?\d+)?$/, text)
  const isNumberLike = first === 0x2b || first === 0x2d || (first >= 0x30 && first <= 0x39)
  if (!isNumberLike) return true
  if (base60.test(text) || isTimestamp(text)) return false
  const digits = text.replaceAll('_', '')
  return !isInteger(digits) && !isFiniteFloat(yamlFloat, digits)
}

const base60 = /^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$/
const yamlFloat = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/

function isFiniteFloat(pattern: RegExp, text: string): boolean {
  return pattern.test(text) && Number.isFinite(Number(text))
}

/** Decimal integers are floats, too: only the other bases matter here. */
function isInteger(text: string): boolean {
  const match = /^([+-]?)0([xXbBoO])([0-9a-fA-F]+)$/.exec(text)
  if (match === null) return /^0b[+-][01]{1,63}$/.test(text)
  const [, sign = '', base = '', digits = ''] = match
  const known = { x: /^[0-9a-fA-F]+$/, b: /^[01]+$/, o: /^[0-7]+$/ }[base.toLowerCase()]
  if (known?.test(digits) !== true) return false
  const value = BigInt(`0${base.toLowerCase()}${digits}`)
  if (sign === '') return value < 1n << 64n
  return sign === '-' ? value <= 1n << 63n : value < 1n << 63n
}

const timestamp =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[Tt](\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?(?:Z|[+-](\d\d):(\d\d))| (\d{1,2}):(\d{1,2}):(\d{1,2})(?:[.,]\d+)?)?$/

function isTimestamp(text: string): boolean {
  const match = timestamp.exec(text)
  if (match === null) return false
  const [year = 0, month = 0, day = 0, ...rest] = match.slice(1).map(part => Number(part ?? 0))
  const [hour = 0, minute = 0, second = 0, zoneHour = 0, zoneMinute = 0, ...spaced] = rest
  const [spacedHour = 0, spacedMinute = 0, spacedSecond = 0] = spaced
  return (
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    day <= daysOf(year, month) &&
    Math.max(hour, spacedHour) < 24 &&
    Math.max(minute, spacedMinute, second, spacedSecond) < 60 &&
    zoneHour <= 24 &&
    zoneMinute <= 60
  )
}

function daysOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

/** A number as go-yaml writes it: integers of 64 bits in full, others as Go's `%g`. */
export function yamlNumber(text: string): string {
  if (/^-?\d+$/.test(text)) {
    const value = BigInt(text)
    if (value >= -(1n << 63n) && value < 1n << 64n) return value.toString()
  }
  return goFloat(Number(text))
}
