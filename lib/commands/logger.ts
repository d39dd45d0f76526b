/** The program's log on standard error. */

import { CacheError } from '../base/errors.ts'
import { findLogLevel, type LevelledLogger } from '../base/logger.ts'
import type { OptionValues } from '../config/option-values.ts'
import { createLogger } from './log.ts'
import { systemClock } from '../ops/system.ts'

/** A logger of the level that the options name: lines for people on a terminal, JSON elsewhere. */
export function createStderrLogger(values: OptionValues): LevelledLogger {
  const name = values.text('log-level') ?? 'info'
  const level = findLogLevel(name)
  if (level === undefined) {
    throw new CacheError(
      'invalid_request',
      `--log-level "${name}" is not debug, info, warn or error`,
    )
  }
  return createLogger({
    write: line => process.stderr.write(line),
    clock: systemClock,
    level,
    format: process.stderr.isTTY ? 'text' : 'json',
  })
}
