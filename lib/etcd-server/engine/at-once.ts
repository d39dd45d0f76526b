/** The part of a large transaction that is done before others have their turn. One transaction may
 *  delete a hundred thousand keys. */

import type { Steps } from '@watchglass/base'

/** Changes that are made, or encoded for the journal, in a step: 1 to 2 ms. */
export const changesAtOnce = 1_000

/** Steps of a task that is small. */
// eslint-disable-next-line require-yield
export function* inOneStep<T>(task: () => T): Steps<T> {
  return task()
}
