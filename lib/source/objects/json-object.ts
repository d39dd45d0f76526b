/** Objects in JSON, as they come in lists and watches, and as etcd has them: without the member
 *  resourceVersion, and with the kind, which the items of a list of a built-in kind leave out. */

import type { ByteWriter } from '@watchglass/base'
import { JsonMembers } from '@watchglass/codec'
import type { FollowedResource } from '../api/followed-resource.ts'
import type { ObjectWindow } from './protobuf-object.ts'
import { type FoundObject, malformed, revisionOf } from './stored-object.ts'

const members = new JsonMembers()
const metadata = new JsonMembers()
const comma = 0x2c

/** The object's name and revision; its JSON, as etcd has it, is appended. */
export function takeJson(
  resource: FollowedResource,
  { bytes, start, end }: ObjectWindow,
  out: ByteWriter,
): FoundObject {
  let hasKind = false
  let meta: ReadMetadata | undefined
  members.reset(bytes, start, end)
  while (members.nextName()) {
    if (members.isNamed('kind')) hasKind = true
    if (!members.isNamed('metadata')) {
      members.skip()
      continue
    }
    meta = readMetadata(bytes)
    members.leave(metadata)
  }
  if (members.isMalformed || !members.isObject || meta === undefined) {
    throw malformed(resource, 'an object is malformed, or has no metadata')
  }
  const { name, namespace, from, to } = meta
  const revision = revisionOf(meta.version, resource)
  out.appendByte(bytes[start] as number)
  if (!hasKind) out.appendAscii(`"kind":"${resource.kind}","apiVersion":"${resource.apiVersion}",`)
  out.append(bytes, start + 1, from)
  out.append(bytes, to, end)
  out.appendAscii('\n')
  return { name, namespace, revision }
}

interface ReadMetadata {
  readonly name: string
  readonly namespace: string
  readonly version: string
  /** The member resourceVersion, with the comma that goes with it. */
  readonly from: number
  readonly to: number
}

function readMetadata(bytes: Uint8Array): ReadMetadata {
  const found = { name: '', namespace: '', version: '', from: 0, to: 0 }
  metadata.enter(members)
  let isAfterOther = false
  while (metadata.next()) {
    if (metadata.isNamed('name')) found.name = textIn(bytes)
    else if (metadata.isNamed('namespace')) found.namespace = textIn(bytes)
    else if (metadata.isNamed('resourceVersion')) {
      found.version = textIn(bytes)
      const [from, to] = [metadata.nameStart - 1, metadata.end]
      const isBeforeOther = bytes[to] === comma
      found.from = isAfterOther && !isBeforeOther ? from - 1 : from
      found.to = isBeforeOther ? to + 1 : to
    }
    isAfterOther = true
  }
  return found
}

/** The text that the cursor stands at: names and revisions have nothing to escape. */
function textIn(bytes: Uint8Array): string {
  const { start, end } = metadata
  return Buffer.from(
    bytes.buffer,
    bytes.byteOffset + start + 1,
    Math.max(0, end - start - 2),
  ).toString()
}
