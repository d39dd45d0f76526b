/** One page of a list, from the body of an answer: the entries of its objects, the revision that
 *  all pages have, and where the next page begins. Read in steps: a page has a megabyte. */

import {
  ByteWriter,
  isStepDue,
  NotExact,
  numberOf,
  objectOf,
  type Revision,
  type Steps,
  textFromBytes,
  textOf,
  wireBytes,
  WireReader,
  wireVarint,
} from '@watchglass/base'
import { JsonMembers, readEnvelope } from '@watchglass/codec'
import { type KeyValue, SlabWriter } from '@watchglass/store'
import type { FollowedResource } from '../api/followed-resource.ts'
import { takeJson } from './json-object.ts'
import { takeProtobuf } from './protobuf-object.ts'
import { entryOf, malformed, revisionOf } from './stored-object.ts'

export interface SourcePage {
  readonly revision: Revision
  readonly entries: readonly KeyValue[]
  /** Empty for the last page. */
  readonly continuation: string
  /** Number of objects after the page, as far as the API says it. */
  readonly remaining: number
}

const openBracket = 0x5b

/** The metadata of a list. */
interface PageMeta {
  resourceVersion: string
  continuation: string
  remaining: number
}

/** Reads a page. Fails with `source_failed` if it is none. */
export function* readSourcePage(resource: FollowedResource, body: Uint8Array): Steps<SourcePage> {
  const meta = { resourceVersion: '', continuation: '', remaining: 0 }
  const entries: KeyValue[] = []
  const reading =
    resource.encoding === 'protobuf'
      ? readProtobuf(resource, body, meta, entries)
      : readJson(resource, body, meta, entries)
  yield* reading
  const { resourceVersion, continuation, remaining } = meta
  return { revision: revisionOf(resourceVersion, resource), entries, continuation, remaining }
}

/** `{1 ListMeta {2 resourceVersion, 3 continue, 4 remainingItemCount}, 2 items}` */
function* readProtobuf(
  resource: FollowedResource,
  body: Uint8Array,
  meta: PageMeta,
  entries: KeyValue[],
): Steps<void> {
  const envelope = readEnvelope(body, 0, body.length)
  if (envelope instanceof NotExact) throw malformed(resource, envelope.reason)
  const slabs = new SlabWriter()
  const stored = new ByteWriter()
  const reader = new WireReader()
  reader.reset(body, envelope.rawStart, envelope.rawEnd)
  while (reader.nextField()) {
    const { field, wire } = reader
    if (!reader.skip() || wire !== wireBytes) continue
    const window = { bytes: body, start: reader.start, end: reader.at }
    if (field === 1) readListMeta(body, window.start, window.end, meta)
    else if (field === 2) {
      stored.clear()
      const found = takeProtobuf(resource, window, stored)
      const written = stored.bytes.subarray(0, stored.length)
      entries.push(entryOf(resource, found, { stored: written, slabs }))
      if (isStepDue()) yield
    }
  }
  if (reader.isMalformed) throw malformed(resource, 'a list is malformed')
}

function readListMeta(body: Uint8Array, start: number, end: number, meta: PageMeta): void {
  const reader = new WireReader()
  reader.reset(body, start, end)
  while (reader.nextField()) {
    const { field, wire } = reader
    if (field === 4 && wire === wireVarint) {
      meta.remaining = reader.readVarint()
      continue
    }
    if (!reader.skip() || wire !== wireBytes) continue
    if (field === 2) meta.resourceVersion = textFromBytes(body, reader.start, reader.at)
    else if (field === 3) meta.continuation = textFromBytes(body, reader.start, reader.at)
  }
}

function* readJson(
  resource: FollowedResource,
  body: Uint8Array,
  meta: PageMeta,
  entries: KeyValue[],
): Steps<void> {
  const slabs = new SlabWriter()
  const stored = new ByteWriter()
  const members = new JsonMembers()
  const items = new JsonMembers()
  members.reset(body, 0, body.length)
  while (members.nextName()) {
    if (members.isNamed('items')) {
      // Go writes a list that was never made as null.
      if (body[members.start] !== openBracket) {
        members.skip()
        continue
      }
      items.enter(members)
      while (items.next()) {
        stored.clear()
        const window = { bytes: body, start: items.start, end: items.end }
        const found = takeJson(resource, window, stored)
        const written = stored.bytes.subarray(0, stored.length)
        entries.push(entryOf(resource, found, { stored: written, slabs }))
        if (isStepDue()) yield
      }
      members.leave(items)
    } else {
      members.skip()
      if (members.isNamed('metadata')) takeListMeta(body, members, meta)
    }
  }
  if (members.isMalformed || !members.isObject) throw malformed(resource, 'a list is malformed')
}

function takeListMeta(
  body: Uint8Array,
  { start, end }: { readonly start: number; readonly end: number },
  meta: PageMeta,
): void {
  const said = objectOf(parsed(body, start, end))
  meta.resourceVersion = textOf(said['resourceVersion'])
  meta.continuation = textOf(said['continue'])
  meta.remaining = numberOf(said['remainingItemCount'])
}

function parsed(body: Uint8Array, start: number, end: number): unknown {
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset + start, end - start).toString())
  } catch {
    return undefined
  }
}
