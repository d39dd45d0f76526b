/** Parts that the API is built from. Each stage of a request takes the part of it that it needs. */

import type { Tracer } from '@watchglass/base'
import type { DocumentServices } from '../documents/documents.ts'
import type { ReadServices } from './answer-read.ts'
import type { ApiState, PassReason, Reported, ResourceRoute } from '@watchglass/kube'
import type { RequestContext, RequestFacts } from '../request/request-context.ts'
import type { AuditLog } from '../audit/audit.ts'
import type { AccessGate } from '../auth/gate.ts'
import type { SwitchableFaults } from '../request/faults.ts'
import type { OnFault } from '../server/http-request.ts'
import type { SlowRequests } from './slow-requests.ts'

export interface RequestMetrics {
  request(facts: RequestFacts, code: number, tookMs: number): void
}

/** Counts requests as the metrics of kube-apiserver do. */
export interface RequestReports {
  /** Requests that do not last, while they are under way. */
  readonly inFlight: {
    began(isMutating: boolean, nowMs: number): void
    ended(isMutating: boolean): void
  }
  answered(
    request: Reported,
    figures: { readonly code: number; readonly tookMs: number; readonly bytes: number },
  ): void
  /** A watch has begun, and is answered when it has ended. */
  opened(request: Reported): void
  closed(request: Reported): void
}

/** Answers what is more than a read of the mirror: writes, logs, streams to and from pods, figures.
 *  Refusals are thrown. */
export type AnswerFromCluster = (
  context: RequestContext,
  route: ResourceRoute,
  services: ReadServices & Pick<DocumentServices, 'hasCbor'>,
) => Promise<undefined>

/** Answers views of lists: package views. */
export interface AnswerViews {
  /** Answers from the mirror, as one of its user's reads. Refusals are thrown; a reason refuses as
   *  `viewNotHere` says. */
  answer(
    context: RequestContext,
    route: ResourceRoute,
    services: ReadServices,
  ): Promise<PassReason | undefined>
  /** The OpenAPI document of views, as JSON. */
  document(): Promise<string>
}

export interface ApiOptions extends ReadServices, DocumentServices {
  /** The registry, whose state is the present one. */
  readonly registry: { readonly state: ApiState }
  /** Undefined: anyone who can connect may read everything. */
  readonly authorizer?: AccessGate | undefined
  /** Undefined: nothing goes wrong on purpose. */
  readonly faults?: SwitchableFaults | undefined
  /** Undefined: nothing is recorded. */
  readonly audit?: AuditLog | undefined
  /** Undefined where this server only reads. */
  readonly cluster?: AnswerFromCluster | undefined
  /** Undefined: nothing is known below /views/. */
  readonly views?: AnswerViews | undefined
  readonly requests: RequestMetrics
  readonly slow: SlowRequests
  /** Undefined: nothing is traced. */
  readonly tracer?: Tracer | undefined
  /** Undefined where the names of kube-apiserver are not asked for. */
  readonly reports?: RequestReports | undefined
  /** Reports a bug of this program: it is logged and counted. */
  readonly onFault: OnFault
  /** A fresh id for each request. */
  readonly auditId: () => string
}
