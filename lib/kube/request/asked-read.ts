/** What a read asks for, in which media type. Pure: no contents are needed, so every mistake of the request is found here. */

import {
  type MediaType,
  negotiate,
  type NotAcceptable,
  type Offer,
  type Preference,
  streamed,
} from '../../codec/negotiate/negotiate.ts'
import { CacheError } from '../../base/errors.ts'
import type { TokenEncryption } from '../continuation.ts'
import { planRead, type ReadPlan } from '../read-plan.ts'
import { parseListOptions } from './list-options.ts'
import type { Query } from './request.ts'
import type { ResourceRoute } from './routes.ts'
import { notAcceptable, statusFromError, statusJson } from '../status.ts'

/** What of a request decides. */
export interface AskedRead {
  readonly query: Query
  readonly isWatch: boolean
  readonly preference: Preference
  readonly offer: Offer
  readonly encryption: TokenEncryption | undefined
}

export interface Planned {
  readonly plan: ReadPlan
  readonly mediaType: MediaType
}

/** The plan; refuses what upstream refuses, with its Status. `negotiated` is what has come of the Accept header. */
export function planAsked(
  route: ResourceRoute,
  { query, isWatch, offer, encryption }: AskedRead,
  negotiated: MediaType | NotAcceptable,
): Planned {
  if ('refusal' in negotiated) {
    // The router refuses before the handler reads the query; not every version does so.
    const isLate = !negotiated.hasDetails && !route.schema.has('acceptBeforeOptions')
    if (isLate && route.verb !== 'get') parseListOptions(query, route.schema)
    throw notAcceptable(negotiated.refusal, negotiated.hasDetails)
  }
  const plan = planRead(route, query, encryption)
  const mediaType = isWatch ? streamed(negotiated, offer) : negotiated
  if ('refusal' in mediaType) throw notAcceptable(mediaType.refusal, mediaType.hasDetails)
  return { plan, mediaType }
}

/** What comes of a read for the schema of its route, to be compared with what comes of it for another. */
export interface Outcome {
  /** Equal for reads that are answered alike, if objects are. */
  readonly text: string
  readonly plan: Planned | undefined
}

export function outcomeOf(route: ResourceRoute, asked: AskedRead): Outcome {
  try {
    const plan = planAsked(route, asked, negotiate(asked.preference, asked.offer))
    return { text: JSON.stringify({ ...plan.plan, resource: undefined }), plan }
  } catch (error) {
    if (!(error instanceof CacheError)) throw error
    return { text: statusJson(statusFromError(error)), plan: undefined }
  }
}
