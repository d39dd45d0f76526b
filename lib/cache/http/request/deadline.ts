/** The time limit of a request until its response begins: kube-apiserver's, or less if the client
 *  asks for less. */

import { CacheError, type Clock } from '@watchglass/base'
import { requestTimeoutBody } from '@watchglass/kube'
import type { Reply } from './reply.ts'
import type { RequestContext } from './request-context.ts'

/** The default of kube-apiserver's `--request-timeout`. A `timeout` parameter may only be
 *  shorter. */
const requestMaxMs = 60_000

/** The end of a request's time, on the clock's monotonic scale. */
export function endsAtMs({ startMs }: RequestContext, timeoutMs: number | undefined): number {
  return startMs + Math.min(timeoutMs ?? requestMaxMs, requestMaxMs)
}

/** Runs `task` until it is done, the request's time is over, or the client leaves. After the task
 *  has ended in time, the signal is still aborted when the client leaves, but no longer by the time
 *  limit. */
export async function withDeadline<T>(
  context: RequestContext,
  { clock, timeoutMs }: { readonly clock: Clock; readonly timeoutMs: number | undefined },
  task: (signal: AbortSignal) => Promise<T>,
): Promise<T | 'timed out'> {
  const limitMs = Math.min(timeoutMs ?? requestMaxMs, requestMaxMs)
  const tookMs = clock.monotonicMs() - context.startMs
  const limit = new AbortController()
  const giveUp = (): void =>
    limit.abort(new CacheError('closed', 'the time of the request is over'))
  const cancel = clock.setTimer(Math.max(0, limitMs - tookMs), giveUp)
  // Timers may run out a little early.
  const isLate = (): boolean =>
    limit.signal.aborted || clock.monotonicMs() - context.startMs >= limitMs
  try {
    const result = await task(AbortSignal.any([context.signal, limit.signal]))
    if (!isLate()) return result
    giveUp()
    return 'timed out'
  } catch (error) {
    if (isLate() && !context.isOver) return 'timed out'
    throw error
  } finally {
    cancel()
  }
}

/** Said by the server itself, and not by what serves the resource: without its warnings. */
export function refuseLate(reply: Reply): undefined {
  reply.warnings = []
  reply.text(504, requestTimeoutBody, {})
}
