import type { Steps } from '../../lib/base/slice.ts'

/** Runs all steps of an iterator at once. */
export function allSteps<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}
