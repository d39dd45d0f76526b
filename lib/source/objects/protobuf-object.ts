/** Objects in protobuf, as they come in lists and watches, and as etcd has them. The
 *  resourceVersion is field 6 of ObjectMeta, which is field 1 of each object; etcd has it there as
 *  an empty text. */

import {
  appendVarint,
  ByteWriter,
  textFromBytes,
  varintLength,
  wireBytes,
  WireReader,
} from '@watchglass/base'
import { appendEnvelope } from '@watchglass/codec'
import type { FollowedResource } from '../api/followed-resource.ts'
import { type FoundObject, malformed, revisionOf } from './stored-object.ts'

/** The object's message within a larger one. */
export interface ObjectWindow {
  readonly bytes: Uint8Array
  readonly start: number
  readonly end: number
}

const nameField = 1
const namespaceField = 3
const resourceVersionField = 6

const outer = new WireReader()
const inner = new WireReader()
const raw = new ByteWriter()

/** The object's name and revision; its message, as etcd has it in its envelope, is appended. */
export function takeProtobuf(
  resource: FollowedResource,
  { bytes, start, end }: ObjectWindow,
  out: ByteWriter,
): FoundObject {
  outer.reset(bytes, start, end)
  const isFirst = outer.nextField() && outer.field === 1 && outer.wire === wireBytes
  if (!isFirst || !outer.readWindow()) {
    throw malformed(resource, 'an object does not begin with its metadata')
  }
  const [metaStart, metaEnd] = [outer.start, outer.at]
  const found = { name: '', namespace: '', version: '', from: 0, to: 0 }
  inner.reset(bytes, metaStart, metaEnd)
  while (inner.nextField()) {
    const { field, wire } = inner
    if (!inner.skip() || wire !== wireBytes) continue
    const text = (): string => textFromBytes(bytes, inner.start, inner.at)
    if (field === nameField) found.name = text()
    else if (field === namespaceField) found.namespace = text()
    else if (field === resourceVersionField) {
      found.version = text()
      found.from = inner.start
      found.to = inner.at
    }
  }
  if (inner.isMalformed) throw malformed(resource, 'the metadata of an object is malformed')
  const revision = revisionOf(found.version, resource)
  const removed = found.to - found.from
  raw.clear()
  raw.appendByte((1 << 3) | wireBytes)
  appendVarint(raw, metaEnd - metaStart - removed)
  // A text of at most sixteen digits has a length of one byte.
  raw.append(bytes, metaStart, found.from - varintLength(removed))
  raw.appendByte(0)
  raw.append(bytes, found.to, end)
  const { apiVersion, kind } = resource
  appendEnvelope(out, { apiVersion, kind }, raw)
  return { name: found.name, namespace: found.namespace, revision }
}
