/** Maps with text keys: repeated entries {1: key, 2: value} in protobuf, members sorted by the
 *  bytes of their keys in JSON. A writer in Go has sorted them already, so they are written as they
 *  come, and sorted only once one is found out of place. */

import { writeText } from './json-text.ts'
import { readLength } from './numbers.ts'
import { giveUp } from '@watchglass/base'
import { type DecodeState, type WriteValue, slackBytes } from './state.ts'

/** A function that writes the map whose entries carry `tag`: from the first entry's tag to the last
 *  one's end. */
export function createMapWriter(tag: number, writeValue: WriteValue): WriteValue {
  return (out, start, end, position) => {
    const need = (end - start) * 6 + slackBytes
    if (position + need > out.bytes.length) out.reserve(position + need, position)
    const { input } = out
    let keyStart = -1
    let keyEnd = -1
    let to = position
    out.bytes[to++] = 0x7b
    for (let at = start; at < end;) {
      at = nextEntry(out, at, end, tag)
      if (at < 0) break
      const entryEnd = at + out.at
      readEntry(out, at, entryEnd)
      if (keyStart >= 0 && compare(input, keyStart, keyEnd, entry) >= 0) {
        return writeSorted(out, { start, end, tag, writeValue }, position)
      }
      keyStart = entry.keyStart
      keyEnd = entry.keyEnd
      to = writeMember(out, entry, writeValue, to)
      if (to + need > out.bytes.length) out.reserve(to + need, to)
      at = entryEnd
    }
    out.bytes[to - 1] = 0x7d
    return to
  }
}

/** The value of a map of texts. */
export function writeQuotedText(
  out: DecodeState,
  start: number,
  end: number,
  position: number,
): number {
  out.bytes[position] = 0x22
  const to = writeText(out, start, end, position + 1)
  out.bytes[to] = 0x22
  return to + 1
}

/** The position of the next field with this tag, which was seen before and so is well-formed; `end`
 *  if there is none. */
export function seekTag(out: DecodeState, start: number, end: number, tag: number): number {
  const { input } = out
  let at = start
  while (at < end) {
    const begin = at
    let next = input[at++] as number
    if (next > 0x7f) next = (next & 0x7f) | ((input[at++] as number) << 7)
    if (next === tag) return begin
    switch (next & 7) {
      case 0:
        while ((input[at++] as number) > 0x7f);
        break
      case 1:
        at += 8
        break
      default: {
        const length = readLength(out, at, end)
        at = out.at + length
      }
    }
  }
  return end
}

interface Entry {
  keyStart: number
  keyEnd: number
  valueStart: number
  valueEnd: number
}

interface MapWindow {
  readonly start: number
  readonly end: number
  readonly tag: number
  readonly writeValue: WriteValue
}

/** The entry that `readEntry` found. */
const entry: Entry = { keyStart: 0, keyEnd: 0, valueStart: 0, valueEnd: 0 }

/** The beginning of the next entry's message, its length in `out.at`; -1 when there is none. */
function nextEntry(out: DecodeState, start: number, end: number, tag: number): number {
  const { input } = out
  const low = tag > 0x7f ? (tag & 0x7f) | 0x80 : tag
  let at = start
  if (input[at] !== low || (tag > 0x7f && input[at + 1] !== tag >> 7)) {
    at = seekTag(out, at, end, tag)
    if (at === end) return -1
  }
  at += tag > 0x7f ? 2 : 1
  const length = readLength(out, at, end)
  const from = out.at
  out.at = length
  return from
}

function readEntry(out: DecodeState, start: number, end: number): void {
  const { input } = out
  entry.keyStart = entry.keyEnd = entry.valueStart = entry.valueEnd = start
  let at = start
  while (at < end) {
    const tag = input[at++]
    const length = readLength(out, at, end)
    const from = out.at
    at = from + length
    if (tag === 0x0a) {
      entry.keyStart = from
      entry.keyEnd = at
    } else if (tag === 0x12) {
      entry.valueStart = from
      entry.valueEnd = at
    } else {
      giveUp('a map entry has a field that we do not know')
    }
  }
}

/** `"key":value,` */
function writeMember(
  out: DecodeState,
  { keyStart, keyEnd, valueStart, valueEnd }: Entry,
  writeValue: WriteValue,
  position: number,
): number {
  let to = writeQuotedText(out, keyStart, keyEnd, position)
  out.bytes[to++] = 0x3a
  to = writeValue(out, valueStart, valueEnd, to)
  out.bytes[to] = 0x2c
  return to + 1
}

/** Writes a map sorted by its keys; of entries with the same key the last counts. */
function writeSorted(
  out: DecodeState,
  { start, end, tag, writeValue }: MapWindow,
  position: number,
): number {
  const { input } = out
  const entries: Entry[] = []
  for (let at = start; at < end;) {
    at = nextEntry(out, at, end, tag)
    if (at < 0) break
    const entryEnd = at + out.at
    readEntry(out, at, entryEnd)
    entries.push({ ...entry })
    at = entryEnd
  }
  // Sorting is stable, so the last of equal keys stays last.
  entries.sort((a, b) => compare(input, a.keyStart, a.keyEnd, b))
  const need = (end - start) * 6 + slackBytes
  let to = position
  out.bytes[to++] = 0x7b
  for (const [i, member] of entries.entries()) {
    const next = entries[i + 1]
    if (next !== undefined && compare(input, member.keyStart, member.keyEnd, next) === 0) continue
    to = writeMember(out, member, writeValue, to)
    if (to + need > out.bytes.length) out.reserve(to + need, to)
  }
  out.bytes[to - 1] = 0x7d
  return to
}

/** Orders a key before, like, or after another entry's: as bytes. */
function compare(
  input: Uint8Array,
  start: number,
  end: number,
  { keyStart, keyEnd }: Entry,
): number {
  const length = Math.min(end - start, keyEnd - keyStart)
  for (let i = 0; i < length; i++) {
    const difference = (input[start + i] as number) - (input[keyStart + i] as number)
    if (difference !== 0) return difference
  }
  return end - start - (keyEnd - keyStart)
}
