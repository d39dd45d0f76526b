/** CronJobs make a job at each time of their schedule, and keep the last of those that ended. */

import { factOf, jobFact, type JobFact } from '../runtime/facts.ts'
import type { Key } from '@watchglass/base'
import type { Metadata } from '../runtime/objects.ts'
import {
  nothing,
  type ReconcileResult,
  statusWrite,
  type Write,
} from '../runtime/reconcile-result.ts'
import type { Seen } from '../runtime/reconciler.ts'
import type { ControllerRuntime } from '../runtime/controller-runtime.ts'
import { controllerReference } from './owner-reference.ts'
import { nextTime } from './schedules.ts'
import { textFromMilliseconds } from '@watchglass/go'

export interface CronJob {
  readonly metadata: Metadata
  readonly spec: {
    readonly schedule: string
    readonly timeZone?: string
    readonly suspend?: boolean
    readonly concurrencyPolicy?: string
    readonly startingDeadlineSeconds?: number
    readonly successfulJobsHistoryLimit?: number
    readonly failedJobsHistoryLimit?: number
    readonly jobTemplate: { readonly metadata?: object; readonly spec: object }
  }
  readonly status?: {
    readonly lastScheduleTime?: string
    readonly lastSuccessfulTime?: string
    readonly active?: readonly { readonly name?: string; readonly uid?: string }[]
  }
}

export interface CronJobParts {
  readonly jobs: readonly JobFact[]
}

const hourMs = 3_600_000
/** Times that were missed are looked for in the last minutes first, so that few are looked at. */
const looksBackMs = [hourMs / 30, 2 * hourMs, 48 * hourMs, 60 * 24 * hourMs, Infinity]

export function reconcileCronJob(seen: Seen<CronJob> & CronJobParts): ReconcileResult {
  const { object, jobs, nowMs } = seen
  const { metadata, spec } = object
  if (metadata.deletionTimestamp !== undefined) return nothing
  const active = jobs.filter(({ end, isDeleting }) => end === undefined && !isDeleting)
  const due = spec.suspend === true ? undefined : dueTime(object, nowMs)
  const isHeld = spec.concurrencyPolicy === 'Forbid' && active.length > 0
  const isMade = due !== undefined && jobs.some(({ name }) => name === nameOf(metadata, due))
  const starts = due !== undefined && !isHeld && !isMade
  const known = object.status?.active ?? []
  const replaced = starts && spec.concurrencyPolicy === 'Replace' ? active : []
  const next = nextTime(spec.schedule, spec.timeZone ?? '', nowMs)
  const lastScheduleTime =
    due !== undefined && (starts || isMade)
      ? textFromMilliseconds(due)
      : object.status?.lastScheduleTime
  return {
    writes: [
      ...replaced.map(deletion),
      ...(starts ? [create(object, due)] : []),
      ...outdated(spec, jobs).map(deletion),
      ...statusWrite(seen.key, object.status, {
        active: listed(jobs, known, replaced).map(referenceTo),
        lastScheduleTime,
        lastSuccessfulTime: lastSuccess(jobs) ?? object.status?.lastSuccessfulTime,
      }),
    ],
    notes: known
      .filter(({ uid }) => !jobs.some(job => job.uid === uid))
      .map(({ name = '' }) => {
        return { reason: 'MissingJob', message: `Active job went missing: ${name}` }
      }),
    againMs: next === undefined || spec.suspend === true ? undefined : next - nowMs,
  }
}

/** The active jobs that a status lists: one that somebody deletes stays there until it is gone, and
 *  is told as missing then; one that is replaced goes at once. */
function listed(
  jobs: readonly JobFact[],
  known: readonly { readonly uid?: string }[],
  replaced: readonly JobFact[],
): readonly JobFact[] {
  return jobs.filter(job => {
    if (job.end !== undefined || replaced.includes(job)) return false
    return !job.isDeleting || known.some(({ uid }) => uid === job.uid)
  })
}

/** The last time that has come since the job was made last. */
function dueTime({ metadata, spec, status }: CronJob, nowMs: number): number | undefined {
  const { schedule, timeZone = '', startingDeadlineSeconds } = spec
  const lastMs = Date.parse(status?.lastScheduleTime ?? metadata.creationTimestamp ?? '') || nowMs
  const deadlineMs = (startingDeadlineSeconds ?? Infinity) * 1_000
  const sinceMs = Math.max(lastMs, nowMs - deadlineMs)
  for (const backMs of looksBackMs) {
    const startMs = Math.max(sinceMs, nowMs - backMs)
    const due = lastTime(schedule, timeZone, { startMs, endMs: nowMs })
    if (due !== undefined || startMs === sinceMs) return due
  }
  return undefined
}

interface Span {
  readonly startMs: number
  readonly endMs: number
}

/** The last time in a span that is short for how often there is one. */
function lastTime(schedule: string, zone: string, { startMs, endMs }: Span): number | undefined {
  let last: number | undefined
  let atMs = nextTime(schedule, zone, startMs)
  while (atMs !== undefined && atMs <= endMs) {
    last = atMs
    atMs = nextTime(schedule, zone, atMs)
  }
  return last
}

function nameOf({ name }: Metadata, atMs: number): string {
  return `${name}-${String(Math.floor(atMs / 60_000))}`
}

function create({ metadata, spec }: CronJob, atMs: number): Write {
  const { name, namespace = '', uid } = metadata
  const owner = { apiVersion: 'batch/v1', kind: 'CronJob', name, uid }
  const template = spec.jobTemplate.metadata as { readonly annotations?: object } | undefined
  const object = {
    metadata: {
      ...template,
      name: nameOf(metadata, atMs),
      namespace,
      annotations: {
        ...template?.annotations,
        'batch.kubernetes.io/cronjob-scheduled-timestamp': textFromMilliseconds(atMs),
      },
      ownerReferences: [controllerReference(owner)],
    },
    spec: spec.jobTemplate.spec,
  }
  const note = { reason: 'SuccessfulCreate', message: 'Created job %' }
  return { type: 'create', group: 'batch', resource: 'jobs', namespace, object, note }
}

/** The jobs that have ended before as many as are kept. */
function outdated(spec: CronJob['spec'], jobs: readonly JobFact[]): JobFact[] {
  const { successfulJobsHistoryLimit = 3, failedJobsHistoryLimit = 1 } = spec
  const limits = { Complete: successfulJobsHistoryLimit, Failed: failedJobsHistoryLimit }
  return (['Complete', 'Failed'] as const).flatMap(end => {
    const ended = jobs.filter(job => job.end === end && !job.isDeleting)
    const newestFirst = ended.sort((a, b) => b.createdMs - a.createdMs)
    return newestFirst.slice(limits[end])
  })
}

function lastSuccess(jobs: readonly JobFact[]): string | undefined {
  const ended = jobs.filter(({ end }) => end === 'Complete').map(({ endedMs }) => endedMs)
  return ended.length === 0 ? undefined : textFromMilliseconds(Math.max(...ended))
}

function deletion({ key, uid }: JobFact): Write {
  const note = { reason: 'SuccessfulDelete', message: 'Deleted job %' }
  return { type: 'delete', key, uid, note }
}

function referenceTo({ name, namespace, uid }: JobFact): object {
  return { apiVersion: 'batch/v1', kind: 'Job', name, namespace, uid }
}

export function wireCronJobs(runtime: ControllerRuntime): void {
  const cronJobs = runtime.informer(
    'cronjobs',
    (key: Key, revision: number, { metadata }: CronJob) => factOf(key, revision, metadata, {}),
  )
  const jobs = runtime.informer('jobs', jobFact)
  const { lookAt } = runtime.controller<CronJob, CronJobParts>({
    name: 'a simulated cron job',
    source: { component: 'cronjob-controller' },
    gather: ({ metadata: { uid } }) => ({ jobs: [...jobs.index.ownedBy(uid)] }),
    reconcile: reconcileCronJob,
  })
  cronJobs.listen({ changed: ({ key }) => lookAt(key) })
  runtime.owners('CronJob', cronJobs, ({ key }) => lookAt(key))
  runtime.tellOwners(jobs)
}
