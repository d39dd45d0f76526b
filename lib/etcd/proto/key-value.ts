/** The messages that come by the million, read and written by hand: entries, and the events that
 *  carry them. */

import {
  bigVarint,
  type Key,
  knownRevision,
  revision,
  type Revision,
  varintLength,
  wireBytes as delimited,
  wireVarint as varint,
} from '@watchglass/base'
import { KeyValue, noLease, type ValueWindow } from '@watchglass/store'
import { type Codec, createCodec } from './codec.ts'
import type { ProtoReader } from './proto-reader.ts'
import type { ProtoWriter } from './proto-writer.ts'

/** The place for the value that lies at `bytes` from `start` to `end`: there, or copied to
 *  somewhere else. */
export type PlaceValue = (bytes: Uint8Array, start: number, end: number) => ValueWindow

/** Leaves a value in the message that it came in, which lives as long as the value then. */
export const leaveInMessage: PlaceValue = (bytes, start, end) => ({ bytes, start, end })

/** An event as etcd sends it: a put with its entry, or a delete of which only the key and the
 *  revision are known; and what was there before, if that was asked for. */
export interface WatchEvent {
  readonly key: Key
  /** The revision of the event. */
  readonly revision: Revision
  /** The entry that a put left; a delete has none. */
  readonly after: KeyValue | undefined
  readonly previous: KeyValue | undefined
}

/** The codec of entries whose values are kept where `place` says. */
export function keyValueCodec(place: PlaceValue): Codec<KeyValue> {
  return createCodec(reader => readKeyValue(reader, place), writeKeyValue)
}

/** The codec of events whose values are kept where `place` says. */
export function eventCodec(place: PlaceValue): Codec<WatchEvent> {
  return createCodec(reader => readEvent(reader, place), writeEvent)
}

/** The bytes of an entry, without its tag and length; with its value, or as a range of keys only has
 *  it. Whoever sends entries while they are encoded says first how long they will be. */
export function keyValueLength(entry: KeyValue, withValue = true): number {
  const { key, createRevision, modRevision, version, lease } = entry
  let length = fieldLength(key.length)
  if (createRevision !== 0) length += 1 + varintLength(createRevision)
  if (modRevision !== 0) length += 1 + varintLength(modRevision)
  if (version !== 0) length += 1 + varintLength(version)
  const valueLength = withValue ? entry.valueLength : 0
  if (valueLength > 0) length += fieldLength(valueLength)
  if (lease !== noLease) length += 1 + bigVarint(lease).length
  return length
}

/** The bytes of an event as a field of a watch response, with its tag and length. */
export function eventLength({ key, revision, after, previous }: WatchEvent): number {
  const deletion = fieldLength(key.length) + 1 + varintLength(revision)
  let length = after === undefined ? 2 + fieldLength(deletion) : fieldLength(keyValueLength(after))
  if (previous !== undefined) length += fieldLength(keyValueLength(previous))
  return fieldLength(length)
}

/** The bytes of a delimited field whose number is below 16. */
function fieldLength(bytes: number): number {
  return 1 + varintLength(bytes) + bytes
}

function readKeyValue(reader: ProtoReader, place: PlaceValue): KeyValue {
  let key = '' as Key
  let start = reader.end
  let end = start
  let createRevision = 0
  let modRevision = 0
  let version = 0
  let lease = noLease
  while (reader.nextField()) {
    switch ((reader.field << 3) | reader.wire) {
      case (1 << 3) | delimited:
        key = reader.key()
        break
      case (2 << 3) | varint:
        createRevision = reader.int64()
        break
      case (3 << 3) | varint:
        modRevision = reader.int64()
        break
      case (4 << 3) | varint:
        version = reader.int64()
        break
      case (5 << 3) | delimited: {
        reader.readWindow()
        start = reader.start
        end = reader.at
        break
      }
      case (6 << 3) | varint:
        lease = reader.readInt64()
        break
      default:
        reader.skip()
    }
  }
  return new KeyValue(key, place(reader.bytes, start, end), {
    createRevision: knownRevision(createRevision),
    modRevision: knownRevision(modRevision),
    version,
    lease,
  })
}

function writeKeyValue(writer: ProtoWriter, entry: KeyValue): void {
  if (entry.lease !== noLease) {
    writer.bigint64(entry.lease)
    writer.uint((6 << 3) | varint)
  }
  if (entry.end > entry.start) {
    writer.window(entry.bytes, entry.start, entry.end)
    writer.uint((5 << 3) | delimited)
  }
  if (entry.version !== 0) {
    writer.uint(entry.version)
    writer.uint((4 << 3) | varint)
  }
  if (entry.modRevision !== 0) {
    writer.uint(entry.modRevision)
    writer.uint((3 << 3) | varint)
  }
  if (entry.createRevision !== 0) {
    writer.uint(entry.createRevision)
    writer.uint((2 << 3) | varint)
  }
  writer.key(entry.key)
  writer.uint((1 << 3) | delimited)
}

function readEvent(reader: ProtoReader, place: PlaceValue): WatchEvent {
  let isDelete = false
  let entry: KeyValue | undefined
  let previous: KeyValue | undefined
  const readEntry = (inner: ProtoReader): KeyValue => readKeyValue(inner, place)
  while (reader.nextField()) {
    switch ((reader.field << 3) | reader.wire) {
      case (1 << 3) | varint:
        isDelete = reader.int64() === 1
        break
      case (2 << 3) | delimited:
        entry = reader.message(readEntry)
        break
      case (3 << 3) | delimited:
        previous = reader.message(readEntry)
        break
      default:
        reader.skip()
    }
  }
  return {
    key: entry?.key ?? ('' as Key),
    revision: entry?.modRevision ?? revision(0),
    after: isDelete ? undefined : entry,
    previous,
  }
}

function writeEvent(writer: ProtoWriter, event: WatchEvent): void {
  if (event.previous !== undefined) {
    const before = writer.length
    writeKeyValue(writer, event.previous)
    writer.closeMessage(3, before)
  }
  const before = writer.length
  if (event.after !== undefined) {
    writeKeyValue(writer, event.after)
    writer.closeMessage(2, before)
    return
  }
  writer.uint(event.revision)
  writer.uint((3 << 3) | varint)
  writer.key(event.key)
  writer.uint((1 << 3) | delimited)
  writer.closeMessage(2, before)
  writer.uint(1)
  writer.uint((1 << 3) | varint)
}
