/** The usage of containers by declared rules; of containers that have none, by ours. */

import {
  shareOf,
  type Usage,
  type UsageOf,
  usageOfContainer,
  type UsingContainer,
  type UsingPod,
} from '../usage/usage.ts'
import type { UsageRule } from './pod-rules.ts'
import type { RuleSet } from './rule-set.ts'

/** By the first of these sets that has a rule for the container. */
export function usageBy(sets: () => readonly RuleSet<UsageRule>[]): UsageOf {
  return (pod, container, nowMs) => {
    for (const rules of sets()) {
      const rule = rules.isEmpty ? undefined : rules.find(pod.metadata, container.name)
      if (rule === 'none of its own') return { cpu: 0, memory: 0 }
      if (rule !== undefined) return usageOf(rule, { pod, container, nowMs })
    }
    return usageOfContainer(pod, container, nowMs)
  }
}

interface Measured {
  readonly pod: UsingPod
  readonly container: UsingContainer
  readonly nowMs: number
}

function usageOf(rule: UsageRule, { pod, container, nowMs }: Measured): Usage {
  const amount = (resource: 'cpu' | 'memory'): number => {
    let drawn = 0
    const place = `${pod.metadata.uid}/${container.name}/${resource}/${String(nowMs)}`
    const draw = (): number => shareOf(`${place}/${String(drawn++)}`)
    // An expression that fails for a pod gives nothing, as in kwok.
    return Math.max(0, rule[resource]?.(pod, container, { ms: nowMs, draw }) ?? 0)
  }
  return { cpu: amount('cpu'), memory: amount('memory') }
}
