/** The form of objects that a read asks for: refuses one that does not fit the request. */

import type { Clock } from '../../base/clock.ts'
import { type MediaType, renderingMismatch } from '../../codec/negotiate/negotiate.ts'
import { NotExact } from '../../codec/not-exact.ts'
import { invalidIncludeObject } from '../../codec/output/object-body.ts'
import type { OutputKind } from '../../codec/output-kind.ts'
import {
  type IncludedObject,
  includedObject,
  type ObjectEncoder,
  type OutputForm,
} from '../../codec/output/object-encoder.ts'
import type { PassReason } from '../../kube/decide.ts'
import type { ReadPlan } from '../../kube/read-plan.ts'
import type { RequestTarget } from '../../kube/request/request.ts'
import type { Resource } from '../../kube/resources/resource.ts'
import { badRequest, notAcceptable, notExactly, plainError } from '../../kube/status.ts'
import type { RequestContext } from './request-context.ts'
import type { UpstreamSide } from './upstream-side.ts'

/** The form of an answer: which encoder, and which parts of the objects. */
export interface AnswerForm {
  readonly encoder: ObjectEncoder
  readonly form: OutputForm
}

/** The read that a form is for: its resource, its type, its subresource. */
export interface AnsweredRead {
  readonly resource: Resource
  readonly type: ReadPlan['type']
  readonly subresource?: string | undefined
}

export function answerForm(
  { state, target }: RequestContext,
  { resource, type, subresource }: AnsweredRead,
  mediaType: MediaType,
  { clock }: { readonly clock: Clock },
): AnswerForm {
  const encoder = state.encoderOf(resource)
  if (encoder instanceof NotExact) throw notExactly(resource, encoder)
  const isScale = subresource === 'scale'
  if (type !== 'watch' && !isScale) refuseMismatch(encoder.kind, mediaType, type)
  const { encoding, rendering, renderingVersion, drops } = mediaType
  const form: OutputForm = {
    encoding,
    rendering,
    renderingVersion,
    drops,
    includeObject: rendering === 'Table' ? includedIn(target) : 'Metadata',
    now: clock.wallMs(),
    subresource: isScale ? 'scale' : undefined,
  }
  return { encoder, form }
}

/** The part of each object that a Table row carries (`includeObject`). */
function includedIn({ query }: RequestTarget): IncludedObject {
  const asked = query.text('includeObject')
  const included = includedObject(asked)
  if (included === undefined) throw badRequest(invalidIncludeObject(asked))
  return included
}

/** The same behind the gate that the upstream has for this form; a reason to pass if nothing of the
 *  form is proven. */
export function gated(
  { encoder, form }: AnswerForm,
  resource: Resource,
  upstream: UpstreamSide,
): AnswerForm | PassReason {
  const gate = upstream.gateOf(resource, form)
  if (typeof gate === 'string') return gate
  return gate === undefined ? { encoder, form } : { encoder, form: { ...form, gate } }
}

/** Refuses a rendering that does not go with what was asked for. */
function refuseMismatch(kind: OutputKind, mediaType: MediaType, type: 'get' | 'list'): void {
  const isList = type === 'list'
  // Go's type of a custom object can be a list, too, which is seen from its items.
  if (kind.custom !== undefined && !isList && mediaType.rendering === 'PartialObjectMetadataList') {
    throw plainError('content is not a list')
  }
  const mismatch = renderingMismatch(kind, mediaType, isList)
  if (mismatch !== undefined) throw notAcceptable(mismatch, false)
}
