/** The meaning of the end of a gRPC call or stream. Failures that etcd names are in the table that
 *  the engine's server shares; the rest is told by the status code. */

import { CacheError, type ErrorCode } from '@watchglass/base'
import { errorCode } from '../http2/frames.ts'
import { EtcdError, type FailureName, failureByText, grpcStatus } from '../proto/failures.ts'
import type { CallStatus } from './call.ts'

/** The meaning of status codes that are not the source's failure, when etcd does not say more. */
const codeOfStatus: Readonly<Record<number, ErrorCode>> = {
  [grpcStatus.invalidArgument]: 'invalid_request',
  [grpcStatus.notFound]: 'not_found',
  [grpcStatus.alreadyExists]: 'conflict',
  [grpcStatus.permissionDenied]: 'unauthorized',
  [grpcStatus.resourceExhausted]: 'overloaded',
  [grpcStatus.failedPrecondition]: 'invalid_request',
  [grpcStatus.outOfRange]: 'invalid_request',
  [grpcStatus.unimplemented]: 'unsupported',
  [grpcStatus.unauthenticated]: 'unauthorized',
}

/** The meaning of a status of HTTP where there is none of gRPC. */
const codeOfHttp: Readonly<Record<string, number>> = {
  400: grpcStatus.internal,
  401: grpcStatus.unauthenticated,
  403: grpcStatus.permissionDenied,
  404: grpcStatus.unimplemented,
  429: grpcStatus.unavailable,
  502: grpcStatus.unavailable,
  503: grpcStatus.unavailable,
  504: grpcStatus.unavailable,
}

/** The status in the last headers of a call: names and values alternating. */
export function statusOfHeaders(pairs: readonly string[]): CallStatus {
  const valueOf = (name: string): string | undefined => {
    const at = pairs.findIndex((text, i) => i % 2 === 0 && text === name)
    return at === -1 ? undefined : pairs[at + 1]
  }
  const code = valueOf('grpc-status')
  if (code !== undefined && /^\d{1,3}$/.test(code)) {
    return { code: Number(code), details: detailsOf(valueOf('grpc-message')) }
  }
  const http = valueOf(':status')
  if (http === undefined || http === '200') {
    return { code: grpcStatus.unknown, details: 'the stream has ended without a status' }
  }
  const details = `Received HTTP status code ${http}`
  return { code: codeOfHttp[http] ?? grpcStatus.unknown, details }
}

/** The status of a stream that was reset. */
export function statusOfReset(code: number): CallStatus {
  const isRefused = code === errorCode.refusedStream
  const isTooMuch = code === errorCode.enhanceYourCalm
  return {
    code: isTooMuch ? grpcStatus.resourceExhausted : grpcStatus.unavailable,
    details: `the stream was reset with code ${code}`,
    isUnsent: isRefused,
  }
}

/** The text of `grpc-message`: as it is, if it is not escaped as it should be. */
export function detailsOf(message = ''): string {
  try {
    return decodeURIComponent(message)
  } catch {
    return message
  }
}

/** Words of a server for logs, health and refusals: one line of bounded length. */
function shown(details: string): string {
  const line = details.slice(0, wordsMax).replace(/\p{Cc}+/gu, ' ')
  return details.length > wordsMax ? `${line}…` : line
}

const wordsMax = 500

/** The words of gRPC for Go for a request that is above its limit, and so above etcd's. */
const tooLong = /^grpc: received message larger than max /

/** The failure that a call to `endpoint` ended with. */
export function failureFromStatus(
  { code, details }: Pick<CallStatus, 'code' | 'details'>,
  endpoint: string,
): CacheError {
  const reason = failureByText(details)
  if (reason !== undefined) return new EtcdError(reason, {}, endpoint)
  if (tooLong.test(details)) return new EtcdError('requestTooLarge', {}, endpoint)
  const text = details === '' ? 'the stream has ended' : shown(details)
  return new CacheError(codeOfStatus[code] ?? 'source_failed', `etcd ${endpoint}: ${text}`)
}

/** The failure of an attempt to connect. */
export function unreachable(reason: string, endpoint: string): CacheError {
  const text = `etcd ${endpoint}: cannot be reached: ${explained(reason)}`
  return new CacheError('source_failed', text)
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
  [/alert certificate expired/, 'the certificate of --etcd-cert has expired'],
  [/alert unknown ca/, 'it does not know the authority of --etcd-cert'],
  [/^Failed to connect$/, 'is its address https://?'],
  [/wrong version number|packet length too long/, 'is its address http://?'],
  [/^Protocol error$/, 'is it an etcd?'],
]

/** A reason without OpenSSL's file names, and with what to look at. */
function explained(reason: string): string {
  const text = reason.replace(
    /^(?:write EPROTO )?[0-9A-F]+:error:[0-9A-F]+:SSL routines:[^:]*:([^:]+):.*$/s,
    '$1',
  )
  const cause = usualCauses.find(([pattern]) => pattern.test(text))
  return cause === undefined ? text : `${text}: ${cause[1]}`
}

/** The failure of a watch that etcd has canceled, for which it gives a status as text. */
export function failureFromCancel(reason: string, endpoint: string): CacheError {
  const details = reason.replace(/^rpc error: code = \w+ desc = /, '')
  return failureFromStatus({ code: grpcStatus.unknown, details }, endpoint)
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
