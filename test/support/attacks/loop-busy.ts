/** The share of a processor that this thread has used meanwhile, and the longest that one turn of
 *  its event loop has used of it. What other processes of the machine do counts neither way. */

import { readFileSync } from 'node:fs'

export interface Busy {
  readonly totalMs: number
  readonly longestMs: number
}

/** Often enough that short turns between two looks are no long one. Looking in every turn would
 *  keep a quiet loop busy. */
const everyMs = 2

/** Begins to look; the returned function ends it. */
export function watchBusy(): () => Busy {
  const startMs = busyMs()
  let lastMs = startMs
  let longestMs = 0
  const look = (): number => {
    const nowMs = busyMs()
    longestMs = Math.max(longestMs, nowMs - lastMs)
    lastMs = nowMs
    return nowMs
  }
  const timer = setInterval(look, everyMs)
  return () => {
    clearInterval(timer)
    return { totalMs: look() - startMs, longestMs }
  }
}

/** The time of the main thread. */
function busyMs(): number {
  const { pid } = process
  return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[0]) / 1e6
}
