/** Refusals of views that lists do not have. */

import type { NotExact } from '@watchglass/base'
import { NeedsConversion } from '@watchglass/codec'
import {
  badRequest,
  notExactly,
  type Resource,
  resourceText,
  serviceUnavailable,
  StatusError,
  tooManyRequests,
} from '@watchglass/kube'

/** More groups would be counted than an answer has. */
export function tooManyGroups(): StatusError {
  const message =
    'there are more than 10000 groups: count by fewer columns, or narrow with where or a selector'
  return new StatusError('too_large', { code: 422, message, reason: 'Invalid' })
}

/** Too many different orders are live. */
export function tooManyLive(): StatusError {
  return tooManyRequests('too many different live views are open, please try again later', 1)
}

/** A connection that is to be upgraded has to ask for a live page. */
export function onlyLiveUpgrades(): StatusError {
  return badRequest('only a live view (watch=1) can be had over a WebSocket')
}

/** A live view ends: an object cannot be shown. One that a webhook has to convert first can be when
 *  the view is asked for again, or whoever asks is told what is wrong with the webhook. */
export function cannotGoOn(resource: Resource, problem: NotExact): StatusError {
  if (!(problem instanceof NeedsConversion)) return notExactly(resource, problem)
  const message = `the live view of "${resourceText(resource)}" ends: an object has to be converted by a webhook, and is not yet: ask again`
  return new StatusError('not_ready', serviceUnavailable(message, 1))
}
