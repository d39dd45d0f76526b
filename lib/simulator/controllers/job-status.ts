/** The status of a job, in the two steps of upstream's trackJobStatusAndRemoveFinalizers: pods that
 *  have ended are named as uncounted, lose their finalizer, and are numbers then. Whoever ends in
 *  between counts each pod once. */

import type { PodFact } from '../runtime/facts.ts'
import type { Note } from '../runtime/event-recorder.ts'
import type { Job, JobStatus } from '../runtime/job.ts'
import type { StatusCondition } from '../runtime/objects.ts'
import { statusWrite, type Write } from '../runtime/reconcile-result.ts'
import type { Seen } from '../runtime/reconciler.ts'
import { interimOf, type JobFinish } from './job-finish.ts'
import { indexCount, type IndexIntervals, textOfIndexes, withIndexes } from './job-indexes.ts'
import { failureVerdict } from './job-policies.ts'
import { type PodChanges, untracked } from './job-pods.ts'
import { indexBelow, isFailed, isTracked, type JobView } from './job-view.ts'

/** MaxUncountedPods: their uids have room in a status. The others are counted in the next look. */
const uncountedMax = 500

export interface JobOutcome {
  readonly view: JobView
  readonly changes: PodChanges
  /** Undefined: the job goes on. */
  readonly finish: JobFinish | undefined
  /** False: the condition Suspended is left as it is. */
  readonly isManaged: boolean
}

interface Tracked {
  readonly writes: readonly Write[]
  readonly notes: readonly Note[]
}

export function trackedStatus(seen: Seen<Job>, outcome: JobOutcome): Tracked {
  const { key, object, now } = seen
  const { status = {} } = object
  const { view, changes, finish } = outcome
  const count = uncountedOf(object, outcome)
  const suspension = suspensionOf(seen, outcome)
  const deletedReady = changes.deleted.filter(({ isReady }) => isReady).length
  const ready = view.active.filter(({ isReady }) => isReady).length - deletedReady
  const terminating = view.terminating.length + changes.deleted.length
  const interim = finish === undefined ? [] : [conditionOf(interimOf(finish), finish, now)]
  const first = {
    active: changes.active || null,
    ready,
    terminating,
    startTime: suspension.startTime ?? null,
    ...countsOf(count, view),
    conditions: withConditions(suspension.conditions, interim),
  }
  const isOver = finish !== undefined && terminating === 0 && count.isWhole
  const last = {
    ...first,
    ...countsOf({ ...count, ...countedOf(count) }, view),
    ...(isOver ? ending(finish, first.conditions, now) : {}),
  }
  return {
    writes: [
      ...statusWrite(key, status, first),
      ...count.ended.flatMap(untracked),
      ...statusWrite(key, first, last),
    ],
    notes: [...suspension.notes, ...(isOver ? endNotes(object, finish, last.succeeded ?? 0) : [])],
  }
}

interface Uncounted {
  readonly succeededPods: readonly string[]
  readonly failedPods: readonly string[]
  readonly succeeded: number
  readonly failed: number
  readonly succeededIndexes: IndexIntervals
  /** The pods that lose their finalizer. */
  readonly ended: readonly PodFact[]
  /** False: some are left for the next look. */
  readonly isWhole: boolean
}

/** Pods that have ended since. Those that were named before and have no finalizer any more are
 *  numbers by now. */
function uncountedOf(job: Job, { view, finish }: JobOutcome): Uncounted {
  const { status = {}, metadata } = job
  const known = status.uncountedTerminatedPods ?? {}
  const tracked = view.pods.filter(isTracked)
  const uids = new Set(tracked.map(({ uid }) => uid))
  const succeeded = new Set(known.succeeded?.filter(uid => uids.has(uid)))
  const failed = new Set(known.failed?.filter(uid => uids.has(uid)))
  const gone = {
    succeeded: (known.succeeded?.length ?? 0) - succeeded.size,
    failed: (known.failed?.length ?? 0) - failed.size,
  }
  const indexes: number[] = []
  const ended: PodFact[] = []
  const isFailing = finish?.succeeds === false
  for (const pod of tracked) {
    if (indexes.length + succeeded.size + failed.size >= uncountedMax) break
    const hasFailed = isFailed(pod, job)
    const goesAnyway = metadata.deletionTimestamp !== undefined || finish !== undefined
    if (!goesAnyway && !mayBeCounted(view, pod, hasFailed)) continue
    ended.push(pod)
    const index = view.indexes && indexBelow(pod, view.indexes.completions)
    if (pod.phase === 'Succeeded' && !failed.has(pod.uid)) {
      if (view.indexes === undefined) succeeded.add(pod.uid)
      else if (index !== undefined) indexes.push(index)
    } else if (hasFailed || isFailing) {
      const isCounted = view.indexes === undefined || index !== undefined
      if (isCounted && failureVerdict(job, pod).counts) failed.add(pod.uid)
    }
  }
  return {
    succeededPods: [...succeeded],
    failedPods: [...failed],
    succeeded: (status.succeeded ?? 0) + gone.succeeded,
    failed: (status.failed ?? 0) + gone.failed,
    succeededIndexes: withIndexes(view.indexes?.counted ?? [], indexes),
    ended,
    isWhole: indexes.length + succeeded.size + failed.size < uncountedMax,
  }
}

/** A failed pod whose count the next pod of its index takes over waits for that one. */
function mayBeCounted({ indexes }: JobView, pod: PodFact, hasFailed: boolean): boolean {
  if (pod.phase === 'Succeeded') return true
  const index = indexes && indexBelow(pod, indexes.completions)
  return hasFailed && (index === undefined || indexes?.replaced.get(index) !== pod)
}

function countedOf({
  succeeded,
  succeededPods,
  failed,
  failedPods,
}: Uncounted): Partial<Uncounted> {
  return {
    succeeded: succeeded + succeededPods.length,
    failed: failed + failedPods.length,
    succeededPods: [],
    failedPods: [],
  }
}

interface ShownCounts {
  readonly succeeded: number | null
  readonly failed: number | null
  readonly uncountedTerminatedPods: object
}

function countsOf(count: Uncounted, { indexes }: JobView): ShownCounts {
  const { succeededPods, failedPods, failed, succeededIndexes } = count
  const succeeded = indexes === undefined ? count.succeeded : indexCount(succeededIndexes)
  const named = (uids: readonly string[]): readonly string[] | null =>
    uids.length === 0 ? null : uids
  return {
    succeeded: succeeded || null,
    failed: failed || null,
    uncountedTerminatedPods: { succeeded: named(succeededPods), failed: named(failedPods) },
    ...(indexes === undefined ? {} : { completedIndexes: textOfIndexes(succeededIndexes) || null }),
    ...(indexes?.failed === undefined ? {} : { failedIndexes: textOfIndexes(indexes.failed) }),
  }
}

interface Suspension {
  readonly conditions: readonly StatusCondition[]
  readonly startTime: string | undefined
  readonly notes: readonly Note[]
}

/** A job that is resumed starts anew: its deadline is about the time in which it is active. */
function suspensionOf({ object, now }: Seen<Job>, { finish, isManaged }: JobOutcome): Suspension {
  const { status = {}, spec } = object
  const { conditions = [] } = status
  const isSuspended = spec.suspend === true
  const startTime = status.startTime ?? (isSuspended ? undefined : now)
  const before = conditions.find(({ type }) => type === 'Suspended')
  const was = before?.status === 'True'
  if (finish !== undefined || !isManaged || was === isSuspended) {
    return { conditions, startTime, notes: [] }
  }
  const told = isSuspended
    ? { reason: 'JobSuspended', message: 'Job suspended' }
    : { reason: 'JobResumed', message: 'Job resumed' }
  const condition = {
    ...conditionOf('Suspended', told, now),
    status: isSuspended ? 'True' : 'False',
  }
  return {
    conditions: withConditions(conditions, [condition]),
    startTime: isSuspended ? undefined : now,
    notes: [{ reason: isSuspended ? 'Suspended' : 'Resumed', message: told.message }],
  }
}

function ending(
  finish: JobFinish,
  conditions: readonly StatusCondition[],
  now: string,
): Pick<JobStatus, 'conditions' | 'completionTime'> {
  const final = conditionOf(finish.succeeds ? 'Complete' : 'Failed', finish, now)
  return {
    conditions: withConditions(conditions, [final]),
    ...(finish.succeeds ? { completionTime: now } : {}),
  }
}

function endNotes({ spec }: Job, finish: JobFinish, succeeded: number): Note[] {
  const { reason, message } = finish
  if (!finish.succeeds) return [{ type: 'Warning', reason, message }]
  const completed = { reason: 'Completed', message: 'Job completed' }
  if (succeeded <= (spec.completions ?? Infinity)) return [completed]
  const tooMany = 'Too many succeeded pods running after completion count reached'
  return [{ type: 'Warning', reason: 'TooManySucceededPods', message: tooMany }, completed]
}

function conditionOf(
  type: string,
  { reason, message }: { readonly reason: string; readonly message: string },
  now: string,
): StatusCondition {
  const times = { lastProbeTime: now, lastTransitionTime: now }
  return { type, status: 'True', ...times, reason, message }
}

/** Conditions that say the same stay as they are (ensureJobConditionStatus). */
function withConditions(
  known: readonly StatusCondition[],
  wanted: readonly StatusCondition[],
): readonly StatusCondition[] {
  const result = [...known]
  for (const one of wanted) {
    const at = result.findIndex(({ type }) => type === one.type)
    const before = result[at]
    if (before === undefined) result.push(one)
    else if (before.status !== one.status || before.reason !== one.reason) result[at] = one
    else if (before.message !== one.message) result[at] = one
  }
  return result
}
