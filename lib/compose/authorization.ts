/** Builds the authorizer. */

import { type Key, textFromKey } from '../base/keys.ts'
import type { Clock } from '../base/clock.ts'
import { Authorizer, type AuthorizerOptions } from '../http/auth/authorizer.ts'
import type { Callers } from '../http/auth/callers.ts'
import { type AccessAnswer, reviewKeptMs, ReviewCache } from '../http/auth/review-cache.ts'
import { ReviewQueue } from '../http/auth/review-queue.ts'
import { ruleKeyspaces } from '../kube/resources/special-keyspaces.ts'
import { Rechecks } from '../http/auth/rechecks.ts'
import { type ReviewMetrics, Reviews, type ReviewServer } from '../http/auth/reviews.ts'
import type { Follower } from '../upkeep/followers.ts'
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
  const queue = new ReviewQueue()
  return new Authorizer({
    clock,
    queue,
    mode,
    canPass,
    callers,
    reviews: new Reviews({ server, clock, metrics }),
    reviewCache: new ReviewCache({ clock, keptMs, queue }),
    identities: new ReviewCache<Identity | undefined>({ clock, keptMs: () => reviewKeptMs, queue }),
    rechecks: new Rechecks({ clock, random: systemRandom }),
  })
}

/** Has an authorizer forget what a change of the rules can concern: that of a Role or a RoleBinding its namespace. */
export function accessRules(prefix: string, authorizer: Authorizer): Follower {
  const isRuleKeyspace = ruleKeyspaces(prefix)
  const all = (keyspace: Key): void => {
    if (isRuleKeyspace(keyspace)) authorizer.rulesChanged()
  }
  return {
    applied(keyspace, { events }) {
      if (!isRuleKeyspace(keyspace)) return
      const namespaces = new Set(events.map(({ key }) => namespaceIn(key, keyspace)))
      for (const namespace of namespaces) authorizer.rulesChanged(namespace)
    },
    reset: all,
    stateChanged: all,
  }
}

/** Of a key below a keyspace; empty if it has none. */
function namespaceIn(key: Key, keyspace: Key): string {
  const rest = textFromKey(key.slice(keyspace.length) as Key)
  return rest.includes('/') ? rest.slice(0, rest.indexOf('/')) : ''
}
