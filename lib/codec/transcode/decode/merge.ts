/** Messages whose single fields occur again, which no writer of Kubernetes makes, but which
 *  protobuf gives a meaning: decoders merge the occurrences of a message, and that is the same as
 *  reading their bytes one after the other. So they are joined first, and the result is read like
 *  any other. */

import { appendVarint, ByteWriter, giveUp, wireBytes, WireReader } from '@watchglass/base'
import type { MessageField, MessageType } from '../../schema/schema.ts'
import { maxDepth } from './state.ts'

/** A message with every single message field in one piece, at all levels. Takes time and space in
 *  proportion to the message's size and depth. */
export function mergeRepeated(type: MessageType, message: Uint8Array, depth = 0): Uint8Array {
  if (depth > maxDepth) giveUp('messages are nested too deep')
  const merged = new ByteWriter(message.length + 64)
  const singles = piecesOf(type, message)
  const reader = new WireReader()
  reader.reset(message, 0, message.length)
  for (let tagStart = reader.at; reader.nextField(); tagStart = reader.at) {
    const { field: number, wire } = reader
    if (!reader.skip()) break
    const field = type.fields.find(candidate => candidate.number === number)
    const inner = field === undefined ? undefined : type.schema.findMessageType(field.type)
    if (field === undefined || wire !== wireBytes || !isMessage(field)) {
      merged.append(message, tagStart, reader.at)
      continue
    }
    const pieces = singles.get(number)
    singles.delete(number)
    if (field.container === 'single' && pieces === undefined) continue
    const value = pieces ?? message.subarray(reader.start, reader.at)
    const part =
      inner === undefined
        ? value
        : field.container === 'map'
          ? mergedEntry(inner, value, depth)
          : mergeRepeated(inner, value, depth + 1)
    appendVarint(merged, number * 8 + wireBytes)
    appendVarint(merged, part.length)
    merged.append(part)
  }
  if (reader.isMalformed) giveUp(`${type.name} is malformed`)
  return merged.copy()
}

/** An entry of a map, with its value merged. Of several values the last counts. */
function mergedEntry(type: MessageType, entry: Uint8Array, depth: number): Uint8Array {
  const merged = new ByteWriter(entry.length + 64)
  const reader = new WireReader()
  reader.reset(entry, 0, entry.length)
  for (let tagStart = reader.at; reader.nextField(); tagStart = reader.at) {
    const { field, wire } = reader
    if (!reader.skip()) break
    if (field !== 2 || wire !== wireBytes) {
      merged.append(entry, tagStart, reader.at)
      continue
    }
    const value = mergeRepeated(type, entry.subarray(reader.start, reader.at), depth + 1)
    appendVarint(merged, field * 8 + wireBytes)
    appendVarint(merged, value.length)
    merged.append(value)
  }
  if (reader.isMalformed) giveUp('a map entry is malformed')
  return merged.copy()
}

/** All occurrences of each single message field, one after the other. */
function piecesOf(type: MessageType, message: Uint8Array): Map<number, Uint8Array> {
  const numbers = new Set(
    type.fields
      .filter(field => field.container === 'single' && isMessage(field))
      .map(({ number }) => number),
  )
  const pieces = new Map<number, Uint8Array[]>()
  const reader = new WireReader()
  reader.reset(message, 0, message.length)
  while (reader.nextField()) {
    const { field, wire } = reader
    if (!reader.skip() || wire !== wireBytes || !numbers.has(field)) continue
    const piece = message.subarray(reader.start, reader.at)
    const known = pieces.get(field)
    if (known === undefined) pieces.set(field, [piece])
    else known.push(piece)
  }
  return new Map([...pieces].map(([number, parts]) => [number, Buffer.concat(parts)]))
}

/** Times are messages, but decoders take the last one whole. */
function isMessage({ type }: MessageField): boolean {
  return type.includes('.') || mergedSpecials.has(type)
}

const mergedSpecials: ReadonlySet<string> = new Set([
  'quantity',
  'intorstring',
  'fieldsv1',
  'rawextension',
  'json',
])
