/** Writes JSON objects as protobuf maps: entries {1: key, 2: value}, sorted by the bytes of their keys, as Go writes them. JSON
 *  of the API server is sorted, so entries are written as they come, and put in order only when they were not. */

import { type EncodeValue, expectKind, isPresent } from './encode-values.ts'
import type { Encoding } from './encoding.ts'
import { jsonObject } from './json-tape.ts'

/** Where an entry, tag included, and its key lie in the output. */
interface WrittenEntry {
  readonly start: number
  readonly keyStart: number
  readonly keyEnd: number
  readonly end: number
}

/** Writes the map with the tag at each entry. */
export function createMapEncoder(tag: number, encodeValue: EncodeValue): EncodeValue {
  return (encoding, node) => {
    if (!isPresent(encoding, node)) return
    expectKind(encoding, node, jsonObject)
    const { tape } = encoding
    const end = tape.next(node)
    const entries: WrittenEntry[] = []
    let isSorted = true
    for (let key = node + 1; key < end; key = tape.next(key + 1)) {
      const start = encoding.length
      encoding.writeVarint(tag)
      const size = tape.end(key + 1) - tape.start(key) + 4
      const begin = encoding.begin(size)
      encoding.appendByte(0x0a)
      encoding.writeText(key)
      encoding.appendByte(0x12)
      const valueGuess = tape.end(key + 1) - tape.start(key + 1)
      const value = encoding.begin(valueGuess)
      encodeValue(encoding, key + 1)
      encoding.finish(value, valueGuess)
      encoding.finish(begin, size)
      const entry = writtenEntry(encoding, start)
      const last = entries.at(-1)
      if (last !== undefined && compareKeys(encoding, last, entry) >= 0) isSorted = false
      entries.push(entry)
    }
    if (!isSorted) sortEntries(encoding, entries)
  }
}

/** The entry that ends the output. Its lengths may have been moved, so the key is found from the start. */
function writtenEntry(encoding: Encoding, start: number): WrittenEntry {
  const { bytes } = encoding
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
  return { start, keyStart: at, keyEnd: at + length, end: encoding.length }
}

/** Writes the entries again in order; of those with the same key the last counts. */
function sortEntries(encoding: Encoding, entries: WrittenEntry[]): void {
  const from = entries[0]?.start ?? encoding.length
  entries.sort((a, b) => compareKeys(encoding, a, b))
  const kept = entries.filter((entry, i) => {
    const next = entries[i + 1]
    return next === undefined || compareKeys(encoding, entry, next) !== 0
  })
  const pieces = kept.map(({ start, end }) => encoding.bytes.slice(start, end))
  encoding.length = from
  for (const piece of pieces) encoding.append(piece)
}

function compareKeys({ bytes }: Encoding, a: WrittenEntry, b: WrittenEntry): number {
  return Buffer.compare(bytes.subarray(a.keyStart, a.keyEnd), bytes.subarray(b.keyStart, b.keyEnd))
}
