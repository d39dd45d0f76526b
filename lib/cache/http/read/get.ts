/** Answers gets: of an object, and of its scale. */

import { type Clock, inSlices, NotExact, soon } from '@watchglass/base'
import {
  contentType,
  isLongBody,
  keptBodyInSteps,
  keptObjectBody,
  type MediaType,
  type Segment,
} from '@watchglass/codec'
import { type GetPlan, objectNotFound, scaleBody } from '@watchglass/kube'
import type { SegmentCache, Snapshot } from '@watchglass/store'
import { notShown } from '../request/not-shown.ts'
import type { RequestContext } from '../request/request-context.ts'
import type { Answer, UpstreamSide } from '../request/upstream-side.ts'
import { holdFor, noteGet } from '../limits/fair-share.ts'
import type { Fairness } from '../limits/fairness.ts'
import { gated, answerForm } from '../request/answer-form.ts'

export interface GetServices {
  readonly segments: SegmentCache<Segment>
  readonly fairness?: Fairness | undefined
  readonly upstream?: UpstreamSide | undefined
  readonly clock: Clock
}

export interface GetAnswer {
  readonly plan: GetPlan
  readonly snapshot: Snapshot
  readonly mediaType: MediaType
}

export function answerGet(
  context: RequestContext,
  { plan, snapshot, mediaType }: GetAnswer,
  services: GetServices,
): Answer {
  const { resource } = plan
  const { upstream, fairness, segments, clock } = services
  noteGet(context, fairness)
  const entry = snapshot.get(plan.key)
  if (entry === undefined) throw objectNotFound(resource, plan.name)
  const plain = answerForm(context, plan, mediaType, services)
  const answer = upstream === undefined ? plain : gated(plain, resource, upstream)
  if (typeof answer === 'string') return answer
  const { encoder, form } = answer
  return soon(encoder.prepare(form, clock), () => {
    const { isPretty, encoding } = mediaType
    const body =
      plan.subresource === 'scale'
        ? scaleBody(resource, mediaType, { encoder, form, entry })
        : isLongBody(entry, form)
          ? inSlices(keptBodyInSteps(encoder, entry, { form, isPretty }, segments), clock)
          : keptObjectBody(encoder, entry, { form, isPretty }, segments)
    return soon(body, made => {
      if (made instanceof NotExact) return notShown(resource, made, upstream)
      holdFor(context, fairness, { bytes: made.length, kind: 'small' })
      const { reply } = context
      return reply.body(reply.response(200, contentType(encoding)), made)
    })
  })
}
