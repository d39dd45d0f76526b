/** The pause before a failed pod of a job is replaced: it doubles with each failure since the last
 *  success. */

import type { PodFact } from '../runtime/facts.ts'
import type { Job } from '../runtime/job.ts'
import { isFailed, isTracked } from './job-view.ts'

/** DefaultJobPodFailureBackOff and MaxJobPodFailureBackOff of upstream's job controller. */
const firstPauseMs = 10_000
const longestPauseMs = 600_000

export interface JobFailures {
  /** Since the last success. */
  readonly count: number
  readonly lastMs: number
}

/** Zero: a pod may be made now. */
export function pauseAfter({ count, lastMs }: JobFailures, nowMs: number): number {
  if (count === 0) return 0
  const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(count - 1, 20), longestPauseMs)
  return Math.max(0, pauseMs - (nowMs - lastMs))
}

interface JobEnds {
  lastSuccessMs: number
  /** Times at which pods have failed, by their uids. */
  readonly failures: Map<string, number>
}

/** The failures of each job that runs. Remembered, since pods that have failed may be deleted
 *  (podBackoffStore of upstream). Bounded by the pods that jobs have had since their last
 *  success, which come the slower the more of them fail. */
export class JobBackoffs {
  readonly #ends = new Map<string, JobEnds>()

  /** The failures of a job, with those of its pods that have ended since. */
  noted(job: Job, pods: Iterable<PodFact>): JobFailures {
    const { uid } = job.metadata
    const ends = this.#ends.get(uid) ?? { lastSuccessMs: -Infinity, failures: new Map() }
    this.#ends.set(uid, ends)
    for (const pod of pods) {
      const finishedMs = pod.job?.finishedMs ?? 0
      if (!isTracked(pod)) continue
      if (pod.phase === 'Succeeded') ends.lastSuccessMs = Math.max(ends.lastSuccessMs, finishedMs)
      else if (isFailed(pod, job)) ends.failures.set(pod.uid, finishedMs)
    }
    for (const [failed, atMs] of ends.failures) {
      if (atMs <= ends.lastSuccessMs) ends.failures.delete(failed)
    }
    return { count: ends.failures.size, lastMs: Math.max(...ends.failures.values()) }
  }

  forget(uid: string): void {
    this.#ends.delete(uid)
  }
}
