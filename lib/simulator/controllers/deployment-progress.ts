/** The condition Progressing of a deployment: whether its rollout goes on, is done, or has taken
 *  longer than its deadline (syncRolloutStatus and getNewReplicaSet of upstream). */

import type { ReplicaSetFact } from '../runtime/facts.ts'
import type { Deployment, StatusCondition } from '../runtime/objects.ts'

/** Defaulted by the server. */
const defaultSeconds = 600
/** A deployment with that many has no deadline (HasProgressDeadline). */
const noDeadline = 2 ** 31 - 1

const complete = 'NewReplicaSetAvailable'
const timedOut = 'ProgressDeadlineExceeded'

export interface ProgressState {
  readonly nowMs: number
  readonly current: ReplicaSetFact | undefined
  readonly isComplete: boolean
  readonly before: StatusCondition | undefined
  /** The numbers of pods, as the status is going to show them. */
  readonly counts: Readonly<Record<string, number>>
}

/** Undefined: there is none. `isNews`: its time is that of now, also if it says the same. */
export function progressCondition(
  deployment: Deployment,
  state: ProgressState,
): { readonly condition: StatusCondition | undefined; readonly isNews: boolean } {
  const { metadata, spec } = deployment
  const { current, before, counts, isComplete } = state
  const told = (status: string, reason: string, message: string): StatusCondition => {
    return { type: 'Progressing', status, reason, message }
  }
  if (deadlineSeconds(spec) === noDeadline) return { condition: undefined, isNews: false }
  const what = current ? `ReplicaSet "${current.name}"` : `Deployment "${metadata.name}"`
  const stays = { condition: before, isNews: false }
  if (spec.paused === true) {
    if (before?.reason === timedOut) return stays
    return { ...stays, condition: told('Unknown', 'DeploymentPaused', 'Deployment is paused') }
  }
  if (before?.reason === 'DeploymentPaused') {
    return { ...stays, condition: told('Unknown', 'DeploymentResumed', 'Deployment is resumed') }
  }
  const isNew = current !== undefined && isNewTo(before, current)
  const wasComplete = before?.reason === complete && !isNew
  if (wasComplete && counts['replicas'] === counts['updatedReplicas']) return stays
  if (isComplete) {
    const message = `${what} has successfully progressed.`
    return { ...stays, condition: told('True', complete, message) }
  }
  if (hasProgressed(deployment, counts)) {
    const message = `${what} is progressing.`
    return { condition: told('True', 'ReplicaSetUpdated', message), isNews: true }
  }
  if (isNew) {
    const message = `Created new replica set "${current.name}"`
    return { condition: told('True', 'NewReplicaSetCreated', message), isNews: true }
  }
  if (before === undefined || before.reason === complete) return stays
  if (leftMs(deployment, before, state.nowMs) >= 0) return stays
  const message = `${what} has timed out progressing.`
  return { ...stays, condition: told('False', timedOut, message) }
}

/** A set that was made since the condition was written; one that is used again is none. */
function isNewTo(
  before: StatusCondition | undefined,
  { name, createdMs }: ReplicaSetFact,
): boolean {
  if (before === undefined) return true
  if (before.message?.includes(`"${name}"`) === true) return false
  return Date.parse(before.lastUpdateTime ?? '') <= createdMs
}

/** More pods of the present template, fewer old ones, or more that are ready or available
 *  (DeploymentProgressing). */
function hasProgressed({ status = {} }: Deployment, counts: ProgressState['counts']): boolean {
  const was = (name: string): number => Number(status[name] ?? 0)
  const is = (name: string): number => counts[name] ?? 0
  const old = (of: (name: string) => number): number => of('replicas') - of('updatedReplicas')
  const growing = ['updatedReplicas', 'readyReplicas', 'availableReplicas']
  return old(is) < old(was) || growing.some(name => is(name) > was(name))
}

function deadlineSeconds({ progressDeadlineSeconds }: Deployment['spec']): number {
  return progressDeadlineSeconds ?? defaultSeconds
}

function leftMs({ spec }: Deployment, before: StatusCondition, nowMs: number): number {
  return Date.parse(before.lastUpdateTime ?? '') + deadlineSeconds(spec) * 1_000 - nowMs
}

/** The time until the deadline, while a rollout goes on (requeueStuckDeployment). */
export function untilProgressIsDue(deployment: Deployment, nowMs: number): number | undefined {
  const { spec, status } = deployment
  const before = status?.conditions?.find(({ type }) => type === 'Progressing')
  const isOver = before?.reason === complete || before?.reason === timedOut
  const hasDeadline = deadlineSeconds(spec) !== noDeadline && spec.paused !== true
  if (before === undefined || isOver || !hasDeadline) return undefined
  return Math.max(1_000, leftMs(deployment, before, nowMs) + 1_000)
}
