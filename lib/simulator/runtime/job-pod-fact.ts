/** The facts about a pod of a job: how it has ended, and for which index it was made. */

import type { ContainerStatus, Pod } from './objects.ts'

export interface JobPodFact {
  /** Undefined: the pod has none, or one that is no number. */
  readonly index: number | undefined
  /** Failed pods of its index before it, as its annotations count them. */
  readonly failures: number
  readonly ignoredFailures: number
  /** The time at which it has ended (getFinishedTime of upstream's job controller). */
  readonly finishedMs: number
  /** Restarts of its containers. */
  readonly restarts: number
  /** Containers that have failed, init containers last. */
  readonly exits: readonly ContainerExit[]
  readonly conditions: readonly { readonly type: string; readonly status: string }[]
}

export interface ContainerExit {
  readonly name: string
  readonly exitCode: number
}

export const indexAnnotation = 'batch.kubernetes.io/job-completion-index'
export const failuresAnnotation = 'batch.kubernetes.io/job-index-failure-count'
export const ignoredAnnotation = 'batch.kubernetes.io/job-index-ignored-failure-count'

const countMax = 2 ** 31 - 1

/** Undefined for the pod of anybody else. */
export function jobPodFact(pod: Pod): JobPodFact | undefined {
  const { metadata, status } = pod
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true)
  if (owner?.kind !== 'Job') return undefined
  const annotations = metadata.annotations ?? {}
  const statuses = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])]
  return {
    index: countIn(annotations[indexAnnotation]),
    failures: countIn(annotations[failuresAnnotation]) ?? 0,
    ignoredFailures: countIn(annotations[ignoredAnnotation]) ?? 0,
    finishedMs: finishedMsOf(pod),
    restarts: statuses.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0),
    exits: statuses.flatMap(exitsOf),
    conditions: (status?.conditions ?? []).map(({ type, status }) => ({ type, status })),
  }
}

function exitsOf({ name = '', state }: ContainerStatus): ContainerExit[] {
  const exitCode = state?.terminated?.exitCode ?? 0
  return exitCode === 0 ? [] : [{ name, exitCode }]
}

function countIn(text: string | undefined): number | undefined {
  if (text === undefined || !/^\+?\d+$/.test(text)) return undefined
  const count = Number(text)
  return count > countMax ? undefined : count
}

function finishedMsOf({ metadata, status }: Pod): number {
  const ends = (status?.containerStatuses ?? []).map(({ state }) =>
    Date.parse(state?.terminated?.finishedAt ?? ''),
  )
  const last = Math.max(...ends)
  if (ends.length > 0 && !Number.isNaN(last)) return last
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  const unreadyMs = Date.parse(ready?.lastTransitionTime ?? '')
  if (ready?.status === 'False' && !Number.isNaN(unreadyMs)) return unreadyMs
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, creationTimestamp = '' } = metadata
  if (deletionTimestamp === undefined) return Date.parse(creationTimestamp) || 0
  return Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1_000
}
