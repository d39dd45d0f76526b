/** Imported into the attacked program: says how late its event loop was, and for how long the
 *  collector stopped it. */

import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks'
import '../list/with-parent.ts'

/** Since the last report, in milliseconds. */
export interface LoopReport {
  readonly lateP99: number
  readonly lateMax: number
  readonly collectedMax: number
}

const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()
let collectedMax = 0
new PerformanceObserver(list => {
  for (const { duration } of list.getEntries()) collectedMax = Math.max(collectedMax, duration)
}).observe({ entryTypes: ['gc'] })

const nanosecondsInMs = 1e6

process.on('message', () => {
  const report: LoopReport = {
    lateP99: delay.percentile(99) / nanosecondsInMs,
    lateMax: delay.max / nanosecondsInMs,
    collectedMax,
  }
  delay.reset()
  collectedMax = 0
  process.send?.(report)
})
// The listener must not keep the program alive.
process.channel?.unref()
