/** The status of a deployment, in the words of upstream's controller. */

import type { ReplicaSetFact } from '../runtime/facts.ts'
import type { StatusCondition, Deployment } from '../runtime/objects.ts'
import { isSame } from '../runtime/reconcile-result.ts'
import { progressCondition } from './deployment-progress.ts'
import { maxUnavailableOf, sum } from './rollout.ts'

export interface DeploymentState {
  readonly now: string
  readonly nowMs: number
  /** Replica set of the present template. */
  readonly current: ReplicaSetFact | undefined
  readonly sets: readonly ReplicaSetFact[]
}

/** A merge patch; undefined if the status is as it should be. */
export function deploymentStatus(
  deployment: Deployment,
  { now, nowMs, current, sets }: DeploymentState,
): object | undefined {
  const { metadata, spec, status = {} } = deployment
  const wanted = spec.replicas ?? 1
  const replicas = sum(sets.map(set => set.statusReplicas))
  const available = sum(sets.map(set => set.available))
  const counts: Record<string, number> = {
    observedGeneration: metadata.generation ?? 1,
    replicas,
    updatedReplicas: current?.statusReplicas ?? 0,
    readyReplicas: sum(sets.map(set => set.ready)),
    availableReplicas: available,
    unavailableReplicas: Math.max(0, Math.max(wanted, replicas) - available),
  }
  const isComplete =
    current?.statusReplicas === wanted && replicas === wanted && available === wanted
  const known = status.conditions ?? []
  const isAvailable = available >= wanted - maxUnavailableOf(spec)
  const before = known.find(({ type }) => type === 'Progressing')
  const progress = progressCondition(deployment, { nowMs, current, isComplete, before, counts })
  const conditions = [dated(availability(isAvailable), known, now)]
  if (progress.condition !== undefined) {
    const { condition, isNews } = progress
    conditions.push(condition === before ? condition : dated(condition, known, now, isNews))
  }
  const failed = failureOf([...(current === undefined ? [] : [current]), ...sets])
  const failedBefore = known.find(({ type }) => type === failure)
  const own = ['Available', 'Progressing', failure]
  const others = known.filter(({ type }) => !own.includes(type))
  if (failed !== undefined) others.unshift(failed)
  const isTold =
    Object.entries(counts).every(([name, value]) => (status[name] ?? 0) === value) &&
    conditions.every(condition => known.includes(condition)) &&
    isSame(failedBefore, failed) &&
    (progress.condition !== undefined || before === undefined)
  if (isTold) return undefined
  const shown = Object.entries(counts).map(([name, value]) => [name, value === 0 ? null : value])
  return { ...Object.fromEntries(shown), conditions: [...conditions, ...others] }
}

const failure = 'ReplicaFailure'

/** The failure of the first set that has one, the present one first (getReplicaFailures). */
function failureOf(sets: readonly ReplicaSetFact[]): StatusCondition | undefined {
  const failed = sets.find(set => set.failure !== undefined)?.failure
  if (failed === undefined) return undefined
  const { lastTransitionTime = '' } = failed
  return { ...failed, lastUpdateTime: lastTransitionTime }
}

function availability(isAvailable: boolean): StatusCondition {
  return isAvailable
    ? {
        type: 'Available',
        status: 'True',
        reason: 'MinimumReplicasAvailable',
        message: 'Deployment has minimum availability.',
      }
    : {
        type: 'Available',
        status: 'False',
        reason: 'MinimumReplicasUnavailable',
        message: 'Deployment does not have minimum availability.',
      }
}

/** The known condition, if it says the same and is no news. */
function dated(
  condition: StatusCondition,
  known: readonly StatusCondition[],
  now: string,
  isNews: boolean = false,
): StatusCondition {
  const before = known.find(({ type }) => type === condition.type)
  const { status, reason, message } = condition
  const isTold = before?.status === status && before.reason === reason && before.message === message
  if (isTold && !isNews) return before
  const since = before?.status === status ? before.lastTransitionTime : undefined
  return { ...condition, lastUpdateTime: now, lastTransitionTime: since ?? now }
}
