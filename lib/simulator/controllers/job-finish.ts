/** Whether a job is over, and why: the first of upstream's criteria that is met, in its order and
 *  words (syncJob). */

import type { Job } from '../runtime/job.ts'
import type { StatusCondition } from '../runtime/objects.ts'
import { indexCount } from './job-indexes.ts'
import { failureVerdict, successMessage } from './job-policies.ts'
import { isFailed, type JobView } from './job-view.ts'

/** The interim conditions FailureTarget and SuccessCriteriaMet come before pods are gone, Failed
 *  and Complete after it. */
export interface JobFinish {
  readonly succeeds: boolean
  readonly reason: string
  readonly message: string
}

export function interimOf({ succeeds }: JobFinish): string {
  return succeeds ? 'SuccessCriteriaMet' : 'FailureTarget'
}

export function finishOf(job: Job, view: JobView, nowMs: number): JobFinish | undefined {
  return toldFinish(job) ?? failureOf(job, view, nowMs) ?? successOf(job, view)
}

/** All completions have been reached, and no pod is active. */
export function completionOf(
  { spec }: Job,
  succeeded: number,
  active: number,
): JobFinish | undefined {
  if (active > 0 || succeeded < (spec.completions ?? 1)) return undefined
  const message = 'Reached expected number of succeeded pods'
  return { succeeds: true, reason: 'CompletionsReached', message }
}

function toldFinish({ status }: Job): JobFinish | undefined {
  const told = (type: string): StatusCondition | undefined =>
    status?.conditions?.find(one => one.type === type && one.status === 'True')
  const success = told('SuccessCriteriaMet')
  const { reason = '', message = '' } = success ?? told('FailureTarget') ?? {}
  return reason === '' ? undefined : { succeeds: success !== undefined, reason, message }
}

function failureOf(job: Job, view: JobView, nowMs: number): JobFinish | undefined {
  const { spec } = job
  const fails = (reason: string, message: string): JobFinish => {
    return { succeeds: false, reason, message }
  }
  for (const pod of spec.podFailurePolicy === undefined ? [] : view.pods) {
    if (!isFailed(pod, job)) continue
    const { message } = failureVerdict(job, pod)
    if (message !== undefined) return fails('PodFailurePolicy', message)
  }
  if (view.failed > backoffLimitOf(job) || isRestartedTooOften(job, view)) {
    return fails('BackoffLimitExceeded', 'Job has reached the specified backoff limit')
  }
  if ((untilDeadlineMs(job, nowMs) ?? 1) <= 0) {
    return fails('DeadlineExceeded', 'Job was active longer than specified deadline')
  }
  const { indexes } = view
  const failed = indexCount(indexes?.failed ?? [])
  if (indexes === undefined || failed === 0) return undefined
  if (failed > (spec.maxFailedIndexes ?? Infinity)) {
    const message = 'Job has exceeded the specified maximal number of failed indexes'
    return fails('MaxFailedIndexesExceeded', message)
  }
  const isOver = failed + indexCount(indexes.succeeded) >= indexes.completions
  return isOver ? fails('FailedIndexes', 'Job has failed indexes') : undefined
}

/** Defaulted by the server; a limit for each index replaces it. */
function backoffLimitOf({ spec }: Job): number {
  return spec.backoffLimit ?? (spec.backoffLimitPerIndex === undefined ? 6 : Infinity)
}

/** Containers that are restarted in place count as pods that fail do. */
function isRestartedTooOften(job: Job, { active, terminating }: JobView): boolean {
  const { restartPolicy } = job.spec.template.spec as { restartPolicy?: string }
  if (restartPolicy !== 'OnFailure') return false
  const pods = [...active, ...terminating]
  const restarts = pods.reduce((total, pod) => total + (pod.job?.restarts ?? 0), 0)
  return restarts >= Math.max(1, backoffLimitOf(job))
}

/** Undefined: the job has no deadline, or does not run. */
export function untilDeadlineMs({ spec, status }: Job, nowMs: number): number | undefined {
  const seconds = spec.activeDeadlineSeconds
  if (seconds === undefined || status?.startTime === undefined || spec.suspend === true) {
    return undefined
  }
  return Date.parse(status.startTime) + seconds * 1_000 - nowMs
}

function successOf({ spec }: Job, { indexes }: JobView): JobFinish | undefined {
  const message = indexes && successMessage(spec, indexes.succeeded)
  return message === undefined ? undefined : { succeeds: true, reason: 'SuccessPolicy', message }
}
