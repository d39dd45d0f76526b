/** The body of the subresource `scale`: small, and made for each request. */

import { ByteWriter, NotExact } from '@watchglass/base'
import {
  encodedJson,
  type MediaType,
  noReplicas,
  notAList,
  type ObjectEncoder,
  type OutputForm,
  renderedScale,
  scaleOf,
} from '@watchglass/codec'
import type { KeyValue } from '@watchglass/store'
import type { Resource } from './resources/resource.ts'
import { notAcceptable, StatusError } from './status.ts'

/** The scale of an object, in the media type that was negotiated. Refusals are thrown. */
export function scaleBody(
  resource: Resource,
  { isPretty }: Pick<MediaType, 'isPretty'>,
  { encoder, form, entry }: { encoder: ObjectEncoder; form: OutputForm; entry: KeyValue },
): Uint8Array | NotExact {
  const isCustom = resource.custom !== undefined
  if (form.rendering === 'PartialObjectMetadataList') {
    const goType = isCustom ? '*v1.Scale' : '*autoscaling.Scale'
    throw notAcceptable(notAList(goType), false)
  }
  const out = new ByteWriter()
  const whole = { ...form, rendering: 'object', encoding: 'json' } as const
  const revision = entry.modRevision
  const problem = encoder.appendJson(out, entry, { form: whole, revision, place: 'alone' })
  if (problem !== undefined) return problem
  const { scale: paths } = resource.subresources.find(({ name }) => name === 'scale') ?? {}
  const scale = scaleOf(out.bytes.subarray(0, out.length), paths)
  if (scale === noReplicas && paths !== undefined) throw withoutReplicas(paths.specReplicas)
  if (scale instanceof NotExact) return scale
  const objection = form.gate?.objection(entry, 'alone')
  if (objection !== undefined) return objection
  const { schema } = encoder.kind
  const json = renderedScale(scale, { schema, isCustom }, form)
  return encodedJson(Buffer.from(json), { encoding: form.encoding, isPretty })
}

/** The refusal of a custom resource that does not say how many replicas it wants. */
function withoutReplicas(path: string): StatusError {
  const message = `the spec replicas field "${path}" does not exist`
  return new StatusError('invalid_request', {
    code: 500,
    message: `Internal error occurred: ${message}`,
    reason: 'InternalError',
    details: { causes: [{ message }] },
  })
}
