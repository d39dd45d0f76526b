/** Writes JSON values as protobuf: scalars, and the messages with a JSON form of their own
 *  (FORMAT.md, section 2). Writers of length-delimited values write the bytes without the
 *  length. */

import {
  canonicalQuantity,
  hasMicros,
  jsonArray,
  jsonFalse,
  jsonNull,
  jsonNumber,
  jsonPlainText,
  jsonText,
  jsonTrue,
  momentFromText,
  zeroSeconds,
} from '@watchglass/go'
import type { EncodeState } from './state.ts'
import { giveUp } from '@watchglass/base'

/** Writes the value of a node; node -1 stands for a value that is not there. */
export type EncodeValue = (state: EncodeState, node: number) => void

/** True if the member is there and not `null`. */
export function isPresent(state: EncodeState, node: number): boolean {
  return node !== -1 && state.tape.kind(node) !== jsonNull
}

/** Scalars that are no length-delimited values. Absent is zero. */
export const scalarEncoders: Readonly<Record<string, EncodeValue>> = {
  bool: (state, node) => {
    const kind = isPresent(state, node) ? state.tape.kind(node) : jsonFalse
    if (kind !== jsonTrue && kind !== jsonFalse) giveUp('a member is not true or false')
    state.appendByte(kind === jsonTrue ? 1 : 0)
  },
  int32: (state, node) => {
    if (isPresent(state, node)) writeInt32(state, node)
    else state.appendByte(0)
  },
  int64: (state, node) => {
    if (!isPresent(state, node)) state.appendByte(0)
    else if (!writeSmall(state, node)) writeWhole(state, wholeOf(state, node))
  },
  float64: (state, node) => {
    let value = 0
    if (isPresent(state, node)) {
      if (state.tape.kind(node) !== jsonNumber) giveUp('a member is not a number')
      value = Number(state.asciiOf(node))
      if (!Number.isFinite(value)) giveUp('a number is too large')
    }
    state.reserve(state.length + 8)
    state.view.setFloat64(state.length, value, true)
    state.length += 8
  },
}

/** Length-delimited values that are no messages of the schema. */
export const windowEncoders: Readonly<Record<string, EncodeValue>> = {
  string: (state, node) => {
    if (isPresent(state, node)) state.writeTextBytes(node)
  },
  bytes: (state, node) => {
    if (isPresent(state, node)) writeBase64Bytes(state, node)
  },
  quantity: writeQuantity,
  time: writeTime,
  microtime: writeMicroTime,
  intorstring: writeIntOrString,
  fieldsv1: writeRaw,
  rawextension: writeRaw,
  json: writeRaw,
}

/** Writes a whole number of a few digits, as nearly all are; false if it is another. */
function writeSmall(state: EncodeState, node: number): boolean {
  const { tape } = state
  const end = tape.end(node)
  let at = tape.start(node)
  if (tape.kind(node) !== jsonNumber || end - at > 9) return false
  let value = 0
  for (; at < end; at++) {
    const digit = (tape.input[at] as number) - 0x30
    if (!(digit >= 0 && digit <= 9)) return false
    value = value * 10 + digit
  }
  state.writeVarint(value)
  return true
}

function writeInt32(state: EncodeState, node: number): void {
  if (writeSmall(state, node)) return
  const value = wholeOf(state, node)
  if (value > 0x7fff_ffffn || value < -0x8000_0000n) giveUp('a number is not one of 32 bits')
  writeWhole(state, value)
}

function writeWhole(state: EncodeState, value: bigint): void {
  if (value >= 0n && value < 0x1_0000_0000n) state.writeVarint(Number(value))
  else state.writeSigned(value)
}

function wholeOf(state: EncodeState, node: number): bigint {
  const text = state.tape.kind(node) === jsonNumber ? state.asciiOf(node) : ''
  if (!/^-?\d+$/.test(text)) giveUp('a member is not a whole number')
  const value = BigInt(text)
  if (BigInt.asIntN(64, value) !== value) giveUp('a number is not one of 64 bits')
  return value
}

function writeQuantity(state: EncodeState, node: number): void {
  let canonical: string | undefined = '0'
  if (isPresent(state, node)) {
    canonical = canonicalQuantity(state.asciiOf(node).trim())
    if (canonical === undefined) giveUp('a quantity is not one that we can read')
  }
  state.appendByte(0x0a)
  state.writeVarint(canonical.length)
  state.appendAscii(canonical)
}

/** A zero time is an empty message. */
function writeTime(state: EncodeState, node: number): void {
  writeSecondsAndNanos(state, node, 0)
}

function writeMicroTime(state: EncodeState, node: number): void {
  writeSecondsAndNanos(state, node, 6)
}

function writeSecondsAndNanos(state: EncodeState, node: number, digits: number): void {
  if (!isPresent(state, node)) return
  if (state.tape.kind(node) === jsonNumber) giveUp('a time is not a text')
  const text = state.asciiOf(node)
  const time = momentFromText(text)
  if (time === undefined) giveUp('a time is not one of RFC 3339')
  if (digits > 0 && !hasMicros(text)) giveUp('a time does not have six digits of a second')
  const nanos = digits === 0 ? 0 : time.micros * 1000
  if (time.seconds === zeroSeconds && nanos === 0) return
  state.appendByte(0x08)
  if (time.seconds >= 0) state.writeVarint(time.seconds)
  else state.writeSigned(BigInt(time.seconds))
  state.appendByte(0x10)
  state.writeVarint(nanos)
}

function writeIntOrString(state: EncodeState, node: number): void {
  const kind = isPresent(state, node) ? state.tape.kind(node) : jsonNull
  const isText = kind === jsonPlainText || kind === jsonText
  if (!isText && kind !== jsonNumber && kind !== jsonNull) {
    giveUp('a member is neither a number nor a text')
  }
  state.appendByte(0x08)
  state.appendByte(isText ? 1 : 0)
  state.appendByte(0x10)
  if (kind === jsonNumber) writeInt32(state, node)
  else state.appendByte(0)
  state.appendByte(0x1a)
  if (isText) state.writeText(node)
  else state.appendByte(0)
}

/** The source text of the value, as it stands. */
function writeRaw(state: EncodeState, node: number): void {
  if (!isPresent(state, node)) return
  const { tape } = state
  const kind = tape.kind(node)
  const quotes = kind === jsonPlainText || kind === jsonText ? 1 : 0
  const start = tape.start(node) - quotes
  const end = tape.end(node) + quotes
  state.appendByte(0x0a)
  state.writeVarint(end - start)
  state.append(tape.input, start, end)
}

/** Writes the text first and then decodes it where it stands, as base64 is longer than what it
 *  says. */
function writeBase64Bytes(state: EncodeState, node: number): void {
  const start = state.length
  state.writeTextBytes(node)
  const { bytes } = state
  const end = state.length
  if ((end - start) % 4 !== 0) notBase64()
  let to = start
  for (let at = start; at < end; at += 4) {
    const isLast = at + 4 === end
    const padding = isLast && bytes[at + 3] === 0x3d ? (bytes[at + 2] === 0x3d ? 2 : 1) : 0
    const group =
      (digitOf(bytes[at]!) << 18) |
      (digitOf(bytes[at + 1]!) << 12) |
      (padding === 2 ? 0 : digitOf(bytes[at + 2]!) << 6) |
      (padding > 0 ? 0 : digitOf(bytes[at + 3]!))
    bytes[to++] = group >> 16
    if (padding < 2) bytes[to++] = (group >> 8) & 0xff
    if (padding < 1) bytes[to++] = group & 0xff
  }
  state.length = to
}

function digitOf(byte: number): number {
  const value = base64Values[byte] as number
  return value === 0xff ? notBase64() : value
}

function notBase64(): never {
  return giveUp('a member is not base64')
}

const base64Values: Uint8Array = new Uint8Array(256).fill(0xff)
for (const [i, digit] of Array.from(
  'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/',
).entries()) {
  base64Values[digit.charCodeAt(0)] = i
}

/** Gives up unless the node is of the kind, an array or an object, that its field needs. */
export function expectKind(state: EncodeState, node: number, kind: number): void {
  if (state.tape.kind(node) !== kind) {
    giveUp(kind === jsonArray ? 'a member is not an array' : 'a member is not an object')
  }
}
