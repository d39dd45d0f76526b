/** The calls of etcd's API that the embedded engine answers over gRPC: where they come in, how
 *  their messages are read and written, and who answers. A call that is not here is answered by
 *  gRPC itself, as not implemented. */

import type { Clock } from '@watchglass/base'
import type { Admin } from './engine/admin.ts'
import { sizeOfEntry } from './engine/fragments.ts'
import { requestMaxBytes } from './engine/request-size.ts'
import type { EngineMember, MemberReply } from './engine/member.ts'
import {
  type Codec,
  compactionCodec,
  deleteRangeCodec,
  deleteRangeResponseCodec,
  emptyCodec,
  EtcdError,
  headerResponseCodec,
  leaseGrantCodec,
  leaseIdCodec,
  leaseResponseCodec,
  putCodec,
  putResponseCodec,
  rangeCodec,
  rangeResponseCodec,
  statusResponseCodec,
  txnCodec,
  txnResponseCodec,
} from '@watchglass/etcd'
import {
  authStatusResponseCodec,
  leaseLeasesResponseCodec,
  leaseTimeToLiveCodec,
  leaseTimeToLiveResponseCodec,
  memberListResponseCodec,
} from './engine/admin-messages.ts'

/** Whom calls are answered by. */
export interface Answerer {
  readonly member: EngineMember
  readonly admin: Admin
  /** The time that answers of any size are divided by. */
  readonly clock: Clock
}

/** A call of one message each way. */
export interface UnaryMethod {
  readonly path: string
  /** The request's bytes in, the response's bytes or the failure out. */
  answer(answerer: Answerer, request: Buffer, reply: MemberReply<Buffer>): void
}

interface MethodParts<Request, Response> {
  readonly path: string
  readonly request: Codec<Request>
  readonly response: Codec<Response>
  /** The bytes that a request may have: etcd bounds what it would write to its log. */
  readonly maxBytes?: number
  /** Estimated size of a response, where it may be large. */
  readonly sizeOf?: (response: Response) => number
  readonly call: (answerer: Answerer, request: Request, reply: MemberReply<Response>) => void
}

const kv: readonly UnaryMethod[] = [
  unary({
    path: '/etcdserverpb.KV/Range',
    request: rangeCodec,
    response: rangeResponseCodec,
    sizeOf: ({ entries }) => entries.reduce((sum, entry) => sum + sizeOfEntry(entry), 64),
    call: ({ member }, request, reply) => member.readRange(request, reply),
  }),
  unary({
    path: '/etcdserverpb.KV/Put',
    request: putCodec,
    response: putResponseCodec,
    maxBytes: requestMaxBytes,
    call: ({ member }, request, reply) => member.put(request, reply),
  }),
  unary({
    path: '/etcdserverpb.KV/DeleteRange',
    request: deleteRangeCodec,
    response: deleteRangeResponseCodec,
    maxBytes: requestMaxBytes,
    call: ({ member }, request, reply) => member.deleteRange(request, reply),
  }),
  unary({
    path: '/etcdserverpb.KV/Txn',
    request: txnCodec,
    response: txnResponseCodec,
    maxBytes: requestMaxBytes,
    call: ({ member }, request, reply) => member.txn(request, reply),
  }),
  unary({
    path: '/etcdserverpb.KV/Compact',
    request: compactionCodec,
    response: headerResponseCodec,
    call: ({ member }, request, reply) => member.compact(request, reply),
  }),
]

const lease: readonly UnaryMethod[] = [
  unary({
    path: '/etcdserverpb.Lease/LeaseGrant',
    request: leaseGrantCodec,
    response: leaseResponseCodec,
    call: ({ admin }, request, reply) => admin.grantLease(request, reply),
  }),
  unary({
    path: '/etcdserverpb.Lease/LeaseRevoke',
    request: leaseIdCodec,
    response: headerResponseCodec,
    call: ({ admin }, request, reply) => admin.revokeLease(request, reply),
  }),
  unary({
    path: '/etcdserverpb.Lease/LeaseTimeToLive',
    request: leaseTimeToLiveCodec,
    response: leaseTimeToLiveResponseCodec,
    call: ({ admin }, request, reply) => admin.leaseTimeToLive(request, reply),
  }),
  unary({
    path: '/etcdserverpb.Lease/LeaseLeases',
    request: emptyCodec,
    response: leaseLeasesResponseCodec,
    call: ({ admin }, _request, reply) => reply(admin.leases()),
  }),
]

const state: readonly UnaryMethod[] = [
  unary({
    path: '/etcdserverpb.Cluster/MemberList',
    request: emptyCodec,
    response: memberListResponseCodec,
    call: ({ admin }, _request, reply) => reply(admin.members()),
  }),
  unary({
    path: '/etcdserverpb.Maintenance/Status',
    request: emptyCodec,
    response: statusResponseCodec,
    call: ({ admin }, _request, reply) => reply(admin.status()),
  }),
  unary({
    path: '/etcdserverpb.Maintenance/Alarm',
    request: emptyCodec,
    response: headerResponseCodec,
    call: ({ admin }, _request, reply) => reply(admin.alarms()),
  }),
  unary({
    path: '/etcdserverpb.Auth/AuthStatus',
    request: emptyCodec,
    response: authStatusResponseCodec,
    call: ({ admin }, _request, reply) => reply(admin.authStatus()),
  }),
]

const authCalls = [
  'AuthEnable',
  'AuthDisable',
  'Authenticate',
  'UserAdd',
  'UserGet',
  'UserList',
  'UserDelete',
  'UserChangePassword',
  'UserGrantRole',
  'UserRevokeRole',
  'RoleAdd',
  'RoleGet',
  'RoleList',
  'RoleDelete',
  'RoleGrantPermission',
  'RoleRevokePermission',
]

/** The calls of users and roles. The embedded etcd has none, and answers each of them so. */
const auth = authCalls.map(name =>
  unary({
    path: `/etcdserverpb.Auth/${name}`,
    request: emptyCodec,
    response: headerResponseCodec,
    call: (_answerer, _request, reply) => reply(new EtcdError('authNotEnabled')),
  }),
)

/** All calls of one message each way. */
export const unaryMethods: readonly UnaryMethod[] = [...kv, ...lease, ...state, ...auth]

function unary<Request, Response>(parts: MethodParts<Request, Response>): UnaryMethod {
  const { path, request, response, maxBytes = Infinity, sizeOf, call } = parts
  return {
    path,
    answer(answerer, bytes, reply) {
      if (bytes.length > maxBytes) {
        reply(new EtcdError('requestTooLarge'))
        return
      }
      call(answerer, request.decode(bytes), outcome => {
        reply(outcome instanceof Error ? outcome : response.encode(outcome, sizeOf?.(outcome)))
      })
    },
  }
}
