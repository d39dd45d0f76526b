/** The wait of a command that runs until it is asked to stop. */

import { sleep } from '@watchglass/base'
import { systemClock } from '@watchglass/cache'

/** A timer keeps the process alive as well as the listeners do, and no timer is longer than
 *  this. */
export async function untilAborted(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) await sleep(systemClock, 2 ** 31 - 1, signal)
}
