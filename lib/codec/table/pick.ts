/** Reads what a Table needs from a stored protobuf message, and steps over the rest: plain objects come out, of the form that a
 *  pattern says (pattern.ts). That costs a fraction of a full decode. */

import { NotExact } from '../not-exact.ts'
import { textFromBytes } from '../text.ts'
import type { PickedObject, Shape, Slot } from './pattern.ts'
import { isZero } from './pick-json.ts'

/** The fields of the message in `bytes[start..end)`. */
export function pickFromProtobuf(
  shape: Shape,
  bytes: Uint8Array,
  start: number,
  end: number,
): PickedObject | NotExact {
  isMalformed = false
  const picked = pickMessage(shape, bytes, start, end)
  return isMalformed ? malformed : picked
}

const malformed = new NotExact('object is malformed')
/** Set by any reader below, as none of them is called from outside: the loops then run out. */
let isMalformed = false
/** Where the varint ended that `readVarint` read. */
let next = 0

function pickMessage(shape: Shape, bytes: Uint8Array, start: number, end: number): PickedObject {
  const { slots } = shape
  const picked: Record<string, unknown> = { ...shape.zero }
  let at = start
  while (at < end) {
    const tag = readVarint(bytes, at, end)
    at = next
    const number = tag >>> 3
    const slot = number < slots.length ? slots[number] : undefined
    switch (tag & 7) {
      case 0:
        if (slot === undefined) {
          while (at < end && (bytes[at] as number) >= 0x80) at++
          at++
        } else {
          at = pickVarint(picked, slot, { bytes, at, end })
        }
        break
      case 2: {
        const length = readVarint(bytes, at, end)
        at = next
        if (length > end - at) isMalformed = true
        if (isMalformed) return picked
        if (slot !== undefined) pickWindow(picked, slot, { bytes, at, end: at + length })
        at += length
        break
      }
      case 1:
        at += 8
        break
      case 5:
        at += 4
        break
      default:
        isMalformed = true
    }
    if (isMalformed) return picked
  }
  if (at !== end) isMalformed = true
  return picked
}

interface Window {
  readonly bytes: Uint8Array
  readonly at: number
  readonly end: number
}

/** An unsigned varint up to 2^53, whose end is in `next`. */
function readVarint(bytes: Uint8Array, start: number, end: number): number {
  let value = 0
  let scale = 1
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number
    value += (byte & 0x7f) * scale
    if (byte < 0x80) {
      next = at + 1
      return value
    }
    scale *= 0x80
  }
  isMalformed = true
  next = end
  return 0
}

/** A varint as int64, whose end is in `next`. */
function readLong(bytes: Uint8Array, start: number, end: number): bigint {
  let value = 0n
  let shift = 0n
  for (let at = start; at < end && shift < 70n; at++) {
    const byte = bytes[at] as number
    value |= BigInt(byte & 0x7f) << shift
    shift += 7n
    if (byte < 0x80) {
      next = at + 1
      return BigInt.asIntN(64, value)
    }
  }
  isMalformed = true
  next = end
  return 0n
}

function pickVarint(picked: Record<string, unknown>, slot: Slot, window: Window): number {
  const { bytes, at, end } = window
  if (slot.mark === 'flag') {
    picked[slot.name] = readVarint(bytes, at, end) !== 0
  } else if (slot.mark === 'integer') {
    // Negative numbers take ten bytes, beyond what a double holds.
    const isShort = at + 4 >= end || (bytes[at + 4] as number) < 0x80
    const value = isShort ? readVarint(bytes, at, end) : Number(readLong(bytes, at, end))
    picked[slot.name] = value | 0
  } else if (slot.mark === 'long') {
    picked[slot.name] = readLong(bytes, at, end)
  } else {
    readVarint(bytes, at, end)
    picked[slot.name] = true
  }
  if (slot.fallback !== undefined && isZero(picked[slot.name]) && !slot.isPointer) {
    picked[slot.name] = slot.fallback
  }
  return next
}

function pickWindow(picked: Record<string, unknown>, slot: Slot, window: Window): void {
  const { bytes, at, end } = window
  const { name } = slot
  switch (slot.mark) {
    case 'text': {
      const text = slot.type === 'quantity' ? quantityText(window) : textFromBytes(bytes, at, end)
      picked[name] =
        text === '' && !slot.isPointer && slot.fallback !== undefined ? slot.fallback : text
      break
    }
    case 'message':
      picked[name] = pickMessage(slot.shape as Shape, bytes, at, end)
      break
    case 'messages':
      append(picked, slot, pickMessage(slot.shape as Shape, bytes, at, end))
      break
    case 'time':
      picked[name] = timeOf(window)
      break
    case 'choice':
      picked[name] = choiceOf(window)
      break
    case 'texts':
      append(picked, slot, textFromBytes(bytes, at, end))
      break
    case 'pairs':
      insertPair(picked, slot, window)
      break
    case 'count':
      picked[name] = (picked[name] as number) + 1
      break
    case 'size':
      picked[name] = end - at
      break
    case 'isSet':
      picked[name] = true
      break
    case 'integer':
    case 'long':
    case 'flag':
      isMalformed = true
  }
}

/** Adds to a list. The list that stands there first is the shared one of an empty message. */
function append(picked: Record<string, unknown>, slot: Slot, value: unknown): void {
  const list = picked[slot.name] as unknown[]
  if (list.length === 0 || list === slot.fallback) picked[slot.name] = [value]
  else list.push(value)
}

/** `{1 string}` */
function quantityText({ bytes, at, end }: Window): string {
  if (at === end) return ''
  const tag = readVarint(bytes, at, end)
  const length = readVarint(bytes, next, end)
  if (tag !== 0x0a || length > end - next) {
    isMalformed = true
    return ''
  }
  return textFromBytes(bytes, next, next + length)
}

/** `{1 seconds, 2 nanoseconds}` as milliseconds; nothing is the zero time. */
function timeOf({ bytes, at, end }: Window): number | null {
  if (at === end) return null
  let milliseconds = 0
  for (let position = at; position < end && !isMalformed; position = next) {
    const tag = readVarint(bytes, position, end)
    const value = Number(readLong(bytes, next, end))
    if (tag === 0x08) milliseconds += value * 1000
    else if (tag === 0x10) milliseconds += value / 1e6
    else isMalformed = true
  }
  return milliseconds
}

/** `{1 type, 2 integer, 3 text}` as text. */
function choiceOf({ bytes, at, end }: Window): string {
  let isText = false
  let integer = 0n
  let text = ''
  for (let position = at; position < end && !isMalformed; position = next) {
    const tag = readVarint(bytes, position, end)
    if (tag === 0x08) {
      isText = readLong(bytes, next, end) !== 0n
    } else if (tag === 0x10) {
      integer = readLong(bytes, next, end)
    } else if (tag === 0x1a) {
      const length = readVarint(bytes, next, end)
      if (length > end - next) isMalformed = true
      else text = textFromBytes(bytes, next, next + length)
      next += length
    } else {
      isMalformed = true
    }
  }
  return isText ? text : BigInt.asIntN(32, integer).toString()
}

/** `{1 name, 2 value}`, kept in order; the last of equal names wins. */
function insertPair(picked: Record<string, unknown>, slot: Slot, { bytes, at, end }: Window): void {
  let name = ''
  let value = ''
  for (let position = at; position < end && !isMalformed; position = next) {
    const tag = readVarint(bytes, position, end)
    const length = readVarint(bytes, next, end)
    const start = next
    if (length > end - start) isMalformed = true
    else if (tag === 0x0a) name = textFromBytes(bytes, start, start + length)
    else if (tag === 0x12 && slot.type === 'quantity') {
      value = quantityText({ bytes, at: start, end: start + length })
    } else if (tag === 0x12) value = textFromBytes(bytes, start, start + length)
    else isMalformed = true
    next = start + length
  }
  const pairs = (picked[slot.name] as readonly (readonly [string, string])[]).filter(
    ([other]) => other !== name,
  )
  const place = pairs.findIndex(([other]) => other > name)
  picked[slot.name] = pairs.toSpliced(place < 0 ? pairs.length : place, 0, [name, value])
}
