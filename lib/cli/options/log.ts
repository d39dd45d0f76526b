/** The options of the log. */

import type { LogLevel } from '@watchglass/base'
import type { DefaultedOption } from './option.ts'
import { oneOf } from './rules.ts'

export const logLevelOption: DefaultedOption<LogLevel> = {
  name: 'log-level',
  value: 'LEVEL',
  fallback: 'info',
  help: 'The lowest level to log: debug, info, warn or error. JSON lines on standard error, plain text on a terminal.',
  ...oneOf('debug', 'info', 'warn', 'error'),
}

export const logOptions: readonly DefaultedOption<LogLevel>[] = [logLevelOption]
