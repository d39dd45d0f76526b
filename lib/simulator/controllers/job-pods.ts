/** Pods that a job has made or deleted in one look (manageJob of upstream's job controller). */

import type { PodFact } from '../runtime/facts.ts'
import type { Job } from '../runtime/job.ts'
import { failuresAnnotation, ignoredAnnotation, indexAnnotation } from '../runtime/job-pod-fact.ts'
import type { PodTemplate } from '../runtime/objects.ts'
import type { Write } from '../runtime/reconcile-result.ts'
import { type JobFailures, pauseAfter } from './job-backoff.ts'
import { firstMissing, mergedIndexes, withIndexes } from './job-indexes.ts'
import { failureVerdict } from './job-policies.ts'
import {
  indexBelow,
  isTracked,
  type JobIndexes,
  type JobView,
  replacesFailedOnly,
  trackingFinalizer,
} from './job-view.ts'
import { podCreation } from './owned-pods.ts'

/** MaxPodCreateDeletePerSync. */
const burstPods = 500
/** A name without the five letters that the server adds. */
const generatedNameMax = 58

export interface PodChanges {
  readonly writes: readonly Write[]
  /** The pods that are deleted. */
  readonly deleted: readonly PodFact[]
  /** The number of active pods then. */
  readonly active: number
  readonly againMs?: number | undefined
}

export interface PodTurn {
  readonly nowMs: number
  readonly failures: JobFailures
  /** False: a pod has been refused in this look. */
  readonly mayCreate: boolean
}

/** Pods are either deleted or made in one look: deleting comes first. */
export function podChanges(job: Job, view: JobView, turn: PodTurn): PodChanges {
  const active = view.active.length
  if (job.spec.suspend === true) return deletions(view, active)
  const wanted = wantedOf(job, view)
  const surplus = deletions(view, Math.max(0, active - wanted))
  if (surplus.deleted.length > 0) return surplus
  const waiting = replacesFailedOnly(job) ? view.terminating.length : 0
  const missing = Math.min(wanted - waiting - active, burstPods)
  return missing > 0 ? creations(job, view, { ...turn, missing }) : { ...surplus, active }
}

/** Deletes the active pods of a job that is over. They keep their finalizer until they are
 *  counted. */
export function endedPods({ active }: JobView): PodChanges {
  return { writes: active.map(deletion), deleted: active, active: 0 }
}

/** Without a number of completions, one pod that succeeds is enough: the others may end. */
function wantedOf({ spec }: Job, { active, succeeded }: JobView): number {
  const parallelism = spec.parallelism ?? 1
  if (spec.completions === undefined) return succeeded > 0 ? active.length : parallelism
  return Math.max(0, Math.min(parallelism, spec.completions - succeeded))
}

function deletions(view: JobView, least: number): PodChanges {
  const deleted = removable(view, least).slice(0, burstPods)
  return {
    writes: deleted.flatMap(pod => [...untracked(pod), deletion(pod)]),
    deleted,
    active: view.active.length - deleted.length,
  }
}

/** Pods of an index that another one has, or the job does not have, go in any case. */
function removable({ active, indexes }: JobView, least: number): PodFact[] {
  const sorted = [...active].sort(leastMissedFirst)
  if (indexes === undefined) return sorted.slice(0, least)
  const kept = new Set<PodFact>()
  const seen = new Set<number>()
  for (const pod of [...sorted].reverse()) {
    const index = indexBelow(pod, indexes.completions)
    if (index === undefined || seen.has(index)) continue
    seen.add(index)
    kept.add(pod)
  }
  const gone = sorted.filter(pod => !kept.has(pod))
  const others = sorted.filter(pod => kept.has(pod))
  return [...gone, ...others.slice(0, Math.max(0, least - gone.length))]
}

/** Pods without a node come first, then those that do not run, are not ready, and the youngest
 *  (controller.ActivePods). */
function leastMissedFirst(a: PodFact, b: PodFact): number {
  return (
    Number(a.node !== '') - Number(b.node !== '') ||
    Number(a.phase === 'Running') - Number(b.phase === 'Running') ||
    Number(a.isReady) - Number(b.isReady) ||
    b.createdMs - a.createdMs
  )
}

/** The pod without the finalizer of its job. */
export function untracked(pod: PodFact): Write[] {
  if (!isTracked(pod)) return []
  const { key, uid, finalizers } = pod
  const others = finalizers.filter(one => one !== trackingFinalizer)
  const left = others.length === 0 ? null : others
  return [{ type: 'patch', key, patch: { metadata: { uid, finalizers: left } } }]
}

function deletion({ key, uid }: PodFact): Write {
  const note = { reason: 'SuccessfulDelete', message: 'Deleted pod: %' }
  return { type: 'delete', key, uid, note }
}

interface Missing extends PodTurn {
  readonly missing: number
}

function creations(job: Job, view: JobView, turn: Missing): PodChanges {
  const { missing, nowMs, failures, mayCreate } = turn
  const active = view.active.length
  const { indexes } = view
  const byIndex = indexes !== undefined && indexes.failed !== undefined
  const pauseMs = byIndex ? 0 : pauseAfter(failures, nowMs)
  // Upstream tells no active pods while it waits, also if there are some.
  if (pauseMs > 0) return { writes: [], deleted: [], active: 0, againMs: pauseMs }
  if (indexes === undefined) {
    const creation = creationOf(job, job.spec.template)
    const made = mayCreate ? Array.from({ length: missing }, () => creation) : []
    return { writes: made, deleted: [], active: active + made.length }
  }
  const next = pendingIndexes(job, view, missing).map(index => {
    const replaced = indexes.replaced.get(index)?.job
    const count = replaced === undefined ? 0 : replaced.failures + replaced.ignoredFailures + 1
    return { index, pauseMs: pauseAfter({ count, lastMs: replaced?.finishedMs ?? 0 }, nowMs) }
  })
  const due = next.filter(one => one.pauseMs === 0)
  if (due.length === 0 && next.length > 0) {
    const againMs = Math.min(...next.map(one => one.pauseMs))
    return { writes: [], deleted: [], active: 0, againMs }
  }
  const made = mayCreate ? due.map(({ index }) => indexedCreation(job, indexes, index)) : []
  const waits = next.flatMap(one => (one.pauseMs > 0 ? [one.pauseMs] : []))
  const againMs = waits.length === 0 ? undefined : Math.min(...waits)
  return { writes: made, deleted: [], active: active + made.length, againMs }
}

/** The first indexes that have no pod, and have neither succeeded nor failed. */
function pendingIndexes(job: Job, view: JobView, count: number): number[] {
  const { indexes, active, terminating } = view
  if (indexes === undefined) return []
  const { completions, succeeded, failed = [] } = indexes
  const taken = replacesFailedOnly(job) ? [...active, ...terminating] : active
  const numbers = taken.flatMap(pod => indexBelow(pod, completions) ?? [])
  return firstMissing(withIndexes(mergedIndexes(succeeded, failed), numbers), count, completions)
}

function indexedCreation(job: Job, { failed, replaced }: JobIndexes, index: number): Write {
  const { spec, metadata } = job
  const { template } = spec
  const ended = `-${index}-`
  const prefix = metadata.name.slice(0, generatedNameMax - ended.length)
  const counts = failed === undefined ? {} : failureAnnotations(job, replaced.get(index))
  const own = { [indexAnnotation]: String(index) }
  return creationOf(
    job,
    {
      metadata: {
        ...template.metadata,
        labels: { ...template.metadata?.labels, ...own },
        annotations: { ...template.metadata?.annotations, ...own, ...counts },
      },
      spec: { ...withIndexVariable(template.spec), hostname: `${metadata.name}-${index}` },
    },
    `${prefix}${ended}`,
  )
}

/** The failures of an index so far, which the pod that comes next takes over. */
function failureAnnotations(job: Job, replaced: PodFact | undefined): Record<string, string> {
  const { failures = 0, ignoredFailures = 0 } = replaced?.job ?? {}
  const counts = replaced !== undefined && failureVerdict(job, replaced).counts
  const ignores = replaced !== undefined && !counts
  const ignored = ignoredFailures + Number(ignores)
  return {
    [failuresAnnotation]: String(failures + Number(counts)),
    ...(ignored > 0 ? { [ignoredAnnotation]: String(ignored) } : {}),
  }
}

interface Container {
  readonly env?: readonly { readonly name: string }[]
}

interface Containers {
  readonly containers?: readonly Container[]
  readonly initContainers?: readonly Container[]
}

const indexVariable = {
  name: 'JOB_COMPLETION_INDEX',
  valueFrom: { fieldRef: { fieldPath: `metadata.labels['${indexAnnotation}']` } },
}

/** Each container knows the index of its pod, unless it has a variable of that name. */
function withIndexVariable(spec: Containers): object {
  const extended = ({ env = [], ...rest }: Container): Container => ({
    ...rest,
    env: env.some(({ name }) => name === indexVariable.name) ? env : [...env, indexVariable],
  })
  const { containers = [], initContainers } = spec
  return {
    ...spec,
    containers: containers.map(extended),
    ...(initContainers === undefined ? {} : { initContainers: initContainers.map(extended) }),
  }
}

function creationOf(
  { metadata: { name, uid, namespace = '' } }: Job,
  template: PodTemplate,
  generateName?: string,
): Write {
  const finalizers = template.metadata?.finalizers ?? []
  const tracked = finalizers.includes(trackingFinalizer)
    ? finalizers
    : [...finalizers, trackingFinalizer]
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name, uid }
  const whole = { ...template, metadata: { ...template.metadata, finalizers: tracked } }
  return podCreation(owner, namespace, whole, generateName)
}
