/** Runs the orders that a process of this bench gets from its parent: one after the other, each with an answer. */

import type { UsageReport } from './orders.ts'

/** Answers every order with what `run` makes of it. Ends with the parent. */
export function answerOrders<T>(run: (order: T) => unknown): void {
  process.on('message', (order: T) => {
    void Promise.resolve(run(order)).then(report => process.send?.(report ?? {}))
  })
  process.on('disconnect', () => process.exit(0))
}

/** Calls `make` as often as a rate asks for, for so long, and says how often that was. Who falls behind makes up for it. */
export async function atRate(
  perSecond: number,
  ms: number,
  make: (index: number) => void,
): Promise<number> {
  const startMs = performance.now()
  let made = 0
  for (;;) {
    const passedMs = Math.min(performance.now() - startMs, ms)
    const due = Math.floor((passedMs / 1000) * perSecond)
    for (; made < due; made++) make(made)
    if (passedMs >= ms) return made
    await new Promise(resolve => {
      setTimeout(resolve, 1)
    })
  }
}

/** What a process has taken; with `isSettled`, after everything was collected that can be. */
export function usage(isSettled: boolean): UsageReport {
  const { user, system } = process.cpuUsage()
  if (isSettled) for (let i = 0; i < 3; i++) globalThis.gc?.()
  const { heapUsed, external, rss } = process.memoryUsage()
  return { cpuSeconds: (user + system) / 1e6, heapBytes: heapUsed + external, rssBytes: rss }
}
