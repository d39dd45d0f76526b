/** Builds the authorizer. */

import type { Clock } from '../base/clock.ts'
import { Authorizer, type AuthorizerOptions } from '../http/auth/authorizer.ts'
import type { Callers } from '../http/auth/callers.ts'
import { type AccessAnswer, reviewKeptMs, ReviewCache } from '../http/auth/review-cache.ts'
import { Rechecks } from '../http/auth/rechecks.ts'
import { type ReviewMetrics, Reviews, type ReviewServer } from '../http/auth/reviews.ts'
import type { Identity } from '../kube/access-review.ts'
import { systemRandom } from '../ops/system.ts'

export interface AuthorizationOptions extends Pick<AuthorizerOptions, 'mode' | 'canPass'> {
  /** Decides. */
  readonly server: ReviewServer
  readonly callers: Callers
  /** How long a yes and a no are kept; 10 s if it is left out. */
  readonly allowMs?: number | undefined
  readonly denyMs?: number | undefined
}

/** What an authorizer needs of the service. */
export interface AuthorizationParts {
  readonly clock: Clock
  readonly metrics: ReviewMetrics
}

/** The authorizer; undefined where anyone may read. */
export function createAuthorizer(
  options: AuthorizationOptions | undefined,
  { clock, metrics }: AuthorizationParts,
): Authorizer | undefined {
  if (options === undefined) return undefined
  const { mode, canPass, server, callers, allowMs = reviewKeptMs, denyMs = reviewKeptMs } = options
  const keptMs = ({ type }: AccessAnswer): number => (type === 'allowed' ? allowMs : denyMs)
  return new Authorizer({
    mode,
    canPass,
    callers,
    reviews: new Reviews({ server, clock, metrics }),
    reviewCache: new ReviewCache({ clock, keptMs }),
    identities: new ReviewCache<Identity | undefined>({ clock, keptMs: () => reviewKeptMs }),
    rechecks: new Rechecks({ clock, random: systemRandom }),
  })
}
