/** Our failures as the status of a gRPC call. */

import { CacheError, type ErrorCode } from '@watchglass/base'
import { EtcdError, grpcStatus, type Message } from '@watchglass/etcd'
import type { GrpcStatus } from './listen/grpc-call.ts'

/** The meaning of each code to a client of etcd, where etcd itself has no words for it. */
const codes: Readonly<Record<ErrorCode, number>> = {
  invalid_request: grpcStatus.invalidArgument,
  not_found: grpcStatus.notFound,
  expired: grpcStatus.outOfRange,
  future_revision: grpcStatus.outOfRange,
  conflict: grpcStatus.failedPrecondition,
  too_large: grpcStatus.invalidArgument,
  not_ready: grpcStatus.unavailable,
  overloaded: grpcStatus.resourceExhausted,
  unsupported: grpcStatus.unimplemented,
  unauthorized: grpcStatus.permissionDenied,
  upstream_failed: grpcStatus.unavailable,
  source_failed: grpcStatus.unavailable,
  closed: grpcStatus.unavailable,
}

/** The status of a failure. */
export function statusOf(failure: CacheError): GrpcStatus {
  if (failure instanceof EtcdError) return { code: failure.status, details: failure.message }
  return { code: codes[failure.code], details: failure.message }
}

/** The failure of a message that could not be read. Anything but a `CacheError` is a bug of
 *  ours. */
export function malformed(error: unknown): CacheError {
  if (error instanceof CacheError) return error
  throw error
}

/** The status that gRPC for Go gives to a call that it does not have. */
export function unimplemented(path: string): GrpcStatus {
  const [, service = '', method = ''] = path.split('/')
  const details = services.has(service)
    ? `unknown method ${method} for service ${service}`
    : `unknown service ${service}`
  return { code: grpcStatus.unimplemented, details }
}

const services = new Set(
  ['KV', 'Watch', 'Lease', 'Cluster', 'Maintenance', 'Auth'].map(name => `etcdserverpb.${name}`),
)

/** The bytes of a message; etcd reads none that are compressed. */
export function uncompressed({ isCompressed, bytes }: Message): Buffer {
  if (isCompressed) throw new CacheError('unsupported', 'grpc: compressed messages are not read')
  return bytes
}
