/** Turns the failure of a read into the refusal that its client gets: lists, pages and watches have
 *  different texts for one failure. */

import type { CacheError } from '@watchglass/base'
import { type TokenEncryption, inconsistentToken } from './continuation.ts'
import type { ReadPlan } from './read-plan.ts'
import {
  continuationExpired,
  listExpired,
  objectNotFound,
  plainError,
  resourceVersionTooLarge,
  StatusError,
  uncachedWatchExpired,
  watchExpired,
} from './status.ts'

/** The refusal of a read, from the failure of the store or of the freshness gate. Failures whose
 *  text is the same for all reads are returned unchanged. */
export function readFailure(
  plan: ReadPlan,
  error: CacheError,
  encryption?: TokenEncryption,
): CacheError {
  if (error instanceof StatusError) return error
  if (error.code === 'future_revision') {
    const isAskedOfEtcd = plan.type === 'list' && plan.isFromEtcd && !isNegativeToEtcd(plan)
    if (isAskedOfEtcd) return plainError(futureRevision)
    const isOfStore = plan.type === 'list' && (plan.isLeftToStore || plan.isFromEtcd)
    const isCached = plan.resource.isWatchCached && !isOfStore
    const retryAfterSeconds = isCached ? 1 : undefined
    return resourceVersionTooLarge(requestedOf(plan), error.details.latest ?? 0, retryAfterSeconds)
  }
  if (error.code === 'expired') return expiredOf(plan, error.details.oldest ?? 0, encryption)
  if (error.code === 'not_found' && plan.type === 'get') {
    return objectNotFound(plan.resource, plan.name)
  }
  return error
}

/** Revisions are signed in etcd, which reads its present contents then. The server finds them too
 *  old. */
function isNegativeToEtcd(plan: ReadPlan): boolean {
  return BigInt(requestedOf(plan)) >= 2n ** 63n
}

/** etcd's own text. */
const futureRevision = 'etcdserver: mvcc: required revision is a future revision'

function expiredOf(
  plan: ReadPlan,
  oldest: number,
  encryption: TokenEncryption | undefined,
): StatusError {
  if (plan.type === 'watch') {
    return plan.resource.isWatchCached
      ? watchExpired(Number(requestedOf(plan)), oldest)
      : uncachedWatchExpired()
  }
  if (plan.type === 'list' && plan.continuation !== undefined) {
    return continuationExpired(
      inconsistentToken(plan.continuation, { prefix: plan.prefix, encryption }),
    )
  }
  return listExpired()
}

/** The revision that was asked for, with all its digits: the plan's number ends at 2^53 - 1. */
function requestedOf(plan: ReadPlan): string {
  if (plan.type === 'list' && plan.continuation !== undefined) return plan.continuation.revisionText
  return BigInt(plan.resourceVersion).toString()
}
