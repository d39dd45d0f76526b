/** The program's log on standard error: one JSON object a line for machines, one short line for
 *  people on a terminal. */

import {
  type Clock,
  jsonLine,
  type LevelledLogger,
  type LogFields,
  type LogLevel,
  logLevels,
} from '@watchglass/base'
import { logLevelOption } from '../options/log.ts'
import { valueOf } from '../options/rules.ts'
import type { OptionValues } from '../options/option-values.ts'
import { systemClock } from '@watchglass/cache'

/** A logger of the level that the options name: lines for people on a terminal, JSON elsewhere. */
export function createStderrLogger(values: OptionValues): LevelledLogger {
  const level = valueOf(values, logLevelOption)
  const { stderr } = process
  const logger = createLogger({
    write: boundedWriter(stderr, lines =>
      logger.warn('lines of the log were lost: nobody read standard error', { lines }),
    ),
    clock: systemClock,
    level,
    format: stderr.isTTY ? 'text' : 'json',
  })
  return logger
}

/** The most characters that wait for a reader of the log: some thousand lines. */
const unreadMaxLength = 1024 * 1024

/** Writes lines as long as not too many wait for their reader. Lines beyond are lost; `onLost` is
 *  told how many once there is room again. */
export function boundedWriter(
  stream: Pick<NodeJS.WriteStream, 'write' | 'writableLength'>,
  onLost: (lines: number) => void,
): (line: string) => void {
  let lost = 0
  return line => {
    if (stream.writableLength + line.length > unreadMaxLength) {
      lost++
      return
    }
    const before = lost
    lost = 0
    if (before > 0) onLost(before)
    stream.write(line)
  }
}

export interface LoggerOptions {
  readonly write: (line: string) => void
  readonly clock: Clock
  /** Messages below it are left out; it can be changed. */
  readonly level: LogLevel
  readonly format: 'json' | 'text'
}

/** A logger that writes a line for each message. */
export function createLogger({
  write,
  clock,
  level: first,
  format,
}: LoggerOptions): LevelledLogger {
  const line = format === 'json' ? json : textLine
  let lowest = first
  const at =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      if (logLevels.indexOf(level) < logLevels.indexOf(lowest)) return
      write(line({ time: new Date(clock.wallMs()).toISOString(), level, message, fields }))
    }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    get level() {
      return lowest
    },
    set level(level) {
      lowest = level
    },
  }
}

interface LogRecord {
  readonly time: string
  readonly level: LogLevel
  readonly message: string
  readonly fields: LogFields
}

function json({ time, level, message, fields }: LogRecord): string {
  return `${jsonLine({ time, level, message, ...fields })}\n`
}

function textLine({ time, level, message, fields }: LogRecord): string {
  const facts = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${textOf(value)}`)
  return `${time.slice(11, 19)} ${level.padEnd(5)} ${message}${facts.join('')}\n`
}

function textOf(value: LogFields[string]): string {
  const text = String(value)
  return /[\s"=\p{Cc}]/u.test(text) ? jsonLine(text) : text
}
