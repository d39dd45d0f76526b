/** Proves that JSON text is exactly what Go writes and that its schema changes nothing in it: the part of a stored object that a
 *  `VerifyNode` describes. The same loop as proven.ts, which it leaves everything to that no node describes, with the node of
 *  each container beside its last key. */

import { maxDepth, provenEnd, scalarEnd } from './proven.ts'
import { VerifyNode } from './verify-node.ts'
import { type JsonInput, canonicalStringEnd, compareStrings } from './strings.ts'
import { isCanonicalTime } from '../../go/time.ts'

// Its own: see proven.ts.
const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBrace = 0x7b
const closeBrace = 0x7d
const openBracket = 0x5b
const closeBracket = 0x5d

/** What stands for "the last key" in a list, and before the first key of an object. */
const inList = -1
const noKey = -2

/** The items of a list that the schema does not describe: the server empties the objects among them. */
const emptied = new VerifyNode({ isNullable: true })

/** By depth, the state of the containers around. */
const keysAround = new Int32Array(maxDepth)
const nodesAround: VerifyNode[] = []
const missingAround = new Int32Array(maxDepth)
const freeAround = new Uint8Array(maxDepth)

// One loop over locals: to share them with other functions would cost a third of the speed.
// oxlint-disable max-lines-per-function
/** Where the value at `start` ends, if the server leaves it as it is, at or before `end`; otherwise -1. */
export function describedEnd(
  input: JsonInput,
  start: number,
  end: number,
  root: VerifyNode,
): number {
  const { bytes } = input
  let at = start
  let depth = 0
  let lastKey = inList
  let isKey = false
  /** Of the container; of the value that comes next. */
  let node = root
  let child: VerifyNode | undefined = root
  /** Expected members that have not been seen; whether what the container does not describe may stay. */
  let missing = 0
  let isFree = false
  for (;;) {
    if (at + 1 >= end) return -1
    let byte = bytes[at] as number
    if (byte === quote && (isKey || child !== undefined)) {
      const from = at + 1
      at = canonicalStringEnd(input, from, end)
      if (isKey) {
        if (at < 0 || at >= end || bytes[at++] !== colon) return -1
        if (lastKey !== noKey && compareStrings(bytes, lastKey, from) >= 0) return -1
        lastKey = from
        isKey = false
        child = node.table?.find(input, from, at - 2) ?? node.additional
        if (child === undefined && !isFree) return -1
        if (child?.isExpected === true) missing--
        continue
      }
      if (child?.isStrict === true && !isTextOf(child, bytes, from, at - 1)) return -1
    } else if (isKey) {
      return -1
    } else if (child === undefined || (child.isAnything && byte !== 0x6e)) {
      at = provenEnd(input, at, end, true)
    } else if (byte !== openBrace && byte !== openBracket) {
      if (byte === 0x6e && !child.isNullable && (lastKey !== inList || child.hasDefault)) return -1
      const from = at
      at = scalarEnd(input, from, end)
      if (child.isStrict && !isScalarOf(child, bytes, from, at)) return -1
    } else if (child.isStrict && !mayOpen(child, byte, bytes[at + 1] as number)) {
      return -1
    } else if (bytes[at + 1] === byte + 2) {
      if (byte === openBrace && child.expectedCount > 0) return -1
      at += 2
    } else {
      if (depth === maxDepth) return -1
      keysAround[depth] = lastKey
      nodesAround[depth] = node
      missingAround[depth] = missing
      freeAround[depth++] = isFree ? 1 : 0
      isFree = (isFree && lastKey === inList) || child.isPreserving
      node = child
      isKey = byte === openBrace
      missing = isKey ? child.expectedCount : 0
      lastKey = isKey ? noKey : inList
      if (!isKey) child = itemsOf(node, isFree)
      at++
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
      node = nodesAround[depth] as VerifyNode
      missing = missingAround[depth] as number
      isFree = freeAround[depth] === 1
    }
    isKey = lastKey !== inList
    if (!isKey) child = itemsOf(node, isFree)
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
