/** Reads what options say from files again, while the program runs: certificates are renewed every few weeks or hours. */

import type { CancelTimer, Clock } from '../base/clock.ts'
import { CacheError } from '../base/errors.ts'
import type { Logger } from '../base/logger.ts'

/** How often files are read. Kubernetes swaps a mounted secret's symbolic link, which file notifications miss. */
const intervalMs = 10_000

export interface Followed<T> {
  /** What the files are for, for the log. */
  readonly what: string
  /** Reads the files. Fails if they are not what they should be. */
  readonly read: () => T
  readonly onChange: (value: T) => void
  readonly clock: Clock
  readonly logger: Logger
}

/** Calls `onChange` whenever the contents have changed. What cannot be used is logged once, and what was there stays in use. */
export function followFiles<T>({ what, read, onChange, clock, logger }: Followed<T>): CancelTimer {
  let known = fingerprint(read())
  let lastFailure = ''
  let cancel: CancelTimer = () => {}
  const look = (): void => {
    try {
      const value = read()
      const now = fingerprint(value)
      if (now !== known) {
        known = now
        onChange(value)
        logger.info(`${what} were renewed`)
      }
      lastFailure = ''
    } catch (error) {
      const reason = CacheError.from(error, 'invalid_request').message
      if (reason !== lastFailure) {
        logger.warn(`the renewed ${what} cannot be used; the old ones stay in use`, { reason })
      }
      lastFailure = reason
    }
    schedule()
  }
  const schedule = (): void => {
    cancel = clock.setTimer(intervalMs, look)
  }
  schedule()
  return () => cancel()
}

/** Buffers are compared by their bytes. */
function fingerprint(value: unknown): string {
  return JSON.stringify(value) ?? ''
}
