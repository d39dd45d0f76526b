/** What goes wrong between us and the upstream, as clients are told. */

import { CacheError, type ErrorCode } from '../base/errors.ts'
import { type Status, StatusError } from '../kube/status.ts'

/** How a request failed:
 *  - `unreachable`: no connection could be made, so it was never seen by the upstream
 *  - `late`: the answer did not begin, or did not go on, in time
 *  - `broken`: the connection ended, or said what is no HTTP
 *  - `busy`: as many requests as there may be are under way */
export type UpstreamFault = 'unreachable' | 'late' | 'broken' | 'busy'

/** A failure with the Status that it is to the client. */
export class UpstreamFailure extends StatusError {
  readonly fault: UpstreamFault

  /** `message` names no address: clients need not know where the upstream is. `cause` does, for the log. */
  constructor(fault: UpstreamFault, message: string, cause?: unknown) {
    const { code, status } = statusOf[fault]
    super(code, { ...status, message })
    this.fault = fault
    this.cause = cause
  }
}

const retryAfterSeconds = 1

const statusOf: Readonly<
  Record<UpstreamFault, { readonly code: ErrorCode; readonly status: Omit<Status, 'message'> }>
> = {
  unreachable: {
    code: 'upstream_failed',
    status: { code: 503, reason: 'ServiceUnavailable', details: { retryAfterSeconds } },
  },
  late: { code: 'upstream_failed', status: { code: 504, reason: 'Timeout', details: {} } },
  broken: { code: 'upstream_failed', status: { code: 502, reason: 'ServiceUnavailable' } },
  busy: {
    code: 'overloaded',
    status: { code: 429, reason: 'TooManyRequests', details: { retryAfterSeconds } },
  },
}

/** The failure that something thrown by the HTTP client is. Decided by codes, never by texts. */
export function upstreamFailure(thrown: unknown, wasSent: boolean): CacheError {
  if (thrown instanceof CacheError) return thrown
  const code = codeOf(thrown)
  if (!wasSent) {
    return new UpstreamFailure('unreachable', 'the upstream cannot be reached', thrown)
  }
  return lateCodes.has(code)
    ? new UpstreamFailure('late', 'the upstream did not answer in time', thrown)
    : new UpstreamFailure('broken', 'the upstream ended the connection', thrown)
}

const lateCodes: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
])

/** Such as `ECONNREFUSED`; empty if there is none. Says enough for the log, and holds nothing that a client sent. */
export function codeOf(thrown: unknown): string {
  const code = (thrown as { readonly code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}
