/** The usage of containers by declared rules; of containers that have none, by ours. */

import { shareOf, type UsageOf, usageOfContainer } from '../usage/usage.ts'
import type { PodRules, UsageRule } from './pod-rules.ts'

export function usageBy({ usages }: Pick<PodRules, 'usages'>): UsageOf {
  if (usages.isEmpty) return usageOfContainer
  return (pod, container, nowMs) => {
    const rule = usages.find(pod.metadata, container.name)
    if (rule === undefined) return usageOfContainer(pod, container, nowMs)
    if (rule === 'none of its own') return { cpu: 0, memory: 0 }
    const amount = (resource: 'cpu' | 'memory'): number => {
      let drawn = 0
      const place = `${pod.metadata.uid}/${container.name}/${resource}/${String(nowMs)}`
      const draw = (): number => shareOf(`${place}/${String(drawn++)}`)
      const figure = (rule satisfies UsageRule)[resource]
      // An expression that fails for a pod gives nothing, as in kwok.
      return Math.max(0, figure?.(pod, container, { ms: nowMs, draw }) ?? 0)
    }
    return { cpu: amount('cpu'), memory: amount('memory') }
  }
}
