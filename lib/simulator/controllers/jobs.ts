/** Jobs have their pods made until enough have succeeded, and go after a while if they ask for
 *  it. */

import type { ControllerRuntime } from '../runtime/controller-runtime.ts'
import { jobFact, type PodFact } from '../runtime/facts.ts'
import { type StatusCondition, hasCondition, type Job } from '../runtime/objects.ts'
import {
  nothing,
  type ReconcileResult,
  type RefusedWrite,
  type Write,
} from '../runtime/reconcile-result.ts'
import type { Seen } from '../runtime/reconciler.ts'
import { activePods, podCreation } from './owned-pods.ts'
import { refusedCreation } from './refused-creation.ts'

export interface JobParts {
  readonly owned: readonly PodFact[]
}

export function reconcileJob(seen: Seen<Job> & JobParts): ReconcileResult {
  const { object } = seen
  const { metadata, spec } = object
  if (metadata.deletionTimestamp !== undefined) return nothing
  if (isOver(object)) return afterwards(seen)
  // Pods with an index, and those that wait to be resumed, are for a real controller.
  if (spec.completionMode === 'Indexed' || spec.suspend === true) return nothing
  const counts = countsOf(seen)
  const missing = missingOf(object, counts)
  const { name, uid, namespace = '' } = metadata
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name, uid }
  const creation = podCreation(owner, namespace, spec.template)
  return {
    writes: [
      ...Array.from({ length: missing }, () => creation),
      ...statusWrites(seen, { ...counts, active: counts.active + missing }),
    ],
  }
}

/** The answer to a pod that may not be created: an Event, and the status without it. */
export function refusedOfJob(seen: Seen<Job> & JobParts, refusal: RefusedWrite): ReconcileResult {
  if (refusal.write.type !== 'create') return nothing
  return { writes: statusWrites(seen, countsOf(seen)), notes: refusedCreation(refusal) }
}

/** A job that has ended goes after as long as it asks for. */
function afterwards({ key, object, nowMs }: Seen<Job>): ReconcileResult {
  const goesAtMs = goneAtMs(object)
  if (goesAtMs === undefined) return nothing
  const waitMs = goesAtMs - nowMs
  if (waitMs > 0) return { writes: [], againMs: waitMs }
  return { writes: [{ type: 'delete', key, uid: object.metadata.uid }] }
}

/** Undefined if the job stays, or has not ended. */
export function goneAtMs({ spec, status }: Job): number | undefined {
  const ended = status?.conditions?.find(
    one => (one.type === 'Complete' || one.type === 'Failed') && one.status === 'True',
  )
  const seconds = spec.ttlSecondsAfterFinished
  if (ended === undefined || seconds === undefined) return undefined
  return Date.parse(status?.completionTime ?? ended.lastTransitionTime ?? '') + seconds * 1_000
}

interface JobCounts {
  readonly active: number
  readonly ready: number
  readonly succeeded: number
  readonly failed: number
}

/** A pod that has been deleted since has succeeded nevertheless. */
function countsOf({ object: { status }, owned }: Seen<Job> & JobParts): JobCounts {
  const active = activePods(owned)
  const ended = (phase: string): number => owned.filter(pod => pod.phase === phase).length
  return {
    active: active.length,
    ready: active.filter(({ isReady }) => isReady).length,
    succeeded: Math.max(ended('Succeeded'), status?.succeeded ?? 0),
    failed: Math.max(ended('Failed'), status?.failed ?? 0),
  }
}

function isOver({ status }: Job): boolean {
  return hasCondition(status?.conditions, 'Complete') || hasCondition(status?.conditions, 'Failed')
}

/** Without a number of completions, one pod that succeeds is enough. */
function isDone({ completions }: Job['spec'], { succeeded }: JobCounts): boolean {
  return succeeded >= (completions ?? 1)
}

function missingOf({ spec }: Job, counts: JobCounts): number {
  const parallelism = spec.parallelism ?? 1
  if (isDone(spec, counts)) return 0
  if (spec.completions === undefined) {
    return counts.succeeded > 0 ? 0 : Math.max(0, parallelism - counts.active)
  }
  const open = spec.completions - counts.succeeded
  return Math.max(0, Math.min(parallelism, open) - counts.active)
}

function statusWrites({ key, object, now }: Seen<Job>, counts: JobCounts): Write[] {
  const { spec, status } = object
  const isComplete = isDone(spec, counts)
  if (isComplete && counts.active > 0) return []
  const isTold = (name: keyof JobCounts): boolean => (status?.[name] ?? 0) === counts[name]
  const names = ['active', 'ready', 'succeeded', 'failed'] as const
  if (!isComplete && status?.startTime !== undefined && names.every(isTold)) return []
  const { active, ready, succeeded, failed } = counts
  const shown = { active: active || null, succeeded: succeeded || null, failed: failed || null }
  const startTime = status?.startTime ?? now
  const common = { ...shown, ready, startTime, terminating: 0, uncountedTerminatedPods: {} }
  if (!isComplete) {
    return [{ type: 'patch', key, patch: { status: common }, subresource: 'status' }]
  }
  const wanted = {
    ...common,
    completionTime: now,
    conditions: [
      condition('SuccessCriteriaMet', now),
      condition('Complete', now),
      ...(status?.conditions ?? []).filter(({ type }) => type === 'Suspended'),
    ],
  }
  const note = { reason: 'Completed', message: 'Job completed' }
  return [{ type: 'patch', key, patch: { status: wanted }, subresource: 'status', note }]
}

function condition(
  type: string,
  now: string,
): StatusCondition & { readonly lastProbeTime: string } {
  return {
    type,
    status: 'True',
    reason: 'CompletionsReached',
    message: 'Reached expected number of succeeded pods',
    lastProbeTime: now,
    lastTransitionTime: now,
  }
}

export function wireJobs(runtime: ControllerRuntime): void {
  const jobs = runtime.informer('jobs', jobFact)
  const { lookAt } = runtime.controller<Job, JobParts>({
    name: 'a simulated job',
    source: { component: 'job-controller' },
    gather: ({ metadata: { uid } }) => ({ owned: [...runtime.pods.index.ownedBy(uid)] }),
    reconcile: reconcileJob,
    refused: refusedOfJob,
  })
  jobs.listen({ changed: ({ key }) => lookAt(key) })
  runtime.owners('Job', jobs, ({ key }) => lookAt(key))
}
