/** The real clock and the real random source: the only place where time and randomness enter the
 *  program. */

import { performance } from 'node:perf_hooks'
import type { Clock, Random } from '@watchglass/base'
import { Turns } from './turns.ts'

const turns = new Turns(() => performance.now())

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer(delayMs, task) {
    const timer = setTimeout(task, delayMs)
    return () => {
      clearTimeout(timer)
    }
  },
  // One queue for the whole process, so that the loop is not held however many tasks there are.
  yield: place => turns.next(place),
}

export const systemRandom: Random = { next: () => Math.random() }
