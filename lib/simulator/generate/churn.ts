/** Writes changes of a generated cluster at a steady rate. */

import { CacheError, type CancelTimer, type Clock, repeat } from '@watchglass/base'
import type { GeneratedCluster, GeneratedStep } from './generated-cluster.ts'

/** The interval of steps: shorter than people can notice, and long enough to cost nothing. */
const tickMs = 20

/** After a stall (a pause of the process, a slow store), at most this much is made up for, so that
 *  it does not end in a burst. */
const backlogMaxMs = 1_000

export interface ChurnOptions {
  readonly cluster: GeneratedCluster
  readonly changesPerSecond: number
  readonly clock: Clock
  /** Writes the changes of one step. */
  readonly write: (step: GeneratedStep) => Promise<void>
  readonly onFailure: (failure: CacheError) => void
}

/** Reads a rate such as `100/s`. */
export function parseRate(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\/s$/.exec(text.trim())
  const rate = Number(match?.[1])
  if (match === null || !(rate > 0) || rate > 100_000) {
    throw new CacheError(
      'invalid_request',
      `rate "${text}" is not a number of changes a second, such as 100/s (at most 100000/s)`,
    )
  }
  return rate
}

/** Makes changes until it is stopped. A failed write is reported and the next step goes on. */
export function startChurn({
  cluster,
  changesPerSecond,
  clock,
  write,
  onFailure,
}: ChurnOptions): CancelTimer {
  let isStopped = false
  let lastMs = clock.monotonicMs()
  let due = 0
  const tick = async (): Promise<void> => {
    const nowMs = clock.monotonicMs()
    due += (Math.min(nowMs - lastMs, backlogMaxMs) * changesPerSecond) / 1000
    lastMs = nowMs
    while (due >= 1 && !isStopped) {
      const step = cluster.step(clock.wallMs())
      if (step.changes.length === 0) {
        // There is nothing that could change.
        cancel()
        return
      }
      due -= step.changes.length
      await write(step).catch((error: unknown) => {
        // A write that is running when churn is stopped may fail, because the store is closed next.
        if (!isStopped) onFailure(CacheError.from(error, 'source_failed'))
      })
    }
  }
  const cancel = repeat(clock, tickMs, tick)
  return () => {
    isStopped = true
    cancel()
  }
}
