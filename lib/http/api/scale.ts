/** The body of the subresource `scale`: small, and made for each request. */

import { ByteWriter } from '../../codec/output/byte-writer.ts'
import type { MediaType } from '../../codec/negotiate/negotiate.ts'
import { NotExact } from '../../codec/not-exact.ts'
import { statusBody } from '../../codec/output/object-body.ts'
import type { ObjectEncoder, Shown } from '../../codec/served/object-encoder.ts'
import { scaleJson } from '../../codec/served/scale.ts'
import type { Resource } from '../../kube/resources/resource.ts'
import { needsUpstream } from '../../kube/status.ts'
import type { KeyValue } from '../../store/event.ts'

/** The scale of an object, in the media type that was negotiated. Its Tables are not known. */
export function scaleBody(
  resource: Resource,
  mediaType: MediaType,
  { encoder, shown, entry }: { encoder: ObjectEncoder; shown: Shown; entry: KeyValue },
): Uint8Array | NotExact {
  if (mediaType.rendering !== 'object') throw needsUpstream(resource, 'another form of the scale')
  const out = new ByteWriter()
  const revision = entry.modRevision
  const problem = encoder.appendJson(out, entry, { shown, revision, place: 'alone' })
  if (problem !== undefined) return problem
  const { scale } = resource.subresources.find(({ name }) => name === 'scale') ?? {}
  const json = scaleJson(out.bytes.subarray(0, out.length), scale)
  return json instanceof NotExact ? json : statusBody(json, mediaType)
}
