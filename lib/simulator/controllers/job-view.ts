/** A job and its pods as its controller sees them: which are active, which have ended since its
 *  status was written, and what its status counts with these. */

import type { PodFact } from '../runtime/facts.ts'
import type { Job } from '../runtime/job.ts'
import { failureVerdict } from './job-policies.ts'
import {
  hasIndex,
  indexCount,
  type IndexIntervals,
  indexesFromText,
  withIndexes,
} from './job-indexes.ts'
import { activePods } from './owned-pods.ts'

/** Kept by a pod until its job has counted it (KEP-2307). */
export const trackingFinalizer = 'batch.kubernetes.io/job-tracking'

export interface JobView {
  readonly pods: readonly PodFact[]
  readonly active: readonly PodFact[]
  /** Pods that are being deleted and have not ended. */
  readonly terminating: readonly PodFact[]
  readonly succeeded: number
  readonly failed: number
  /** Undefined: the job is not Indexed. */
  readonly indexes: JobIndexes | undefined
}

export interface JobIndexes {
  readonly completions: number
  /** Succeeded indexes that the status knows. */
  readonly counted: IndexIntervals
  readonly succeeded: IndexIntervals
  /** Undefined: failures are not counted by index. */
  readonly failed: IndexIntervals | undefined
  /** Failed pods that keep their finalizer until their index has another pod, which takes over
   *  the count of failures (getPodsWithDelayedDeletionPerIndex). */
  readonly replaced: ReadonlyMap<number, PodFact>
}

export function viewOf(job: Job, owned: readonly PodFact[]): JobView {
  const { status = {} } = job
  const uncounted = status.uncountedTerminatedPods ?? {}
  const [told, toldFailed] = [new Set(uncounted.succeeded), new Set(uncounted.failed)]
  const isNew = isCountable(job)
  const succeeded = owned.filter(
    pod => isNew(pod) && pod.phase === 'Succeeded' && !told.has(pod.uid),
  )
  const failed = owned.filter(
    pod =>
      isNew(pod) &&
      isFailed(pod, job) &&
      !toldFailed.has(pod.uid) &&
      failureVerdict(job, pod).counts,
  )
  const active = activePods(owned)
  const indexes = indexesOf(job, owned, active)
  return {
    pods: owned,
    active,
    terminating: owned.filter(({ isDeleting, phase }) => isDeleting && !hasEnded(phase)),
    succeeded:
      indexes === undefined
        ? (status.succeeded ?? 0) + succeeded.length + told.size
        : indexCount(indexes.succeeded),
    failed: (status.failed ?? 0) + failed.length + toldFailed.size,
    indexes,
  }
}

function indexesOf(
  job: Job,
  owned: readonly PodFact[],
  active: readonly PodFact[],
): JobIndexes | undefined {
  const { spec, status } = job
  if (spec.completionMode !== 'Indexed') return undefined
  const completions = spec.completions ?? 1
  const countable = owned.filter(isCountable(job))
  const indexesIn = (pods: readonly PodFact[]): number[] =>
    pods.flatMap(pod => indexBelow(pod, completions) ?? [])
  const counted = indexesFromText(status?.completedIndexes, completions)
  const ended = countable.filter(({ phase }) => phase === 'Succeeded')
  const succeeded = withIndexes(counted, indexesIn(ended))
  const base = { completions, counted, succeeded }
  if (spec.backoffLimitPerIndex === undefined) {
    return { ...base, failed: undefined, replaced: new Map() }
  }
  const failed = withIndexes(
    indexesFromText(status?.failedIndexes, completions),
    indexesIn(countable.filter(pod => hasFailedIndex(job, pod))),
  )
  const taken = new Set(indexesIn(active))
  const replaced = new Map<number, PodFact>()
  for (const pod of countable) {
    const index = indexBelow(pod, completions)
    if (index === undefined || !isFailed(pod, job) || taken.has(index)) continue
    if (hasIndex(succeeded, index) || hasIndex(failed, index)) continue
    if (!isOlder(pod, replaced.get(index))) replaced.set(index, pod)
  }
  return { ...base, failed, replaced }
}

function isOlder({ job }: PodFact, than: PodFact | undefined): boolean {
  const [mine, other] = [job, than?.job]
  if (mine === undefined || other === undefined) return false
  return (
    mine.failures + mine.ignoredFailures < other.failures + other.ignoredFailures ||
    mine.finishedMs < other.finishedMs
  )
}

function hasFailedIndex(job: Job, pod: PodFact): boolean {
  if (!isFailed(pod, job)) return false
  const { action, counts } = failureVerdict(job, pod)
  if (action === 'FailIndex') return true
  return counts && (pod.job?.failures ?? 0) >= (job.spec.backoffLimitPerIndex ?? 0)
}

/** Pods that are still to be counted, and have an index where they need one. */
function isCountable({ spec }: Job): (pod: PodFact) => boolean {
  if (spec.completionMode !== 'Indexed') return isTracked
  return pod => isTracked(pod) && indexBelow(pod, spec.completions ?? 1) !== undefined
}

/** Undefined: the pod has no index that the job has. */
export function indexBelow({ job }: PodFact, completions: number): number | undefined {
  const index = job?.index
  return index !== undefined && index < completions ? index : undefined
}

export function isTracked({ finalizers }: PodFact): boolean {
  return finalizers.includes(trackingFinalizer)
}

/** A pod that is being deleted counts as failed, unless it is replaced only when it has. */
export function isFailed({ phase, isDeleting }: PodFact, job: Job): boolean {
  if (phase === 'Failed') return true
  return !replacesFailedOnly(job) && isDeleting && phase !== 'Succeeded'
}

export function replacesFailedOnly({ spec }: Job): boolean {
  return spec.podReplacementPolicy === 'Failed' || spec.podFailurePolicy !== undefined
}

function hasEnded(phase: string): boolean {
  return phase === 'Succeeded' || phase === 'Failed'
}
