/** Jobs: pods until enough have succeeded, or too many have failed. Reasons, messages, Events and
 *  the order of all decisions are those of upstream's job controller. */

import type { ControllerRuntime } from '../runtime/controller-runtime.ts'
import { jobFact, type JobFact, type PodFact } from '../runtime/facts.ts'
import type { Informer } from '../runtime/informer.ts'
import type { Job } from '../runtime/job.ts'
import { hasCondition, type Pod } from '../runtime/objects.ts'
import {
  nothing,
  type ReconcileResult,
  type RefusedWrite,
  type Write,
} from '../runtime/reconcile-result.ts'
import type { Seen } from '../runtime/reconciler.ts'
import { selectorOf } from '../runtime/selectors.ts'
import { lookAtPodOwners } from '../runtime/wiring.ts'
import { adopt } from './adoption.ts'
import { JobBackoffs, type JobFailures } from './job-backoff.ts'
import { completionOf, finishOf, untilDeadlineMs } from './job-finish.ts'
import { endedPods, type PodChanges, podChanges, untracked } from './job-pods.ts'
import { trackedStatus } from './job-status.ts'
import { isTracked, trackingFinalizer, viewOf } from './job-view.ts'
import { refusedCreation } from './refused-creation.ts'

export interface JobParts {
  readonly owned: readonly PodFact[]
  readonly orphans: readonly PodFact[]
  readonly failures: JobFailures
}

/** The value of managedBy by which a job is left to this controller (KEP-4368). */
const ownName = 'kubernetes.io/job-controller'

export function reconcileJob(seen: Seen<Job> & JobParts): ReconcileResult {
  const { object } = seen
  const { managedBy = ownName } = object.spec
  if (isOver(object)) return afterwards(seen)
  if (managedBy !== ownName) return nothing
  const adoptions = adoptionsOf(seen)
  if (adoptions.length > 0) return { writes: adoptions, againMs: 0 }
  return syncJob(seen, true)
}

/** The answer to a pod that may not be created: an Event, and the status without it. */
export function refusedOfJob(seen: Seen<Job> & JobParts, refusal: RefusedWrite): ReconcileResult {
  if (refusal.write.type !== 'create') return nothing
  const { writes, notes = [] } = syncJob(seen, false)
  return { writes, notes: [...refusedCreation(refusal), ...notes] }
}

function syncJob(seen: Seen<Job> & JobParts, mayCreate: boolean): ReconcileResult {
  const { object, owned, nowMs, failures } = seen
  const view = viewOf(object, owned)
  const decided = finishOf(object, view, nowMs)
  const isManaged = decided === undefined && object.metadata.deletionTimestamp === undefined
  const unchanged: PodChanges = { writes: [], deleted: [], active: view.active.length }
  const changes = isManaged
    ? podChanges(object, view, { nowMs, failures, mayCreate })
    : decided === undefined
      ? unchanged
      : endedPods(view)
  const finish = decided ?? completionOf(object, view.succeeded, changes.active)
  const { writes, notes } = trackedStatus(seen, { view, changes, finish, isManaged })
  const waits = [changes.againMs, untilDeadlineMs(object, nowMs)].flatMap(ms => ms ?? [])
  const againMs = finish !== undefined || waits.length === 0 ? undefined : Math.min(...waits)
  return { writes: [...changes.writes, ...writes], notes, againMs }
}

/** A pod that is adopted is counted when it has ended; one that is let go is not. */
function adoptionsOf({ object, owned, orphans }: Seen<Job> & JobParts): Write[] {
  const { metadata, spec } = object
  if (metadata.deletionTimestamp !== undefined) return []
  const { name, uid } = metadata
  const adopter = { apiVersion: 'batch/v1', kind: 'Job', name, uid }
  const released = new Map(owned.map(pod => [pod.key, pod]))
  const known = new Map([...released, ...orphans.map(pod => [pod.key, pod] as const)])
  return adopt(adopter, selectorOf(spec), owned, orphans).map(write => {
    const pod = write.type === 'patch' ? known.get(write.key) : undefined
    if (write.type !== 'patch' || pod === undefined) return write
    const others = pod.finalizers.filter(one => one !== trackingFinalizer)
    const finalizers = released.has(pod.key) ? others : [...others, trackingFinalizer]
    const { metadata: adopted } = write.patch as { readonly metadata: object }
    const shown = finalizers.length === 0 ? null : finalizers
    return { ...write, patch: { metadata: { ...adopted, finalizers: shown } } }
  })
}

/** A job that has ended goes after as long as it asks for. */
function afterwards({ key, object, nowMs }: Seen<Job>): ReconcileResult {
  const goesAtMs = goneAtMs(object)
  if (goesAtMs === undefined || object.metadata.deletionTimestamp !== undefined) return nothing
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

function isOver({ status }: Job): boolean {
  return hasCondition(status?.conditions, 'Complete') || hasCondition(status?.conditions, 'Failed')
}

export function wireJobs(runtime: ControllerRuntime): void {
  const jobs = runtime.informer<JobFact, Job>('jobs', jobFact)
  const backoffs = new JobBackoffs()
  const { lookAt } = runtime.controller<Job, JobParts>({
    name: 'a simulated job',
    source: { component: 'job-controller' },
    gather: job => {
      const { uid, namespace = '' } = job.metadata
      const owned = [...runtime.pods.index.ownedBy(uid)]
      if (isOver(job)) backoffs.forget(uid)
      const failures = isOver(job) ? { count: 0, lastMs: 0 } : backoffs.noted(job, owned)
      return { owned, orphans: [...runtime.pods.index.orphansIn(namespace)], failures }
    },
    reconcile: reconcileJob,
    refused: refusedOfJob,
  })
  lookAtPodOwners(runtime, 'Job', jobs, ({ key }) => lookAt(key))
  jobs.listen({ gone: ({ uid }) => backoffs.forget(uid) })
  wireLeftPods(runtime, jobs)
}

/** Pods whose job is gone or has ended lose its finalizer: nobody counts them any more
 *  (syncOrphanPod). */
function wireLeftPods(runtime: ControllerRuntime, jobs: Informer<JobFact, Job>): void {
  const { index } = runtime.pods
  const isLeft = (pod: PodFact): boolean => {
    if (!isTracked(pod)) return false
    if (pod.owner === undefined) return true
    if (pod.owner.kind !== 'Job') return false
    const job = jobs.at(pod.namespace, pod.owner.name)
    return job?.uid !== pod.owner.uid || job.end !== undefined
  }
  const { lookAt } = runtime.controller<Pod, { readonly pod: PodFact | undefined }>({
    name: 'a pod that a job has left',
    source: { component: 'job-controller' },
    gather: (_, key) => ({ pod: index.get(key) }),
    reconcile: ({ pod }) =>
      pod === undefined || !isLeft(pod) ? nothing : { writes: untracked(pod) },
  })
  runtime.pods.listen({ changed: pod => isLeft(pod) && lookAt(pod.key) })
  jobs.listen({
    gone: ({ uid }) => {
      for (const pod of index.ownedBy(uid)) if (isTracked(pod)) lookAt(pod.key)
    },
  })
}
