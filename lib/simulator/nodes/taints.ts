/** Pods leave nodes that have taints which they do not tolerate, and nodes that are gone. */

import type { Taint, Toleration } from '../runtime/objects.ts'
import { tolerates } from './placing.ts'

/** The time after which a pod is to leave, since the taints came; undefined if it may stay. */
export function leavesAfterMs(
  taints: readonly Taint[],
  tolerations: readonly Toleration[],
): number | undefined {
  let leastMs: number | undefined
  for (const taint of taints) {
    if (taint.effect !== 'NoExecute') continue
    const tolerating = tolerations.filter(one => tolerates(one, taint))
    if (tolerating.length === 0) return 0
    for (const { tolerationSeconds } of tolerating) {
      if (tolerationSeconds === undefined) continue
      const ms = Math.max(0, tolerationSeconds * 1_000)
      leastMs = Math.min(leastMs ?? Infinity, ms)
    }
  }
  return leastMs
}
