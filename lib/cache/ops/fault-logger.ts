/** Mistakes of ours: what no client, etcd or upstream can cause. */

import type { Logger } from '@watchglass/base'

/** Logs each mistake once, with its stack, and counts it. */
export function faultLogger(
  counts: { fault(): void },
  logger: Logger,
  message = 'internal error while handling a request',
): (error: unknown) => void {
  return error => {
    counts.fault()
    const stack = error instanceof Error ? (error.stack ?? error.message) : String(error)
    logger.error(message, { error: stack })
  }
}
