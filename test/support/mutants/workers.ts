/** The processes in which tests run: one that answers no more is ended, and another one takes its
 *  place. */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { patient } from '../patience.ts'
import type { Done, Job } from './worker.ts'

export interface Worker {
  child: ChildProcess | undefined
  /** As many jobs have been done by this process. */
  done: number
}

/** Each mutant leaves modules behind, which Node never lets go. */
const jobsMax = 40

export function newWorker(): Worker {
  return { child: undefined, done: 0 }
}

export async function askWorker(worker: Worker, job: Job, limitMs: number): Promise<Done> {
  if (worker.done >= jobsMax) endWorker(worker)
  const child = (worker.child ??= started())
  worker.done++
  const startMs = performance.now()
  const timer = setTimeout(() => child.kill('SIGKILL'), patient(limitMs))
  const ended = new AbortController()
  const { signal } = ended
  try {
    child.send(job)
    return await Promise.race([
      once(child, 'message', { signal }).then(([done]) => done as Done),
      once(child, 'exit', { signal }).then(() => {
        endWorker(worker)
        const tookMs = Math.round(performance.now() - startMs)
        return { id: job.id, by: job.tests[0], why: 'ends the process', tookMs }
      }),
    ])
  } finally {
    clearTimeout(timer)
    ended.abort()
  }
}

export function endWorker(worker: Worker): void {
  worker.child?.kill('SIGKILL')
  worker.child = undefined
  worker.done = 0
}

function started(): ChildProcess {
  const file = fileURLToPath(new URL('./worker.js', import.meta.url))
  return fork(file, { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
}
