/** Reads something again while the program runs: certificates are renewed every few weeks or hours,
 *  and authorities are rotated. */

import type { CancelTimer, Clock } from './clock.ts'
import { CacheError } from './errors.ts'
import type { Logger } from './logger.ts'
import { repeat } from './timers.ts'

/** The interval at which files are read. Kubernetes swaps a mounted secret's symbolic link, which
 *  file notifications miss. */
const defaultIntervalMs = 10_000

export interface Followed<T> {
  /** Name of the thing that is read, in the plural, for the log. */
  readonly what: string
  /** Value in use. Values are compared as JSON. */
  readonly current: T
  /** Fails if what it reads cannot be used. */
  readonly read: () => T | Promise<T>
  /** Why a value that can be read is of no use now, such as a certificate that has expired. */
  readonly problemOf?: ((value: T) => string | undefined) | undefined
  readonly onChange: (value: T) => void
  readonly everyMs?: number | undefined
  readonly clock: Clock
  readonly logger: Logger
}

/** Calls `onChange` whenever something else is read. What cannot be used is logged once, and what
 *  was there stays in use. A value in use that is of no use any more is logged once, too. */
export function follow<T>(options: Followed<T>): CancelTimer {
  const { what, current, read, onChange, everyMs = defaultIntervalMs, clock, logger } = options
  const { problemOf = () => undefined } = options
  let known = fingerprint(current)
  let lastFailure = ''
  let isStopped = false
  let lastProblem: string | undefined
  const tell = (problem: string | undefined): void => {
    if (problem !== undefined && problem !== lastProblem) logger.error(problem, { what })
    lastProblem = problem
  }
  tell(problemOf(current))
  const look = async (): Promise<void> => {
    try {
      const value = await read()
      if (isStopped) return
      const now = fingerprint(value)
      const problem = problemOf(value)
      if (now === known) tell(problem)
      else if (problem !== undefined) throw new CacheError('invalid_request', problem)
      else {
        known = now
        onChange(value)
        logger.info(`${what} were renewed`)
      }
      lastFailure = ''
    } catch (error) {
      const reason = CacheError.from(error, 'invalid_request').message
      if (reason !== lastFailure && !isStopped) {
        logger.warn(`the renewed ${what} cannot be used; the old ones stay in use`, { reason })
      }
      lastFailure = reason
    }
  }
  const cancel = repeat(clock, everyMs, look)
  return () => {
    isStopped = true
    cancel()
  }
}

/** Buffers are compared by their bytes. */
function fingerprint(value: unknown): string {
  return JSON.stringify(value) ?? ''
}
