/** Jobs have their pods made until enough have succeeded. */

import type { Clock, Key } from '@watchglass/base'
import { KeyedTimers } from '../controllers/keyed-timers.ts'
import type { ActorApi } from './actor-api.ts'
import type { EventRecorder } from './event-recorder.ts'
import type { FactIndex } from './fact-index.ts'
import type { PodFact } from './facts.ts'
import { type Condition, hasCondition, type Job } from './objects.ts'
import { activePods, createPod } from './replica-sets.ts'

export interface JobsOptions {
  readonly api: ActorApi
  readonly pods: FactIndex<PodFact>
  readonly clock: Clock
  readonly events: Pick<EventRecorder, 'tell'>
  readonly lookAt: (key: Key) => void
}

export class Jobs {
  readonly #options: JobsOptions
  readonly #api: ActorApi
  readonly #pods: FactIndex<PodFact>
  readonly #timers: KeyedTimers

  constructor(options: JobsOptions) {
    this.#options = options
    this.#api = options.api
    this.#pods = options.pods
    this.#timers = new KeyedTimers(options.clock)
  }

  stop(): void {
    this.#timers.stop()
  }

  async work(key: Key): Promise<void> {
    const found = await this.#api.read<Job>(key)
    if (found === undefined) return
    const { metadata, spec } = found.object
    if (metadata.deletionTimestamp !== undefined) return
    if (isOver(found.object)) return this.#forget(key, found.object)
    // Pods with an index, and those that wait to be resumed, are for a real controller.
    if (spec.completionMode === 'Indexed' || spec.suspend === true) return
    const counts = this.#countsOf(found.object)
    const missing = missingOf(found.object, counts)
    const owner = { apiVersion: 'batch/v1', kind: 'Job', name: metadata.name, uid: metadata.uid }
    for (let i = 0; i < missing; i++) {
      const name = await createPod(this.#api, metadata.namespace ?? '', owner, spec.template)
      this.#tell(found.object, 'SuccessfulCreate', `Created pod: ${name}`)
    }
    await this.#tellStatus(key, found.object, { ...counts, active: counts.active + missing })
  }

  /** A job that has ended goes after as long as it asks for. */
  async #forget(key: Key, job: Job): Promise<void> {
    const { clock, lookAt } = this.#options
    const goesAtMs = goneAtMs(job)
    if (goesAtMs === undefined) return
    const waitMs = goesAtMs - clock.wallMs()
    if (waitMs <= 0) await this.#api.delete(key, job.metadata.uid)
    else this.#timers.set(key, waitMs, () => lookAt(key))
  }

  #countsOf({ metadata, status }: Job): Counts {
    const own = [...this.#pods.ownedBy(metadata.uid)]
    const active = activePods(own)
    const ended = (phase: string): number => own.filter(pod => pod.phase === phase).length
    return {
      active: active.length,
      ready: active.filter(({ isReady }) => isReady).length,
      // A pod that has been deleted since has succeeded nevertheless.
      succeeded: Math.max(ended('Succeeded'), status?.succeeded ?? 0),
      failed: Math.max(ended('Failed'), status?.failed ?? 0),
    }
  }

  #tell({ metadata }: Job, reason: string, message: string): void {
    const about = { apiVersion: 'batch/v1', kind: 'Job', metadata }
    this.#options.events.tell({ component: 'job-controller' }, about, { reason, message })
  }

  async #tellStatus(key: Key, job: Job, counts: Counts): Promise<void> {
    const { spec, status } = job
    const { now } = this.#api
    const isComplete = isDone(spec, counts)
    if (isComplete && counts.active > 0) return
    const told = (name: keyof Counts): boolean => (status?.[name] ?? 0) === counts[name]
    const names = ['active', 'ready', 'succeeded', 'failed'] as const
    if (!isComplete && status?.startTime !== undefined && names.every(told)) return
    const { active, ready, succeeded, failed } = counts
    const shown = { active: active || null, succeeded: succeeded || null, failed: failed || null }
    const startTime = status?.startTime ?? now
    const common = { ...shown, ready, startTime, terminating: 0, uncountedTerminatedPods: {} }
    const ended = {
      completionTime: now,
      conditions: [
        condition('SuccessCriteriaMet', now),
        condition('Complete', now),
        ...(status?.conditions ?? []).filter(({ type }) => type === 'Suspended'),
      ],
    }
    const wanted = isComplete ? { ...common, ...ended } : common
    await this.#api.patch(key, { status: wanted }, 'status')
    if (isComplete) this.#tell(job, 'Completed', 'Job completed')
  }
}

/** Undefined if it stays, or has not ended. */
export function goneAtMs({ spec, status }: Job): number | undefined {
  const ended = status?.conditions?.find(
    one => (one.type === 'Complete' || one.type === 'Failed') && one.status === 'True',
  )
  const seconds = spec.ttlSecondsAfterFinished
  if (ended === undefined || seconds === undefined) return undefined
  return Date.parse(status?.completionTime ?? ended.lastTransitionTime ?? '') + seconds * 1_000
}

interface Counts {
  readonly active: number
  readonly ready: number
  readonly succeeded: number
  readonly failed: number
}

function isOver({ status }: Job): boolean {
  return hasCondition(status?.conditions, 'Complete') || hasCondition(status?.conditions, 'Failed')
}

/** Without a number of completions, one pod that succeeds is enough. */
function isDone({ completions }: Job['spec'], { succeeded }: Counts): boolean {
  return succeeded >= (completions ?? 1)
}

function missingOf({ spec }: Job, counts: Counts): number {
  const parallelism = spec.parallelism ?? 1
  if (isDone(spec, counts)) return 0
  if (spec.completions === undefined) {
    return counts.succeeded > 0 ? 0 : Math.max(0, parallelism - counts.active)
  }
  const open = spec.completions - counts.succeeded
  return Math.max(0, Math.min(parallelism, open) - counts.active)
}

function condition(type: string, now: string): Condition & { readonly lastProbeTime: string } {
  return {
    type,
    status: 'True',
    reason: 'CompletionsReached',
    message: 'Reached expected number of succeeded pods',
    lastProbeTime: now,
    lastTransitionTime: now,
  }
}
