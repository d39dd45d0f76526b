/** Cuts managed fields out of an object that has just been written: the two parts beside them are
 *  moved together, and nothing is encoded again. */

import {
  appendVarint,
  type ByteWriter,
  NotExact,
  varintEnd,
  varintLength,
  WireReader,
  writeVarint,
} from '@watchglass/base'
import { JsonMembers } from '../json/members.ts'
import type { StoredValue } from '../stored-value.ts'
import { readEnvelope } from '../transcode/envelope.ts'

const comma = 0x2c
const openBrace = 0x7b

const paths = {
  row: ['object', 'metadata', 'managedFields'],
  object: ['metadata', 'managedFields'],
}

/** Cuts them out of the compact JSON from there to the end of the writer: an object, or a row of a
 *  Table. What has none stays as it is. */
export function cutJson(
  out: ByteWriter,
  from: number,
  what: 'row' | 'object',
): NotExact | undefined {
  const { bytes, length } = out
  let at = from
  for (const [depth, name] of paths[what].entries()) {
    // Objects of rows may be null.
    if (bytes[at] !== openBrace) return undefined
    members.reset(bytes, at, length)
    let isThere = false
    while (!isThere && members.nextName()) {
      isThere = members.isNamed(name)
      if (!isThere) members.skip()
    }
    if (members.isMalformed) return unknown
    if (!isThere) return undefined
    at = members.start
    if (depth < paths[what].length - 1) continue
    return members.skip() ? cutMember(out, members.nameStart - 1, members.end) : unknown
  }
  return undefined
}

const members = new JsonMembers()
const unknown = new NotExact('managed fields cannot be found')

/** A member goes with the comma before it, or behind it if it is the first. */
function cutMember(out: ByteWriter, start: number, end: number): NotExact | undefined {
  const { bytes } = out
  if (bytes[start - 1] === comma) remove(out, start - 1, end)
  else if (bytes[start - 1] !== openBrace) return unknown
  else remove(out, start, bytes[end] === comma ? end + 1 : end)
  return undefined
}

function remove(out: ByteWriter, start: number, end: number): void {
  out.bytes.copyWithin(start, end, out.length)
  out.length -= end - start
}

const metadataField = 1
const metadataTag = 0x0a
/** The object in its envelope. */
const rawTag = 0x12
/** Field 17, which has a tag of two bytes. */
const managedFieldsField = 17

/** Cuts them out of the bare protobuf message from there to the end of the writer, whose first
 *  field is its metadata. */
export function cutMessage(out: ByteWriter, from: number): NotExact | undefined {
  const { bytes } = out
  const place = managedFieldsIn(bytes, from, out.length)
  if (place === undefined || place instanceof NotExact) return place
  const { start, end, first, last } = place
  remove(out, first, last)
  return relength(out, from + 1, end - start - (last - first))
}

/** Copies a stored object in its envelope without them, so that they are never encoded. False if
 *  the object has none, or some could be left because they, or the metadata, are not where they are
 *  expected: nothing is copied then. */
export function copyWithoutManagedFields(
  out: ByteWriter,
  { bytes, start, end }: StoredValue,
): boolean {
  const envelope = readEnvelope(bytes, start, end)
  if (envelope instanceof NotExact) return false
  const { rawStart, rawEnd } = envelope
  const place = managedFieldsIn(bytes, rawStart, rawEnd)
  if (place === undefined || place instanceof NotExact) return false
  reader.reset(bytes, place.end, rawEnd)
  while (reader.nextField()) if (reader.field === metadataField || !reader.skip()) return false
  if (reader.isMalformed) return false
  const raw = rawEnd - rawStart
  const namesEnd = rawStart - varintLength(raw)
  if (bytes[namesEnd - 1] !== rawTag) return false
  const metadata = place.end - place.start
  const cut = place.last - place.first
  const kept = metadata - cut
  out.append(bytes, start, namesEnd)
  appendVarint(out, raw - cut - varintLength(metadata) + varintLength(kept))
  out.appendByte(metadataTag)
  appendVarint(out, kept)
  out.append(bytes, place.start, place.first)
  out.append(bytes, place.last, end)
  return true
}

interface Place {
  /** The metadata. */
  readonly start: number
  readonly end: number
  /** The fields in it. */
  readonly first: number
  readonly last: number
}

/** The managed fields of a bare message, whose first field is its metadata; undefined if it has
 *  none. */
function managedFieldsIn(
  bytes: Uint8Array,
  from: number,
  to: number,
): Place | NotExact | undefined {
  if (to === from || bytes[from] !== metadataTag) return undefined
  reader.reset(bytes, from + 1, to)
  if (!reader.readWindow()) return unknown
  const { start, at: end } = reader
  reader.reset(bytes, start, end)
  let first = end
  let last = end
  for (let at = start; reader.nextField(); at = reader.at) {
    reader.skip()
    if (reader.field !== managedFieldsField) continue
    if (first === end) first = at
    else if (last !== at) return unknown
    last = reader.at
  }
  if (reader.isMalformed) return unknown
  return first === end ? undefined : { start, end, first, last }
}

const reader = new WireReader()

/** Cuts managed fields out of an item of a list: the message behind a tag and its length. */
export function cutListItem(out: ByteWriter, from: number): NotExact | undefined {
  const start = varintEnd(out.bytes, from + 1, out.length)
  return cutMessage(out, start) ?? relength(out, from + 1, out.length - start)
}

/** Writes another length in place of a longer one. */
function relength(out: ByteWriter, at: number, length: number): undefined {
  const behind = varintEnd(out.bytes, at, out.length)
  const end = at + varintLength(length)
  if (end < behind) remove(out, end, behind)
  writeVarint(out.bytes, at, length)
}
