/** The meaning of the end of a gRPC call or stream. Failures that etcd names are in the table that
 *  the engine's server shares; the rest is told by the status code. */

import { type StatusObject, status } from '@grpc/grpc-js'
import { CacheError, type ErrorCode } from '../../base/errors.ts'
import { EtcdError, type FailureName, failureByText } from '../proto/failures.ts'

/** The meaning of each status code when etcd does not say more. */
const codeOfStatus: Readonly<Record<status, ErrorCode>> = {
  [status.OK]: 'source_failed', // a stream that ended without a reason
  [status.CANCELLED]: 'source_failed',
  [status.UNKNOWN]: 'source_failed',
  [status.INVALID_ARGUMENT]: 'invalid_request',
  [status.DEADLINE_EXCEEDED]: 'source_failed',
  [status.NOT_FOUND]: 'not_found',
  [status.ALREADY_EXISTS]: 'conflict',
  [status.PERMISSION_DENIED]: 'unauthorized',
  [status.RESOURCE_EXHAUSTED]: 'overloaded',
  [status.FAILED_PRECONDITION]: 'invalid_request',
  [status.ABORTED]: 'source_failed',
  [status.OUT_OF_RANGE]: 'invalid_request',
  [status.UNIMPLEMENTED]: 'unsupported',
  [status.INTERNAL]: 'source_failed',
  [status.UNAVAILABLE]: 'source_failed',
  [status.DATA_LOSS]: 'source_failed',
  [status.UNAUTHENTICATED]: 'unauthorized',
}

/** The words of gRPC for Go for a request that is above its limit, and so above etcd's. */
const tooLong = /^grpc: received message larger than max /

/** The failure that a call to `endpoint` ended with. */
export function failureFromStatus(
  { code, details }: Pick<StatusObject, 'code' | 'details'>,
  endpoint: string,
): CacheError {
  const reason = failureByText(details)
  if (reason !== undefined) return new EtcdError(reason, {}, endpoint)
  if (tooLong.test(details)) return new EtcdError('requestTooLarge', {}, endpoint)
  const text = details === '' ? 'the stream has ended' : withoutNotes(details)
  return new CacheError(codeOfStatus[code] ?? 'source_failed', `etcd ${endpoint}: ${text}`)
}

/** The reason that grpc-js gives when it has no connection, without the words around it. */
function withoutNotes(details: string): string {
  const [, reason] =
    /^No connection established\. Last error: (?:Error: )?(.+)\. Resolution note: $/s.exec(
      details,
    ) ?? []
  return reason === undefined ? details : `cannot be reached: ${explained(reason)}`
}

/** The usual causes of reasons. */
const usualCauses: readonly (readonly [RegExp, string])[] = [
  [
    /unable to verify|self[- ]signed certificate|unable to get (?:local )?issuer/,
    '--etcd-cacert has not the authority of its certificate',
  ],
  [
    /alert (?:certificate required|bad certificate|handshake failure)/,
    'it wants a client certificate that it knows: --etcd-cert and --etcd-key',
  ],
  [/alert unknown ca/, 'it does not know the authority of --etcd-cert'],
  [/^Failed to connect$/, 'is its address https://?'],
  [/wrong version number|packet length too long/, 'is its address http://?'],
  [/^Protocol error$/, 'is it an etcd?'],
]

/** A reason without OpenSSL's file names and gRPC's time, and with what to look at. */
function explained(reason: string): string {
  const text = reason
    .replace(/\s{0,9}\(\d{4}-\d\d-\d\dT[\d:.]{1,40}Z\)\s*$/, '')
    .replace(/^(?:write EPROTO )?[0-9A-F]+:error:[0-9A-F]+:SSL routines:[^:]*:([^:]+):.*$/s, '$1')
  const cause = usualCauses.find(([pattern]) => pattern.test(text))
  return cause === undefined ? text : `${text}: ${cause[1]}`
}

/** The failure of a watch that etcd has canceled, for which it gives a status as text. */
export function failureFromCancel(reason: string, endpoint: string): CacheError {
  const details = reason.replace(/^rpc error: code = \w+ desc = /, '')
  return failureFromStatus({ code: status.UNKNOWN, details }, endpoint)
}

/** The failure of bytes from etcd that cannot be read: it is not etcd, or has a value that we
 *  cannot hold. */
export function unreadable(thrown: unknown, endpoint: string): CacheError {
  const { message } = CacheError.from(thrown, 'source_failed')
  const text = `etcd ${endpoint} sent what cannot be read: ${message}`
  return new CacheError('source_failed', text, { cause: thrown })
}

/** True when another token may help: this one has run out, or is older than a change of users and
 *  roles. */
export function isTokenRejected(thrown: unknown): boolean {
  return isOneOf(thrown, ['invalidAuthToken', 'noUser', 'oldAuthRevision'])
}

/** True when a watch may have been refused because of its token: old versions say so without the
 *  reason. */
export function isWatchRefused(thrown: unknown): boolean {
  return isTokenRejected(thrown) || isOneOf(thrown, ['permissionDenied'])
}

/** True when etcd does not ask anybody who they are. */
export function isAuthNotEnabled(thrown: unknown): boolean {
  return isOneOf(thrown, ['authNotEnabled'])
}

function isOneOf(thrown: unknown, reasons: readonly FailureName[]): boolean {
  return thrown instanceof EtcdError && reasons.includes(thrown.reason)
}
