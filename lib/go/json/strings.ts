/** JSON strings as bytes: where they end, whether they are written as Go writes them, and how they
 *  order.
 *
 *  Go escapes `"`, `\`, control characters (\b \f \n \r \t where there is a short form), `<`, `>`,
 *  `&`, U+2028 and U+2029, and nothing else. It replaces invalid UTF-8 when it decodes. Positions
 *  are checked against `end`: a window's neighbours are never read. */

import { goJsonString, utf8Length } from '../text.ts'
import { appendText, type ByteWriter, textFromBytes } from '@watchglass/base'

const quote = 0x22
const backslash = 0x5c

/** A window's array, and a view of it to read four bytes at a time. */
export interface JsonInput {
  readonly bytes: Uint8Array
  readonly view: DataView
}

/** The array as an input. It is seen as a plain `Uint8Array`, so that hot loops meet one kind. */
export function inputOf({ buffer, byteOffset, byteLength }: Uint8Array): JsonInput {
  return {
    bytes: new Uint8Array(buffer, byteOffset, byteLength),
    view: new DataView(buffer, byteOffset, byteLength),
  }
}

/** The first position from `at` on, at most `end`, whose byte inside a string is not plain: not
 *  printable ASCII, or one of `"\\<>&`. Looks at four bytes at a time: `x - 0x01010101` has the
 *  high bit of a byte set where x has a zero byte. It can be wrong only above a byte that is found
 *  rightly, and the lowest is taken. `"` and `&` differ in one bit, as do `<` and `>`. */
export function skipPlain(view: DataView, at: number, end: number): number {
  let position = at
  for (; position + 4 <= end; position += 4) {
    const four = view.getInt32(position, true)
    const found =
      ((four - 0x20202020) |
        (((four & 0xfbfbfbfb) ^ 0x22222222) - 0x01010101) |
        (((four & 0xfdfdfdfd) ^ 0x3c3c3c3c) - 0x01010101) |
        ((four ^ 0x5c5c5c5c) - 0x01010101) |
        four) &
      0x80808080
    if (found !== 0) return position + ((31 - Math.clz32(found & -found)) >> 3)
  }
  while (position < end && isPlain(view.getUint8(position))) position++
  return position
}

function isPlain(byte: number): boolean {
  return (
    byte >= 0x20 &&
    byte < 0x80 &&
    byte !== quote &&
    byte !== backslash &&
    byte !== 0x26 &&
    (byte & 0xfd) !== 0x3c
  )
}

/** The end of a string whose first byte after the quote is at `at`: after its closing quote. -1 if
 *  it is not exactly what Go would write, or does not end. The same loop as `skipPlain`, which
 *  steps over the common escapes: managed fields have many, and leaving the loop for each would
 *  double the cost of an object. */
export function canonicalStringEnd(input: JsonInput, at: number, end: number): number {
  const { bytes, view } = input
  let position = at
  for (;;) {
    if (position + 4 <= end) {
      const four = view.getInt32(position, true)
      const found =
        ((four - 0x20202020) |
          (((four & 0xfbfbfbfb) ^ 0x22222222) - 0x01010101) |
          (((four & 0xfdfdfdfd) ^ 0x3c3c3c3c) - 0x01010101) |
          ((four ^ 0x5c5c5c5c) - 0x01010101) |
          four) &
        0x80808080
      if (found === 0) {
        position += 4
        continue
      }
      position += (31 - Math.clz32(found & -found)) >> 3
    } else {
      position = skipPlain(view, position, end)
      if (position >= end) return -1
    }
    const byte = bytes[position] as number
    if (byte === quote) return position + 1
    const next = position + 1 < end ? (bytes[position + 1] as number) : 0
    if (byte === backslash && (next === quote || next === backslash)) {
      position += 2
      continue
    }
    const length =
      byte === backslash
        ? canonicalEscapeLength(bytes, position, end)
        : canonicalCharacterLength(bytes, position, end)
    if (length === 0) return -1
    position += length
  }
}

/** The length of the escape at `at` if Go writes it so; otherwise 0. */
function canonicalEscapeLength(bytes: Uint8Array, at: number, end: number): number {
  if (at + 1 >= end) return 0
  switch (bytes[at + 1] as number) {
    case quote:
    case backslash:
    case 0x62: // \b
    case 0x66: // \f
    case 0x6e: // \n
    case 0x72: // \r
    case 0x74: // \t
      return 2
    case 0x75: // \u
      return at + 6 <= end && canonicalUnicodeEscapes.has(latin1(bytes, at + 2, at + 6)) ? 6 : 0
    default:
      return 0
  }
}

/** The four digits of every `\u` escape that Go writes. */
const canonicalUnicodeEscapes: ReadonlySet<string> = new Set([
  ...Array.from({ length: 0x20 }, (_, code) => code)
    .filter(code => !'\b\f\n\r\t'.includes(String.fromCharCode(code)))
    .map(code => code.toString(16).padStart(4, '0')),
  '003c',
  '003e',
  '0026',
  '2028',
  '2029',
])

function latin1(bytes: Uint8Array, start: number, end: number): string {
  let text = ''
  for (let i = start; i < end; i++) text += String.fromCharCode(bytes[i] as number)
  return text
}

/** The length of the character of two to four bytes at `at`; 0 for invalid UTF-8, for what Go
 *  escapes, for control bytes. */
function canonicalCharacterLength(bytes: Uint8Array, at: number, end: number): number {
  const length = utf8Length(bytes, at, end)
  if (length !== 3 || bytes[at] !== 0xe2 || bytes[at + 1] !== 0x80) return length
  return ((bytes[at + 2] as number) & 0xfe) === 0xa8 ? 0 : 3
}

/** After the closing quote of any string, valid or not, whose first byte after the quote is at
 *  `at`; -1 if it does not end. */
export function stringEnd(bytes: Uint8Array, at: number, end: number): number {
  for (let i = at; i < end; i++) {
    const byte = bytes[i]
    if (byte === quote) return i + 1
    if (byte === backslash) i++
  }
  return -1
}

/** Orders two strings of the same text by their decoded bytes, as Go orders map keys. Both begin
 *  behind their opening quote, and end. Cheap unless the first difference is an escape. */
export function compareStrings(bytes: Uint8Array, a: number, b: number): number {
  for (let i = 0; ; i++) {
    const left = bytes[a + i] as number
    const right = bytes[b + i] as number
    if (left === right) {
      if (left === quote) return 0
      if (left !== backslash) continue
      if (bytes[a + i + 1] !== bytes[b + i + 1]) return compareEscaped(bytes, a + i, b + i)
      i++
      continue
    }
    if (left === backslash || right === backslash) return compareEscaped(bytes, a + i, b + i)
    if (left === quote) return -1
    if (right === quote) return 1
    return left - right
  }
}

/** The rest of a comparison from the first escape on. */
function compareEscaped(bytes: Uint8Array, a: number, b: number): number {
  return Buffer.compare(decodedBytes(bytes, a), decodedBytes(bytes, b))
}

function decodedBytes(bytes: Uint8Array, start: number): Buffer {
  const end = stringEnd(bytes, start, bytes.length)
  return Buffer.from(decodeString(bytes, start, end - 1) ?? '')
}

/** The text of a string whose content, without quotes, is `bytes[start..end)`, as Go decodes it:
 *  every invalid byte and every lone surrogate becomes one U+FFFD. Undefined if it is not valid
 *  JSON. */
export function decodeString(bytes: Uint8Array, start: number, end: number): string | undefined {
  const simple = end - start < longText ? undefined : decodeLong(bytes.subarray(start, end))
  if (simple !== undefined) return simple
  let text = ''
  let from = start
  let position = start
  while (position < end) {
    const byte = bytes[position] as number
    if (byte >= 0x20 && byte < 0x80 && byte !== quote && byte !== backslash) {
      position++
      continue
    }
    const length = byte >= 0x80 ? utf8Length(bytes, position, end) : 0
    if (length > 0) {
      position += length
      continue
    }
    text += textFromBytes(bytes, from, position)
    if (byte === backslash) {
      const escape = decodeEscape(bytes, position, end)
      if (escape === undefined) return undefined
      text += escape.text
      position += escape.length
    } else if (byte >= 0x80) {
      text += '\ufffd'
      position++
    } else {
      return undefined
    }
    from = position
  }
  return text + textFromBytes(bytes, from, end)
}

/** Texts from here on are given to V8 first, where it means what Go means. */
const longText = 4096

/** The text of a long string; undefined where it has halves of surrogate pairs, or bytes that are
 *  no UTF-8, or is not valid: Go makes something else of those. A megabyte of escapes takes a
 *  quarter of a second one by one. */
function decodeLong(bytes: Uint8Array): string | undefined {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString()
  if (/\ufffd|\\u[dD]/.test(text)) return undefined
  try {
    return JSON.parse(`"${text}"`) as string
  } catch {
    return undefined
  }
}

const shortEscapes: Readonly<Record<number, string>> = {
  [quote]: '"',
  [backslash]: '\\',
  0x2f: '/',
  0x62: '\b',
  0x66: '\f',
  0x6e: '\n',
  0x72: '\r',
  0x74: '\t',
}

function decodeEscape(
  bytes: Uint8Array,
  at: number,
  end: number,
): { readonly text: string; readonly length: number } | undefined {
  const short = at + 1 < end ? shortEscapes[bytes[at + 1] as number] : undefined
  if (short !== undefined) return { text: short, length: 2 }
  const unit = hexUnit(bytes, at, end)
  if (unit === undefined) return undefined
  if (unit < 0xd800 || unit > 0xdfff) return { text: String.fromCharCode(unit), length: 6 }
  const low = unit < 0xdc00 ? hexUnit(bytes, at + 6, end) : undefined
  if (low === undefined || low < 0xdc00 || low > 0xdfff) return { text: '\ufffd', length: 6 }
  return { text: String.fromCharCode(unit, low), length: 12 }
}

/** The number in an escape `\uXXXX` at `at`. */
function hexUnit(bytes: Uint8Array, at: number, end: number): number | undefined {
  if (at + 6 > end || bytes[at] !== backslash || bytes[at + 1] !== 0x75) return undefined
  const digits = textFromBytes(bytes, at + 2, at + 6)
  return /^[0-9a-fA-F]{4}$/.test(digits) ? Number.parseInt(digits, 16) : undefined
}

/** Appends a JSON string as Go's encoder writes it, quotes included. */
export function appendJsonString(out: ByteWriter, text: string): void {
  const { length } = text
  out.reserve(out.length + length * 6 + 2)
  const { bytes } = out
  let at = out.length
  bytes[at++] = 0x22
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    const kind = code < 0x80 ? (characterKinds[code] as number) : other
    if (kind === plain) {
      bytes[at++] = code
    } else if (kind === other) {
      appendText(out, goJsonString(text))
      return
    } else {
      // `<`, `>` and `&`: a cell without a value says `<none>`.
      at = writeEscape(bytes, at, code)
    }
  }
  bytes[at++] = 0x22
  out.length = at
}

const plain = 0
const forHtml = 1
const other = 2

/** The classes of characters in a JSON string. */
const characterKinds: Uint8Array = Uint8Array.from({ length: 0x80 }, (_, code) => {
  if (code < 0x20 || code === 0x22 || code === 0x5c) return other
  return code === 0x3c || code === 0x3e || code === 0x26 ? forHtml : plain
})

/** `\u00xx` */
function writeEscape(bytes: Uint8Array, position: number, code: number): number {
  let at = position
  bytes[at++] = 0x5c
  bytes[at++] = 0x75
  bytes[at++] = 0x30
  bytes[at++] = 0x30
  bytes[at++] = hexDigit(code >> 4)
  bytes[at++] = hexDigit(code & 15)
  return at
}

function hexDigit(value: number): number {
  return value < 10 ? 0x30 + value : 0x57 + value
}
