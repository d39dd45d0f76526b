/** Outcomes as values: what is asked of the engine fails, and does not throw. */

import { CacheError } from '@watchglass/base'

/** The result of `evaluate`, or the failure that it throws; anything else that it throws is a
 *  bug. */
export function attempt<T>(evaluate: () => T): T | CacheError {
  try {
    return evaluate()
  } catch (error) {
    if (error instanceof CacheError) return error
    throw error
  }
}
