/** A logger for tests that do not look at what is logged. */

import type { Logger } from '../../lib/base/logger.ts'

/** Says nothing. */
export const silentLogger: Logger = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
}

function ignore(): void {}
