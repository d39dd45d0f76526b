/** A logger that discards everything. */

import type { Logger } from '../../lib/base/logger.ts'

/** Says nothing. */
export const silentLogger: Logger = {
  debug: ignore,
  info: ignore,
  warn: ignore,
  error: ignore,
}

function ignore(): void {}
