/** Texts as Go writes them: error messages of the API quote values with `%q`, bodies escape what
 *  encoding/json escapes, and numbers fail to parse with the words of package strconv. Clients and
 *  tests compare these texts byte for byte. */

/** The characters that unicode.IsPrint accepts: letters, marks, numbers, punctuation, symbols, and
 *  of the spaces only U+0020. */
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u

/** Characters by the letter that stands for them behind a backslash. */
export const controlEscapes: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
}

/** The escapes of characters that have a short one between quotes. */
export const quoteEscapes: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    Object.entries(controlEscapes).map(([letter, char]) => [char, `\\${letter}`]),
  ),
  '\\': '\\\\',
  '"': '\\"',
}

/** Bytes as text. Go's texts are bytes, so those that are no UTF-8 are kept, as halves of surrogate
 *  pairs (U+DC80 to U+DCFF), and are written by `goQuote` and `goJsonString` as Go writes them. */
export function goText(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
  if (!text.includes('\ufffd')) return text
  let kept = ''
  for (let at = 0; at < bytes.length;) {
    const isAscii = (bytes[at] as number) < 0x80
    const length = isAscii ? 1 : utf8Length(bytes, at, bytes.length)
    if (length === 0) kept += String.fromCharCode(0xdc00 + (bytes[at] as number))
    else kept += Buffer.from(bytes.subarray(at, at + length)).toString()
    at += Math.max(1, length)
  }
  return kept
}

/** The length of the UTF-8 character at `at` if it has more than one byte and is valid; otherwise
 *  0, as for surrogates, for overlong forms and above U+10FFFF. */
export function utf8Length(bytes: Uint8Array, at: number, end: number): number {
  const first = bytes[at] as number
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0
  if (length === 0 || at + length > end) return 0
  const second = bytes[at + 1] as number
  const isSecondValid =
    second >= (first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80) &&
    second <= (first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf)
  if (!isSecondValid) return 0
  for (let i = at + 2; i < at + length; i++) {
    if (((bytes[i] as number) & 0xc0) !== 0x80) return 0
  }
  return length
}

/** The text between double quotes as `%q` prints it (strconv.Quote). */
export function goQuote(text: string): string {
  if (plainQuoted.test(text)) return `"${text}"`
  let quoted = '"'
  for (const char of text) quoted += quotedChar(char)
  return quoted + '"'
}

/** ASCII between quotes that stays as it is. */
const plainQuoted = /^[ !#-[\]-~]*$/

function quotedChar(char: string): string {
  const short = quoteEscapes[char]
  if (short !== undefined) return short
  const code = char.codePointAt(0) ?? 0
  if (code < 0x7f && code >= 0x20) return char
  if (code < 0x20 || code === 0x7f) return `\\x${hex(code, 2)}`
  if (code >= 0xdc80 && code <= 0xdcff) return `\\x${hex(code - 0xdc00, 2)}`
  if (printable.test(char)) return char
  return code > 0xffff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`
}

/** A JSON string as encoding/json writes it, with its quotes: `<`, `>` and `&` are escaped, and so
 *  are U+2028 and U+2029. Go has no text with half a surrogate pair in it: what decoded to one
 *  became U+FFFD. Bytes that are no UTF-8 (`goText`) are escaped. */
export function goJsonString(text: string): string {
  if (plainJson.test(text)) return `"${text}"`
  let json = JSON.stringify(text)
  if (json.includes('\\ud')) {
    const whole = text.replace(/(?![\u{dc80}-\u{dcff}])\p{Surrogate}/gu, '\ufffd')
    const parts = whole.split(/[\u{dc80}-\u{dcff}]/u).map(part => JSON.stringify(part).slice(1, -1))
    json = `"${parts.join('\\ufffd')}"`
  }
  return htmlUnsafe.test(json)
    ? json.replaceAll(allHtmlUnsafe, char => `\\u${hex(char.charCodeAt(0), 4)}`)
    : json
}

/** ASCII that is written as it is. */
const plainJson = /^[ !#-%'-;=?-[\]-~]*$/

const htmlUnsafe = /[<>&\u2028\u2029]/
const allHtmlUnsafe: RegExp = new RegExp(htmlUnsafe, 'g')

const int64Max = 2n ** 63n - 1n
const uint64Max = 2n ** 64n - 1n

/** A whole number, or the error of strconv that says why the text is none. */
export type ParsedInteger =
  | { readonly value: bigint; readonly error?: undefined }
  | { readonly error: string; readonly value?: undefined }

/** strconv.ParseInt(text, 10, 64). */
export function goParseInt(text: string, name: 'ParseInt' | 'Atoi' = 'ParseInt'): ParsedInteger {
  if (!/^[+-]?[0-9]+$/.test(text)) return syntaxError(name, text)
  const value = decimal(text.startsWith('+') ? text.slice(1) : text)
  return value > int64Max || value < -int64Max - 1n ? rangeError(name, text) : { value }
}

/** strconv.ParseUint(text, 10, 64): no sign. */
export function goParseUint(text: string): ParsedInteger {
  if (!/^[0-9]+$/.test(text)) return syntaxError('ParseUint', text)
  const value = decimal(text)
  return value > uint64Max ? rangeError('ParseUint', text) : { value }
}

/** No number of 64 bits has more digits. */
const digitsMax = 20

/** A whole number; of one that is beyond 64 bits only that it is. To read a megabyte of digits
 *  takes a tenth of a second. */
function decimal(text: string): bigint {
  const sign = text.startsWith('-') ? '-' : ''
  const digits = text.slice(sign.length).replace(/^0+/, '')
  const short = text.length <= digitsMax ? text : sign + (digits || '0')
  if (digits.length <= digitsMax) return BigInt(short)
  return sign === '' ? 2n ** 64n : -(2n ** 64n)
}

function syntaxError(name: string, text: string): ParsedInteger {
  return { error: `strconv.${name}: parsing ${goQuote(text)}: invalid syntax` }
}

function rangeError(name: string, text: string): ParsedInteger {
  return { error: `strconv.${name}: parsing ${goQuote(text)}: value out of range` }
}

const durationUnitsMs: ReadonlyMap<string, number> = new Map([
  ['ns', 1e-6],
  ['us', 1e-3],
  ['µs', 1e-3],
  ['μs', 1e-3],
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
])

/** Go's durations end at 2^63 - 1 nanoseconds, about 292 years. */
const durationMaxMs = 9_223_372_036_854

/** time.ParseDuration in milliseconds, or its error. */
export function goParseDuration(text: string): number | { readonly error: string } {
  const isNegative = text.startsWith('-')
  const digits = /^[+-]/.test(text) ? text.slice(1) : text
  if (digits === '0') return 0
  const invalid = { error: `time: invalid duration ${quoteDuration(text)}` }
  if (digits === '') return invalid
  let totalMs = 0
  let at = 0
  while (at < digits.length) {
    const number = /^(?:[0-9]+\.?[0-9]*|\.[0-9]+)/.exec(digits.slice(at))?.[0]
    if (number === undefined) return invalid
    at += number.length
    const unit = /^[^0-9.]+/.exec(digits.slice(at))?.[0]
    if (unit === undefined) {
      return { error: `time: missing unit in duration ${quoteDuration(text)}` }
    }
    const unitMs = durationUnitsMs.get(unit)
    if (unitMs === undefined) {
      return {
        error: `time: unknown unit ${quoteDuration(unit)} in duration ${quoteDuration(text)}`,
      }
    }
    totalMs += Number(number) * unitMs
    at += unit.length
  }
  if (totalMs > durationMaxMs) return invalid
  return isNegative ? -totalMs : totalMs
}

/** Package time has its own quoting: bytes that are not plain ASCII are written as `\xNN`. */
function quoteDuration(text: string): string {
  let quoted = ''
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0
    if (char === '"' || char === '\\') quoted += `\\${char}`
    else if (code >= 0x20 && code < 0x80) quoted += char
    else if (code >= 0xdc80 && code <= 0xdcff) quoted += quotedChar(char)
    else for (const byte of Buffer.from(char)) quoted += `\\x${hex(byte, 2)}`
  }
  return `"${quoted}"`
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0')
}

/** As strings.Trim(text, " "): a tab stays. */
export function trimSpaces(text: string): string {
  let start = 0
  let end = text.length
  while (text[start] === ' ') start++
  while (end > start && text[end - 1] === ' ') end--
  return text.slice(start, end)
}
