/** Work that is done again and again. */

import type { CancelTimer, Clock } from './clock.ts'

/** Does a task every so often until it is cancelled: the first time after one pause, and then a pause after each end. A task must not
 *  fail. */
export function repeat(
  clock: Clock,
  everyMs: number,
  task: () => void | Promise<void>,
): CancelTimer {
  let cancel: CancelTimer = () => {}
  let isCancelled = false
  const wait = (): void => {
    if (!isCancelled) cancel = clock.setTimer(everyMs, run)
  }
  const run = (): void => {
    const ended = task()
    if (ended === undefined) wait()
    else void ended.then(wait)
  }
  wait()
  return () => {
    isCancelled = true
    cancel()
  }
}
