/** Times: {1 int64 seconds, 2 int32 nanos} since 1970 in protobuf, RFC 3339 in UTC in JSON. An
 *  empty message, and the first second of year 1, are Go's zero time, which is `null`. */

import { readLow, readSafe, skipVarint } from './numbers.ts'
import { giveUp } from '@watchglass/base'
import type { DecodeState } from './state.ts'
import { dateFromDays, zeroSeconds } from '@watchglass/go'

/** The first second of year 10000, which RFC 3339 cannot write. */
const endSeconds = 253_402_300_800
const firstYearSeconds = -62_167_219_200

/** Writes a `Time`: whole seconds, whatever the nanoseconds. */
export function writeTime(out: DecodeState, start: number, end: number, position: number): number {
  const seconds = readSeconds(out, start, end)
  if (seconds === zeroSeconds) return writeNull(out, position)
  const to = writeSeconds(out, seconds, position)
  out.bytes[to] = 0x5a
  out.bytes[to + 1] = 0x22
  return to + 2
}

/** Writes a `MicroTime`: always six digits. */
export function writeMicroTime(
  out: DecodeState,
  start: number,
  end: number,
  position: number,
): number {
  const seconds = readSeconds(out, start, end)
  const micros = Math.trunc(readNanos / 1000)
  if (seconds === zeroSeconds && micros === 0) return writeNull(out, position)
  const carried = Math.floor(micros / 1_000_000)
  const to = writeSeconds(out, seconds + carried, position)
  const { bytes } = out
  bytes[to] = 0x2e
  let rest = micros - carried * 1_000_000
  for (let at = to + 6; at > to; at--) {
    bytes[at] = 0x30 + (rest % 10)
    rest = Math.floor(rest / 10)
  }
  bytes[to + 7] = 0x5a
  bytes[to + 8] = 0x22
  return to + 9
}

/** True if the message is a `Time` that Go calls zero. */
export function isZeroTime(out: DecodeState, start: number, end: number): boolean {
  return readSeconds(out, start, end) === zeroSeconds
}

/** The nanoseconds that `readSeconds` found. */
let readNanos = 0

/** The seconds of a time message. What decoders would merge or drop is not a time that anybody
 *  writes. */
function readSeconds(out: DecodeState, start: number, end: number): number {
  readNanos = 0
  if (start === end) return zeroSeconds
  const { input } = out
  let seconds = 0
  let at = start
  while (at < end) {
    const tag = input[at++] as number
    const value = at
    if (tag !== 0x08 && tag !== 0x10) giveUp('a time has a field that we do not know')
    at = skipVarint(out, at, end)
    if (tag === 0x08) seconds = readSafe(out, value)
    else readNanos = readLow(out, value)
  }
  return seconds
}

function writeNull(out: DecodeState, position: number): number {
  out.view.setInt32(position, 0x6c6c756e, true)
  return position + 4
}

/** Writes `"2006-01-02T15:04:05`. */
function writeSeconds(out: DecodeState, seconds: number, position: number): number {
  const isInRange = seconds >= firstYearSeconds && seconds < endSeconds
  if (!isInRange) giveUp('a time is not in the years 0 to 9999')
  const days = Math.floor(seconds / 86_400)
  const time = seconds - days * 86_400
  if (days !== lastDays) setDate(days)
  const { bytes } = out
  for (let i = 0; i < 12; i++) bytes[position + i] = lastDate[i] as number
  const hours = Math.floor(time / 3600)
  const minutes = Math.floor((time - hours * 3600) / 60)
  writeTwo(bytes, position + 12, hours)
  bytes[position + 14] = 0x3a
  writeTwo(bytes, position + 15, minutes)
  bytes[position + 17] = 0x3a
  writeTwo(bytes, position + 18, time - hours * 3600 - minutes * 60)
  return position + 20
}

/** The last date that was written, with a quote and a `T` around it: the times in an object are
 *  mostly of one day. */
const lastDate: Uint8Array = Uint8Array.from(Buffer.from('"1970-01-01T'))
let lastDays = 0

function setDate(days: number): void {
  const [year, month, day] = dateFromDays(days)
  writeTwo(lastDate, 1, Math.floor(year / 100))
  writeTwo(lastDate, 3, year % 100)
  writeTwo(lastDate, 6, month)
  writeTwo(lastDate, 9, day)
  lastDays = days
}

function writeTwo(bytes: Uint8Array, position: number, value: number): void {
  const tens = Math.floor(value / 10)
  bytes[position] = 0x30 + tens
  bytes[position + 1] = 0x30 + value - tens * 10
}
