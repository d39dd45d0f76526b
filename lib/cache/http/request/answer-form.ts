/** The form of objects that a read asks for: refuses one that does not fit the request. */

import { type Clock, NotExact } from '@watchglass/base'
import {
  includedObject,
  type IncludedObject,
  invalidIncludeObject,
  type MediaType,
  type ObjectEncoder,
  type OutputForm,
  type OutputKind,
  renderingMismatch,
} from '@watchglass/codec'
import {
  badRequest,
  notAcceptable,
  notExactly,
  type PassReason,
  plainError,
  type ReadPlan,
  type RequestTarget,
  type Resource,
} from '@watchglass/kube'
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

/** The form behind the gate that the upstream has for it; a reason to pass if nothing of the
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
