/** Writes JSON objects as protobuf maps: entries {1: key, 2: value}, sorted by the bytes of their
 *  keys, as Go writes them. JSON of the API server is sorted, so entries are written as they come,
 *  and put in order only when they were not. */

import { type EncodeValue, expectKind, isPresent } from './encode-values.ts'
import type { EncodeState } from './state.ts'
import { jsonObject } from '@watchglass/go'

/** The places of an entry, tag included, and of its key in the output. */
interface WrittenEntry {
  readonly start: number
  readonly keyStart: number
  readonly keyEnd: number
  readonly end: number
}

/** Writes the map with the tag at each entry. */
export function createMapEncoder(tag: number, encodeValue: EncodeValue): EncodeValue {
  return (state, node) => {
    if (!isPresent(state, node)) return
    expectKind(state, node, jsonObject)
    const { tape } = state
    const end = tape.next(node)
    const entries: WrittenEntry[] = []
    let isSorted = true
    for (let key = node + 1; key < end; key = tape.next(key + 1)) {
      const start = state.length
      state.writeVarint(tag)
      const size = tape.end(key + 1) - tape.start(key) + 4
      const begin = state.begin(size)
      state.appendByte(0x0a)
      state.writeText(key)
      state.appendByte(0x12)
      const valueGuess = tape.end(key + 1) - tape.start(key + 1)
      const value = state.begin(valueGuess)
      encodeValue(state, key + 1)
      state.finish(value, valueGuess)
      state.finish(begin, size)
      const entry = writtenEntry(state, start)
      const last = entries.at(-1)
      if (last !== undefined && compareKeys(state, last, entry) >= 0) isSorted = false
      entries.push(entry)
    }
    if (!isSorted) sortEntries(state, entries)
  }
}

/** The entry that ends the output. Its lengths may have been moved, so the key is found from the
 *  start. */
function writtenEntry(state: EncodeState, start: number): WrittenEntry {
  const { bytes } = state
  let at = start
  while ((bytes[at++] as number) > 0x7f);
  while ((bytes[at++] as number) > 0x7f);
  at++
  let length = 0
  for (let scale = 1; ; scale *= 0x80) {
    const byte = bytes[at++] as number
    length += (byte & 0x7f) * scale
    if (byte < 0x80) break
  }
  return { start, keyStart: at, keyEnd: at + length, end: state.length }
}

/** Writes the entries again in order; of those with the same key the last counts. */
function sortEntries(state: EncodeState, entries: WrittenEntry[]): void {
  const from = entries[0]?.start ?? state.length
  entries.sort((a, b) => compareKeys(state, a, b))
  const kept = entries.filter((entry, i) => {
    const next = entries[i + 1]
    return next === undefined || compareKeys(state, entry, next) !== 0
  })
  const pieces = kept.map(({ start, end }) => state.bytes.slice(start, end))
  state.length = from
  for (const piece of pieces) state.append(piece)
}

function compareKeys({ bytes }: EncodeState, a: WrittenEntry, b: WrittenEntry): number {
  return Buffer.compare(bytes.subarray(a.keyStart, a.keyEnd), bytes.subarray(b.keyStart, b.keyEnd))
}
