/** What is left to an upstream of a version that there is no data of: everything that comparing objects does not prove. Refusals are
 *  worded by each version in its own way, tokens and bookmarks are made by it, and what a watch may begin with changes with gates. */

import { CacheError } from '../../base/errors.ts'
import { PassInstead, passReasonOf } from '../pass-instead.ts'
import type { ReadPlan } from '../read-plan.ts'
import type { Query } from '../request/request.ts'
import { statusFromError } from '../status.ts'

/** Throws `PassInstead` for a read whose answer holds more than objects. */
export function checkUncovered(plan: ReadPlan, query: Query): void {
  const isMoreThanObjects =
    (plan.type === 'watch' && (plan.allowBookmarks || query.text('sendInitialEvents') !== '')) ||
    (plan.type === 'list' && (plan.limit > 0 || query.text('continue') !== ''))
  if (isMoreThanObjects) throw new PassInstead('version')
}

/** What to throw instead of a refusal. That an object is not there, and that a revision is too old, every version says alike. */
export function uncoveredRefusal(error: unknown): unknown {
  if (!(error instanceof CacheError) || passReasonOf(error) !== undefined) return error
  return ownRefusals.has(statusFromError(error).code) ? new PassInstead('version') : error
}

const ownRefusals: ReadonlySet<number> = new Set([400, 405, 406, 415, 422, 500, 504])
