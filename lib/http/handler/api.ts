/** What the API is built from. Each stage of a request takes the part of it that it needs. */

import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import type { Segment, SharedSegments } from '../../codec/output/segments.ts'
import type { TokenEncryption } from '../../kube/continuation.ts'
import type { ListPlan } from '../../kube/read-plan.ts'
import type { Reads } from '../../kube/reads.ts'
import type { SegmentCache } from '../../store/segments.ts'
import type { ApiState } from '../../kube/api-state.ts'
import type { ResourceRoute } from '../../kube/request/routes.ts'
import type { RequestContext, RequestFacts } from '../exchange/request-context.ts'
import type { Comparison } from '../../front/proxy/comparison.ts'
import type { AuditLog } from '../audit/audit.ts'
import type { Authorizer } from '../auth/authorizer.ts'
import type { Faults } from '../exchange/faults.ts'
import type { Fairness } from '../limits/fairness.ts'
import type { Health } from '../admin/health.ts'
import type { PageSource } from '../page/page-source.ts'
import type { ProxyOptions } from '../../front/proxy/proxy-options.ts'
import type { OnFault } from '../server/exchange.ts'
import type { OpenWatches } from '../watch/open-watches.ts'

export interface RequestMetrics {
  request(facts: RequestFacts, code: number, tookMs: number): void
}

/** What /metrics shows. */
export interface MetricsText {
  /** In the Prometheus text format. */
  text(): Promise<string>
  readonly contentType: string
}

/** Does a write and answers it; refusals are thrown. */
export type AnswerWrite = (
  context: RequestContext,
  route: ResourceRoute,
  options: ApiOptions,
) => Promise<void>

export interface ApiOptions {
  /** The current state. */
  readonly state: () => ApiState
  readonly reads: Reads
  readonly watches: OpenWatches
  readonly segments: SegmentCache<Segment>
  /** Those that all threads of the process share, if it has several. */
  readonly sharedSegments?: SharedSegments | undefined
  readonly tokenEncryption?: TokenEncryption | undefined
  /** CBOR is offered beside the other media types. */
  readonly hasCbor: boolean
  /** Called for each list, so that an index can be built for the next one. Resolves when one that is being built will answer the list;
   *  undefined if none is. */
  readonly onList: (
    plan: ListPlan,
    state: ApiState,
    user: string | undefined,
  ) => Promise<void> | undefined
  /** Undefined: anyone who can connect may read everything. */
  readonly authorizer?: Authorizer | undefined
  /** Undefined: no limits for each user. */
  readonly fairness?: Fairness | undefined
  /** Undefined: nothing goes wrong on purpose. */
  readonly faults?: Faults | undefined
  /** Undefined: nothing is recorded. */
  readonly audit?: AuditLog | undefined
  /** Passes requests to the upstream; undefined without one. */
  readonly proxy?: ProxyOptions | undefined
  /** Compares answers of the mirror with the upstream's; undefined without `--compare`. */
  readonly comparison?: Comparison | undefined
  /** Undefined where this server only reads. */
  readonly answerWrite?: AnswerWrite | undefined
  readonly health: Health
  readonly requests: RequestMetrics
  readonly metrics: MetricsText
  /** The page at `/`, for browsers. Undefined with an upstream, whose page that would be, and where callers are authorized: then it is
   *  on the admin listener only. */
  readonly page: PageSource | undefined
  readonly clock: Clock
  readonly logger: Logger
  /** Reports a bug of this program: it is logged and counted. */
  readonly onFault: OnFault
  /** A fresh id for each request. */
  readonly auditId: () => string
}
