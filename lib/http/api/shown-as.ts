/** What is shown of objects, and how. */

import { NotExact } from '../../codec/not-exact.ts'
import type { MediaType } from '../../codec/negotiate/negotiate.ts'
import { invalidIncludeObject, renderingMismatch } from '../../codec/output/object-body.ts'
import {
  includedObject,
  type ObjectEncoder,
  type Shown,
} from '../../codec/served/object-encoder.ts'
import type { ReadPlan } from '../../kube/read-plan.ts'
import { badRequest, notAcceptable, notExactly } from '../../kube/status.ts'
import type { RequestContext } from './request-context.ts'

export interface ShownAs {
  readonly encoder: ObjectEncoder
  readonly shown: Shown
}

/** How the objects of a plan are shown at a time. Refuses renderings that do not go with what was asked for. */
export function shownAs(
  { state, target }: RequestContext,
  { resource, type }: ReadPlan,
  mediaType: MediaType,
  now: number,
): ShownAs {
  const encoder = state.encoderOf(resource)
  if (encoder instanceof NotExact) throw notExactly(resource, encoder.reason)
  const mismatch =
    type === 'watch' ? undefined : renderingMismatch(encoder.kind, mediaType, type === 'list')
  if (mismatch !== undefined) throw notAcceptable(mismatch, false)
  const asked = target.query.text('includeObject')
  const includeObject = includedObject(asked)
  if (includeObject === undefined && mediaType.rendering === 'Table') {
    throw badRequest(invalidIncludeObject(asked))
  }
  return { encoder, shown: { ...mediaType, includeObject: includeObject ?? 'Metadata', now } }
}
