/** etcd's failures, as they are on the wire: gRPC status and text, beside the code that they have
 *  here. Both ends use the table: the engine's server to answer, the client to understand. */

import { CacheError, type ErrorCode, type ErrorDetails } from '@watchglass/base'

/** The gRPC status codes that etcd uses. */
export const grpcStatus = {
  canceled: 1,
  unknown: 2,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  alreadyExists: 6,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  outOfRange: 11,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  dataLoss: 15,
  unauthenticated: 16,
} as const

interface FailureRow {
  readonly status: number
  readonly text: string
  readonly code: ErrorCode
}

export type FailureName =
  | 'emptyKey'
  | 'keyNotFound'
  | 'valueProvided'
  | 'leaseProvided'
  | 'tooManyOperations'
  | 'duplicateKey'
  | 'requestTooLarge'
  | 'compacted'
  | 'futureRevision'
  | 'leaseTtlTooLarge'
  | 'leaseNotFound'
  | 'leaseExists'
  | 'authNotEnabled'
  | 'authFailed'
  | 'invalidAuthToken'
  | 'noUser'
  | 'oldAuthRevision'
  | 'permissionDenied'
  | 'notLeader'
  | 'isLearner'
  | 'noSpace'
  | 'tooManyRequests'
  | 'noLeader'
  | 'leaderChanged'
  | 'timeout'
  | 'stopped'

const rows: Readonly<Record<FailureName, FailureRow>> = {
  emptyKey: invalid('key is not provided'),
  keyNotFound: invalid('key not found'),
  valueProvided: invalid('value is provided'),
  leaseProvided: invalid('lease is provided'),
  tooManyOperations: invalid('too many operations in txn request'),
  duplicateKey: invalid('duplicate key given in txn request'),
  requestTooLarge: { ...invalid('request is too large'), code: 'too_large' },
  compacted: outOfRange('mvcc: required revision has been compacted', 'expired'),
  futureRevision: outOfRange('mvcc: required revision is a future revision', 'future_revision'),
  leaseTtlTooLarge: outOfRange('too large lease TTL', 'invalid_request'),
  leaseNotFound: {
    status: grpcStatus.notFound,
    text: 'etcdserver: requested lease not found',
    code: 'not_found',
  },
  leaseExists: precondition('lease already exists', 'conflict'),
  authNotEnabled: precondition('authentication is not enabled', 'invalid_request'),
  invalidAuthToken: {
    status: grpcStatus.unauthenticated,
    text: 'etcdserver: invalid auth token',
    code: 'unauthorized',
  },
  // etcd calls these invalid arguments; they are about who asks, not about what is asked.
  authFailed: {
    ...invalid('authentication failed, invalid user ID or password'),
    code: 'unauthorized',
  },
  noUser: { ...invalid('user name is empty'), code: 'unauthorized' },
  oldAuthRevision: { ...invalid('revision of auth store is old'), code: 'unauthorized' },
  permissionDenied: {
    status: grpcStatus.permissionDenied,
    text: 'etcdserver: permission denied',
    code: 'unauthorized',
  },
  notLeader: precondition('not leader', 'source_failed'),
  isLearner: precondition('rpc not supported for learner', 'source_failed'),
  noSpace: exhausted('mvcc: database space exceeded'),
  tooManyRequests: exhausted('too many requests'),
  noLeader: unavailable('no leader'),
  leaderChanged: unavailable('leader changed'),
  timeout: unavailable('request timed out'),
  stopped: unavailable('server stopped'),
}

/** A failure of etcd's with its name: everybody above decides on `code`, the server sends `status`
 *  and the text. */
export class EtcdError extends CacheError {
  readonly reason: FailureName

  /** `endpoint` is where it came from, for people. */
  constructor(reason: FailureName, details: ErrorDetails = {}, endpoint?: string) {
    const { code, text } = rows[reason]
    super(code, endpoint === undefined ? text : `etcd ${endpoint}: ${text}`, details)
    this.reason = reason
  }

  /** The gRPC status code. */
  get status(): number {
    return rows[this.reason].status
  }
}

const reasonByText = new Map(
  Object.entries(rows).map(([reason, row]) => [row.text, reason as FailureName]),
)

/** The failure that etcd means by a gRPC message; `undefined` when the table does not have it. The
 *  text is etcd's interface: the status alone does not tell a compacted revision from a future
 *  one. */
export function failureByText(text: string): FailureName | undefined {
  return reasonByText.get(text)
}

function invalid(text: string): FailureRow {
  return {
    status: grpcStatus.invalidArgument,
    text: `etcdserver: ${text}`,
    code: 'invalid_request',
  }
}

function outOfRange(text: string, code: ErrorCode): FailureRow {
  return { status: grpcStatus.outOfRange, text: `etcdserver: ${text}`, code }
}

function precondition(text: string, code: ErrorCode): FailureRow {
  return { status: grpcStatus.failedPrecondition, text: `etcdserver: ${text}`, code }
}

function exhausted(text: string): FailureRow {
  return { status: grpcStatus.resourceExhausted, text: `etcdserver: ${text}`, code: 'overloaded' }
}

function unavailable(text: string): FailureRow {
  return { status: grpcStatus.unavailable, text: `etcdserver: ${text}`, code: 'source_failed' }
}
