/** A planned read as the mirror is asked for it: the keys, how fresh, and how old on purpose; and
 *  the contents that it gets. */

import {
  CacheError,
  type Clock,
  type Freshness,
  type KeyRange,
  singleKey,
  type Soon,
} from '@watchglass/base'
import {
  type Contents,
  type PassReason,
  readFailure,
  type ReadPlan,
  type ReadRequest,
  type Reads,
  type TokenEncryption,
  type WatchPlan,
} from '@watchglass/kube'
import { withDeadline } from '../request/deadline.ts'
import type { RequestContext } from '../request/request-context.ts'

/** Age that the contents are to have, on purpose, of a read that accepts old ones. */
export function staleMsOf(plan: ReadPlan, { faults }: RequestContext): number | undefined {
  if (faults === undefined || plan.type === 'watch') return undefined
  const { type } = plan.freshness
  return type === 'any' || type === 'not-older-than' ? faults.staleMs() : undefined
}

export function rangeOf(plan: ReadPlan): KeyRange {
  return plan.type === 'get' ? singleKey(plan.key) : plan.range
}

/** A watch from a revision accepts contents of any freshness. */
function freshnessOfStart({ start }: WatchPlan): Freshness {
  return start.type === 'after' ? { type: 'any' } : start.freshness
}

function workOf(plan: ReadPlan): ReadRequest['work'] {
  if (plan.type === 'watch') return plan.start.type === 'after' ? undefined : 'watch'
  return plan.type === 'get' || plan.limit > 0 ? 'little' : 'list'
}

export interface Wanted {
  readonly plan: ReadPlan
  readonly timeoutMs: number | undefined
}

export interface ContentsServices {
  readonly reads: Reads
  readonly tokenEncryption?: TokenEncryption | undefined
  readonly clock: Clock
}

/** Waits for contents that are as fresh as the plan requires; or returns where else to read
 *  them. */
export function contentsFor(
  context: RequestContext,
  { plan, timeoutMs }: Wanted,
  { reads, tokenEncryption, clock }: ContentsServices,
): Soon<Contents | PassReason | 'timed out'> {
  const request: ReadRequest = {
    keyspace: plan.keyspace,
    freshness: plan.type === 'watch' ? freshnessOfStart(plan) : plan.freshness,
    elsewhere: reads.elsewhere,
    work: workOf(plan),
    staleMs: staleMsOf(plan, context),
    reader: context,
  }
  const fail = (error: unknown): never => {
    throw readFailure(plan, CacheError.from(error, 'source_failed'), tokenEncryption)
  }
  // The mirror has its own timeout, far below that of requests.
  if (timeoutMs !== undefined) {
    return withDeadline(context, { clock, timeoutMs }, async signal =>
      reads.read({ ...request, reader: { signal } }),
    ).catch(fail)
  }
  try {
    const contents = reads.read(request)
    return contents instanceof Promise ? contents.catch(fail) : contents
  } catch (error) {
    return fail(error)
  }
}
