/** Proves that JSON text is exactly what Go writes, and that the schema that describes it changes
 *  nothing in it. The hot loop of the verifier: no recursion, no objects, state in locals. What no
 *  node describes is proven for its form only. */

import {
  canonicalNumber,
  canonicalStringEnd,
  compareStrings,
  isCanonicalTime,
  type JsonInput,
} from '@watchglass/go'
import { textFromBytes } from '@watchglass/base'
import { VerifyNode } from './verify-node.ts'

/** Deeper text is not proven. */
const maxDepth = 200

/** Longer numbers are legal, and never what Go writes. */
const maxNumberBytes = 32

// Every file that walks JSON has the characters as constants of its own: what is imported is loaded
// at each use, which makes a walk over members and the reading of fields a fifth slower (measured
// November 2026, Node 20).
const quote = 0x22
const comma = 0x2c
const minus = 0x2d
const colon = 0x3a
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d

/** The mark for "the last key" in a list. */
const inList = -1
/** And before the first key of an object. */
const noKey = -2

/** The items of a list that the schema does not describe: the server empties the objects among
 *  them. */
const emptied = new VerifyNode({ isNullable: true })

/** By depth, the state of the containers around. Of one that no node describes there is nothing but
 *  its last key. */
const keysAround = new Int32Array(maxDepth)
const nodesAround: VerifyNode[] = []
const missingAround = new Int32Array(maxDepth)
const freeAround = new Uint8Array(maxDepth)

/** The order of members: `sorted` as maps are written, `declared` as Go structs are. */
export type MemberOrder = 'sorted' | 'declared'

// One loop over locals: to share them with other functions would cost a third of the speed.
// oxlint-disable max-lines-per-function
/** The end of the value at `start`, if it is what Go writes and the server leaves it as it is, at
 *  or before `end`; otherwise -1. A value that no node describes is left alone, whatever is in
 *  it. */
export function provenEnd(
  input: JsonInput,
  start: number,
  end: number,
  root: VerifyNode | MemberOrder,
): number {
  const { bytes } = input
  const isSorted = root !== 'declared'
  let at = start
  let depth = 0
  let lastKey = inList
  let isKey = false
  /** The nodes of the container, and of the value that comes next. */
  let node: VerifyNode | undefined
  let child = typeof root === 'string' ? undefined : root
  /** Containers in this one are described by no node. */
  let describedDepth = -1
  /** Expected members that have not been seen; whether what the container does not describe may
   *  stay. */
  let missing = 0
  let isFree = false
  for (;;) {
    if (at + 1 >= end) return -1
    let byte = bytes[at] as number
    if (byte === quote) {
      const from = at + 1
      at = canonicalStringEnd(input, from, end)
      if (isKey) {
        if (at < 0 || at >= end || bytes[at++] !== colon) return -1
        if (isSorted && lastKey !== noKey && compareStrings(bytes, lastKey, from) >= 0) return -1
        lastKey = from
        isKey = false
        if (node === undefined) continue
        child = node.table?.find(input, from, at - 2) ?? node.additional
        if (child === undefined && !isFree) return -1
        if (child?.isExpected === true) missing--
        continue
      }
      if (child?.isStrict === true && !isTextOf(child, bytes, from, at - 1)) return -1
    } else if (isKey) {
      return -1
    } else if (byte !== openBrace && byte !== openBracket) {
      const from = at
      at = scalarEnd(input, from, end)
      if (child !== undefined) {
        const isNullAllowed = child.isNullable || (lastKey === inList && !child.hasDefault)
        if (byte === 0x6e && !isNullAllowed) return -1
        if (child.isStrict && !isScalarOf(child, bytes, from, at)) return -1
      }
    } else if (child?.isStrict === true && !mayOpen(child, byte, bytes[at + 1] as number)) {
      return -1
    } else if (bytes[at + 1] === byte + 2) {
      if (byte === openBrace && child !== undefined && child.expectedCount > 0) return -1
      at += 2
    } else {
      if (depth === maxDepth) return -1
      keysAround[depth] = lastKey
      if (node !== undefined) {
        nodesAround[depth] = node
        missingAround[depth] = missing
        freeAround[depth] = isFree ? 1 : 0
      }
      at++
      isKey = byte === openBrace
      if (child === undefined || child.isAnything) {
        if (node !== undefined) describedDepth = depth
        node = undefined
        child = undefined
        missing = 0
      } else {
        isFree = (isFree && lastKey === inList) || child.isPreserving
        node = child
        missing = isKey ? child.expectedCount : 0
        if (!isKey) child = itemsOf(node, isFree)
      }
      depth++
      lastKey = isKey ? noKey : inList
      continue
    }
    if (at < 0) return -1
    for (;;) {
      if (depth === 0) return at
      if (at >= end) return -1
      byte = bytes[at++] as number
      if (byte === comma) break
      if (byte !== (lastKey === inList ? closeBracket : closeBrace) || missing !== 0) return -1
      lastKey = keysAround[--depth] as number
      if (node !== undefined || depth === describedDepth) {
        node = nodesAround[depth] as VerifyNode
        missing = missingAround[depth] as number
        isFree = freeAround[depth] === 1
      }
    }
    isKey = lastKey !== inList
    if (!isKey && node !== undefined) child = itemsOf(node, isFree)
  }
}

// oxlint-enable max-lines-per-function

function itemsOf(node: VerifyNode, isFree: boolean): VerifyNode | undefined {
  return node.items ?? (isFree ? undefined : emptied)
}

/** True if the container may begin, which must not be an empty one. */
function mayOpen({ form, container }: VerifyNode, byte: number, next: number): boolean {
  if (form !== undefined) return false
  return container === (byte === openBrace ? 'object' : 'list') && next !== byte + 2
}

function isTextOf(
  { form, container }: VerifyNode,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  if (container !== undefined) return false
  if (form === 'time') return isCanonicalTime(bytes, start, end)
  return form === 'text' || (form === 'non-empty text' && end > start)
}

/** True if the number, true, false or null in the window has the form. */
function isScalarOf({ form }: VerifyNode, bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start] as number
  const isNumber = first <= 0x39
  if (form === 'boolean') return !isNumber
  if (!isNumber || (form !== 'integer' && form !== 'non-zero integer')) return false
  if (end - start > 15) return false
  for (let i = start + 1; i < end; i++) {
    if ((bytes[i] as number) < 0x30 || (bytes[i] as number) > 0x39) return false
  }
  return form === 'integer' || first !== 0x30
}

/** The end of the number, true, false or null at `at`, or -1. Short integers are the rule, and cost
 *  no text. */
export function scalarEnd({ bytes, view }: JsonInput, start: number, end: number): number {
  const first = bytes[start] as number
  if (first > 0x39) return literalEnd(view, start, end)
  let at = first === minus ? start + 1 : start
  const digits = at
  while (at < end && isDigit(bytes[at] as number)) at++
  if (at === digits) return -1
  if (at - digits <= 15 && !(at < end && isNumberByte(bytes[at] as number))) {
    return bytes[digits] === 0x30 && (at - digits > 1 || first === minus) ? -1 : at
  }
  while (at < end && isNumberByte(bytes[at] as number)) at++
  if (at - start > maxNumberBytes) return -1
  const text = textFromBytes(bytes, start, at)
  return canonicalNumber(text) === text ? at : -1
}

/** The end of true, false or null, or -1. */
function literalEnd(view: DataView, start: number, end: number): number {
  if (start + 4 > end) return -1
  const four = view.getInt32(start)
  if (four === 0x74727565 || four === 0x6e756c6c) return start + 4
  const isFalse = four === 0x66616c73 && start + 5 <= end && view.getUint8(start + 4) === 0x65
  return isFalse ? start + 5 : -1
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39
}

/** Further digits, and bytes of fractions and exponents. */
function isNumberByte(byte: number): boolean {
  return isDigit(byte) || byte === 0x2e || (byte | 0x20) === 0x65 || byte === 0x2b || byte === minus
}
