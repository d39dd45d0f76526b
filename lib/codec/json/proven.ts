/** Proves that JSON text is exactly what Go writes: the part of a stored object that no schema describes. The hot loop of the
 *  skimmer: no recursion, no objects, state in locals. */

import { canonicalNumber } from './number.ts'
import { type JsonInput, canonicalStringEnd, compareStrings, skipPlain } from './strings.ts'
import { textFromBytes } from '../text.ts'

/** Deeper text is not proven. */
export const maxDepth = 200

/** Longer numbers are legal, and never what Go writes. */
const maxNumberBytes = 32

const quote = 0x22
const comma = 0x2c
const minus = 0x2d
const colon = 0x3a
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d

/** What stands for "the last key" in a list. */
const inList = -1
/** And before the first key of an object. */
const noKey = -2

/** By depth, the last key's position in the containers around. */
const around = new Int32Array(maxDepth)

/** Where the value at `start` ends, if it is what Go writes, at or before `end`; otherwise -1. Keys must rise if `isSorted`. */
export function provenEnd(input: JsonInput, start: number, end: number, isSorted: boolean): number {
  const { bytes, view } = input
  let at = start
  let depth = 0
  let lastKey = inList
  for (;;) {
    if (at + 1 >= end) return -1
    let byte = bytes[at] as number
    let isKeyNext = false
    if (byte === quote) {
      const plain = skipPlain(view, at + 1, end)
      const isEnd = plain < end && bytes[plain] === quote
      at = isEnd ? plain + 1 : canonicalStringEnd(input, plain, end)
    } else if (byte !== openBrace && byte !== openBracket) {
      at = scalarEnd(bytes, at, end)
    } else if (bytes[at + 1] === byte + 2) {
      at += 2
    } else {
      if (depth === maxDepth) return -1
      around[depth++] = lastKey
      at++
      lastKey = byte === openBrace ? noKey : inList
      if (byte === openBracket) continue
      isKeyNext = true
    }
    if (at < 0) return -1
    while (!isKeyNext) {
      if (depth === 0) return at
      if (at >= end) return -1
      byte = bytes[at++] as number
      if (byte === comma) break
      if (byte !== (lastKey === inList ? closeBracket : closeBrace)) return -1
      lastKey = around[--depth] as number
    }
    if (lastKey !== inList) {
      if (at >= end || bytes[at] !== quote) return -1
      const key = at + 1
      const plain = skipPlain(view, key, end)
      const isEnd = plain < end && bytes[plain] === quote
      at = isEnd ? plain + 1 : canonicalStringEnd(input, plain, end)
      if (at < 0 || at >= end || bytes[at++] !== colon) return -1
      if (isSorted && lastKey !== noKey && compareStrings(bytes, lastKey, key) >= 0) return -1
      lastKey = key
    }
  }
}

/** Where the number, true, false or null at `at` ends, or -1. Short integers are the rule, and cost no text. */
export function scalarEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start
  const first = bytes[at] as number
  if (first === minus) at++
  const digits = at
  while (at < end && isDigit(bytes[at] as number)) at++
  if (at === digits) return first === minus ? -1 : literalEnd(bytes, start, end)
  if (at - digits <= 15 && !(at < end && isNumberByte(bytes[at] as number))) {
    return bytes[digits] === 0x30 && (at - digits > 1 || first === minus) ? -1 : at
  }
  while (at < end && isNumberByte(bytes[at] as number)) at++
  if (at - start > maxNumberBytes) return -1
  const text = textFromBytes(bytes, start, at)
  return canonicalNumber(text) === text ? at : -1
}

/** Where true, false or null ends, or -1. */
function literalEnd(bytes: Uint8Array, at: number, end: number): number {
  const literal = literals[bytes[at] as number]
  if (literal === undefined || at + literal.length > end) return -1
  for (let i = 1; i < literal.length; i++) {
    if (bytes[at + i] !== literal.charCodeAt(i)) return -1
  }
  return at + literal.length
}

const literals: Readonly<Record<number, string>> = { 0x6e: 'null', 0x74: 'true', 0x66: 'false' }

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39
}

/** Further digits, and bytes of fractions and exponents. */
function isNumberByte(byte: number): boolean {
  return isDigit(byte) || byte === 0x2e || (byte | 0x20) === 0x65 || byte === 0x2b || byte === minus
}
