/** The next numbers of replicas for a deployment's replica sets. */

import type { Deployment } from '../runtime/objects.ts'

/** A replica set as it is. */
export interface ReplicaShare {
  readonly replicas: number
  readonly available: number
  /** Pods that are there. */
  readonly present: number
}

export interface Rollout {
  readonly current: number
  /** In the order of `old`. */
  readonly old: readonly number[]
}

/** New pods come as far as the surge allows, and old ones go as far as enough stay available. `old`
 *  begins with the oldest. */
export function nextRollout(
  { replicas: wanted = 1, strategy }: Deployment['spec'],
  current: ReplicaShare,
  old: readonly ReplicaShare[],
): Rollout {
  if (strategy?.type === 'Recreate') {
    const isEmpty = old.every(({ replicas, present }) => replicas === 0 && present === 0)
    return { current: isEmpty ? wanted : current.replicas, old: old.map(() => 0) }
  }
  const [surge, unavailable] = limitsOf(strategy?.rollingUpdate, wanted)
  const oldReplicas = sum(old.map(({ replicas }) => replicas))
  const room = Math.max(0, wanted + surge - oldReplicas)
  const next =
    current.replicas > wanted ? wanted : Math.max(current.replicas, Math.min(wanted, room))
  const available = sum(old.map(share => Math.min(share.available, share.replicas)))
  const missing = Math.max(0, wanted - unavailable - Math.min(current.available, next))
  return { current: next, old: reduced(old, Math.max(0, available - missing)) }
}

/** Pods that are not available go at once; of the others, as many as may, the oldest first. */
function reduced(old: readonly ReplicaShare[], spare: number): number[] {
  let left = spare
  return old.map(({ replicas, available }) => {
    const kept = Math.min(replicas, available)
    const gone = Math.min(kept, left)
    left -= gone
    return kept - gone
  })
}

/** The pods that may be missing: none of a deployment that is recreated (MaxUnavailable). */
export function maxUnavailableOf({ replicas = 1, strategy }: Deployment['spec']): number {
  if (strategy?.type === 'Recreate') return 0
  return limitsOf(strategy?.rollingUpdate, replicas)[1]
}

function limitsOf(
  limits: NonNullable<Deployment['spec']['strategy']>['rollingUpdate'],
  wanted: number,
): [number, number] {
  const surge = percentOf(limits?.maxSurge ?? '25%', wanted, Math.ceil)
  const unavailable = percentOf(limits?.maxUnavailable ?? '25%', wanted, Math.floor)
  return surge === 0 && unavailable === 0 ? [0, 1] : [surge, Math.min(unavailable, wanted)]
}

/** A number, or a share of the whole as `25%` (intstr.GetScaledValueFromIntOrPercent). */
export function percentOf(
  part: number | string,
  whole: number,
  round: (x: number) => number,
): number {
  if (typeof part === 'number') return part
  return round((Number.parseInt(part, 10) / 100) * whole) || 0
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0)
}
