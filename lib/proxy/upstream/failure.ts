/** Failures between us and the upstream, with the Status that the client gets. */

import { CacheError, type ErrorCode } from '@watchglass/base'
import { badRequest, type Status, StatusError } from '@watchglass/kube'

/** The faults of a request: */
export type UpstreamFault = 'unreachable' | 'late' | 'broken' | 'busy'

/** A failure with the Status that the client gets. */
export class UpstreamFailure extends StatusError {
  readonly fault: UpstreamFault

  /** `message` has no address: clients must not learn where the upstream is. `cause` has it, for
   *  the log. */
  constructor(fault: UpstreamFault, message: string, cause?: unknown) {
    const { code, status } = statusOf[fault]
    super(code, { ...status, message })
    this.fault = fault
    this.cause = cause
  }
}

/** An answer of the upstream with another code than the one that was asked for. */
export class UnexpectedAnswer extends CacheError {
  readonly answered: number

  constructor(path: string, answered: number, hint = '') {
    super('upstream_failed', `${path} is answered ${answered}${hint}`)
    this.answered = answered
  }
}

/** True if an answer cannot be had now: the upstream is busy, fails, is late or cannot be reached.
 *  False if it has answered something else than was expected. */
export function isOutage(error: unknown): boolean {
  if (error instanceof UnexpectedAnswer) return isOutageCode(error.answered)
  return error instanceof UpstreamFailure
}

export function isOutageCode(code: number): boolean {
  return code === 429 || code >= 500
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

/** Classifies an error of the HTTP client, by its code and never by its text. */
export function upstreamFailure(thrown: unknown, wasSent: boolean): CacheError {
  if (thrown instanceof CacheError) return thrown
  const code = codeOf(thrown)
  if (unfitCodes.has(code)) return badRequest('the request cannot be passed on as it is')
  if (!wasSent) {
    return new UpstreamFailure('unreachable', 'the upstream cannot be reached', thrown)
  }
  return lateCodes.has(code)
    ? new UpstreamFailure('late', 'the upstream did not answer in time', thrown)
    : new UpstreamFailure('broken', 'the upstream closed the connection', thrown)
}

const lateCodes: ReadonlySet<string> = new Set([
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'ETIMEDOUT',
])

/** A head that cannot be sent unchanged: a character above U+00FF would become another one on the
 *  wire, such as a line break. */
const unfitCodes: ReadonlySet<string> = new Set(['UND_ERR_INVALID_ARG', 'UND_ERR_NOT_SUPPORTED'])

/** The code of an error, such as `ECONNREFUSED`; empty if there is none. For the log: it has
 *  nothing that a client sent. */
export function codeOf(thrown: unknown): string {
  const code = (thrown as { readonly code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}

/** A failure for the log: what it came from, which clients are not told, and what to look at. */
export function reasonFor(error: unknown): string {
  const { message, cause } = CacheError.from(error, 'upstream_failed')
  if (!(cause instanceof Error) || cause.message === '') return message
  const code = codeOf(cause)
  const hint = untrustedCodes.has(code)
    ? ': --upstream-ca, or the kubeconfig, has not the authority of its certificate'
    : notTlsCodes.has(code)
      ? ': is its address http://?'
      : ''
  // OpenSSL's own message names a thread and a line of its source; its reason says the same.
  const { reason } = cause as { readonly reason?: unknown }
  return `${message}: ${typeof reason === 'string' ? reason : cause.message}${hint}`
}

/** Codes of OpenSSL for a certificate whose authority is not known. */
const untrustedCodes: ReadonlySet<string> = new Set([
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
])

/** Codes for an answer that is not TLS. */
const notTlsCodes: ReadonlySet<string> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
])
