/** The real clock, except that a test decides when long timers run out: for tests of what a whole
 *  service does after a minute. */

import type { Clock } from '../../../lib/base/clock.ts'
import { systemClock } from '../../../lib/cache/ops/system.ts'

/** Timers are long from here on. */
const longMs = 5_000

export interface LongTimers {
  readonly clock: Clock
  /** Lets all run out that are at least so long and at most so long. */
  runOut(minMs: number, maxMs: number): void
}

export function longTimers(): LongTimers {
  const waiting = new Map<() => void, number>()
  return {
    clock: {
      ...systemClock,
      setTimer(delayMs, task) {
        if (delayMs < longMs) return systemClock.setTimer(delayMs, task)
        waiting.set(task, delayMs)
        return () => waiting.delete(task)
      },
    },
    runOut(minMs, maxMs) {
      for (const [task, delayMs] of waiting) {
        if (delayMs < minMs || delayMs > maxMs) continue
        waiting.delete(task)
        task()
      }
    },
  }
}
