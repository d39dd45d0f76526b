/** Reads that pass to an upstream of a version without data here: everything that comparing objects does not prove. Each version has its
 *  own texts of refusals and makes its own tokens and bookmarks, and how a watch may begin depends on feature gates. */

import { CacheError } from '../../base/errors.ts'
import { PassInstead, passReasonOf } from '../../kube/pass-instead.ts'
import type { ReadPlan } from '../../kube/read-plan.ts'
import type { Query } from '../../kube/request/request.ts'
import { statusFromError } from '../../kube/status.ts'

/** Throws `PassInstead` for a read whose answer holds more than objects. */
export function checkUncovered(plan: ReadPlan, query: Query): void {
  const isMoreThanObjects =
    (plan.type === 'watch' && (plan.allowBookmarks || query.text('sendInitialEvents') !== '')) ||
    (plan.type === 'list' && (plan.limit > 0 || query.text('continue') !== ''))
  if (isMoreThanObjects) throw new PassInstead('version')
}

/** The error to throw instead of a refusal. All versions use the same texts for a missing object and for a revision that is too old. */
export function uncoveredRefusal(error: unknown): unknown {
  if (!(error instanceof CacheError) || passReasonOf(error) !== undefined) return error
  return ownRefusals.has(statusFromError(error).code) ? new PassInstead('version') : error
}

const ownRefusals: ReadonlySet<number> = new Set([400, 405, 406, 415, 422, 500, 504])
