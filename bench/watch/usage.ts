import type { UsageReport } from './orders.ts'

/** The resources that a process has taken; with `isSettled`, after everything was collected that
 *  can be. */
export function usage(isSettled: boolean): UsageReport {
  const { user, system } = process.cpuUsage()
  if (isSettled) for (let i = 0; i < 3; i++) globalThis.gc?.()
  const { heapUsed, external, rss } = process.memoryUsage()
  return { cpuSeconds: (user + system) / 1e6, heapBytes: heapUsed + external, rssBytes: rss }
}
