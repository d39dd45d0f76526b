/** The real clock and the real chance: the only place where time and randomness enter the program. */

import { performance } from 'node:perf_hooks'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer(delayMs, task) {
    const timer = setTimeout(task, delayMs)
    return () => {
      clearTimeout(timer)
    }
  },
  // What waits for input and output comes before an immediate, so work in slices lets requests through.
  yield: () =>
    new Promise(resolve => {
      setImmediate(resolve)
    }),
}

export const systemRandom: Random = { next: () => Math.random() }
