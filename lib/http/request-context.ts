/** What one request has with it on its way. */

import type { RequestTarget } from '../kube/request.ts'
import type { ApiState } from './api-state.ts'
import type { ApiOptions, RequestFacts } from './api.ts'
import type { Exchange } from './exchange.ts'
import type { Reply } from './reply.ts'

export interface RequestContext {
  readonly options: ApiOptions
  /** Of the moment at which the request came. */
  readonly state: ApiState
  readonly exchange: Exchange
  readonly target: RequestTarget
  readonly reply: Reply
  /** Aborted when the client leaves. */
  readonly signal: AbortSignal
  /** When it came. */
  readonly startMs: number
  /** For metrics; filled in as it becomes known. */
  facts: RequestFacts
}
