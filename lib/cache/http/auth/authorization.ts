/** Builds the authorizer. */

import { type Clock, type Key, type Logger, type Random, textFromKey } from '@watchglass/base'
import type { Batch } from '@watchglass/store'
import { Authorizer, type AuthorizerOptions } from './authorizer.ts'
import type { Callers } from './callers.ts'
import { type AccessAnswer, reviewKeptMs, ReviewCache } from './review-cache.ts'
import { ReviewPause } from './review-pause.ts'
import { ReviewQueue } from './review-queue.ts'
import { type Identity, ruleKeyspaces } from '@watchglass/kube'
import { type DeskAnswer, type DeskQuestion, RemoteReviews } from './review-desk.ts'
import { Rechecks } from './rechecks.ts'
import { type AccessMetrics, Reviews, type ReviewServer } from './reviews.ts'

export interface AuthorizationOptions extends Pick<AuthorizerOptions, 'mode' | 'canPass'> {
  /** Decides. */
  readonly server: ReviewServer
  readonly callers: Callers
  /** Time that a yes and a no are kept; 10 s if it is left out, as with aggregated servers without
   *  `--authorization-webhook-cache-authorized-ttl` and its sibling. */
  readonly allowMs?: number | undefined
  readonly denyMs?: number | undefined
}

/** Parts of the service that an authorizer is built from. */
export interface AuthorizationParts {
  readonly clock: Clock
  readonly random: Random
  readonly metrics: AccessMetrics
  readonly logger: Logger
  /** In a thread that does not ask the upstream itself. */
  readonly askDesk?: ((question: DeskQuestion) => Promise<DeskAnswer>) | undefined
}

/** The authorizer; undefined where anyone may read. */
export function createAuthorizer(
  options: AuthorizationOptions | undefined,
  { clock, random, metrics, logger, askDesk }: AuthorizationParts,
): Authorizer | undefined {
  if (options === undefined) return undefined
  const { mode, canPass, server, callers, allowMs = reviewKeptMs, denyMs = reviewKeptMs } = options
  const keptMs = ({ type }: AccessAnswer): number => (type === 'allowed' ? allowMs : denyMs)
  const queue = askDesk === undefined ? new ReviewQueue() : noQueue
  // The desk says for how long its answers hold.
  const pause = askDesk === undefined ? new ReviewPause({ clock, random, logger }) : undefined
  const lasting = pause && { pause, is: ({ type }: AccessAnswer) => type === 'allowed' }
  return new Authorizer({
    clock,
    metrics,
    pause,
    queue,
    mode,
    canPass,
    callers,
    reviews:
      askDesk === undefined
        ? new Reviews({ mode, server, clock, metrics })
        : new RemoteReviews(askDesk),
    reviewCache: new ReviewCache({ clock, keptMs, queue, lasting }),
    identities: new ReviewCache<Identity | undefined>({ clock, keptMs: () => reviewKeptMs, queue }),
    rechecks: new Rechecks({ clock, random }),
  })
}

/** Reviews wait at the desk that is asked. */
const noQueue: Pick<ReviewQueue, 'run' | 'underWay'> = { run: ask => ask(), underWay: 0 }

/** Follows the access rules, and has an authorizer forget what a change of them can concern:
 *  that of a Role or a RoleBinding its namespace. */
export class RuleChanges {
  readonly #authorizer: Authorizer
  readonly #isRuleKeyspace: (keyspace: Key) => boolean

  constructor(prefix: string, authorizer: Authorizer) {
    this.#authorizer = authorizer
    this.#isRuleKeyspace = ruleKeyspaces(prefix)
  }

  applied(keyspace: Key, { events }: Batch): void {
    if (!this.#isRuleKeyspace(keyspace)) return
    const namespaces = new Set(events.map(({ key }) => namespaceIn(key, keyspace)))
    for (const namespace of namespaces) this.#authorizer.rulesChanged(namespace)
  }

  reset(keyspace: Key): void {
    if (this.#isRuleKeyspace(keyspace)) this.#authorizer.rulesChanged()
  }

  stateChanged(keyspace: Key): void {
    this.reset(keyspace)
  }
}

/** Namespace in a key below a keyspace; empty if it has none. */
function namespaceIn(key: Key, keyspace: Key): string {
  const rest = textFromKey(key.slice(keyspace.length) as Key)
  return rest.includes('/') ? rest.slice(0, rest.indexOf('/')) : ''
}
