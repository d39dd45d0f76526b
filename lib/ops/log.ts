/** The program's log: one JSON object a line for machines, one short line for people when standard error is a terminal. */

import type { Clock } from '../base/clock.ts'
import type { LogFields, Logger } from '../base/logger.ts'

const levels = ['debug', 'info', 'warn', 'error'] as const

export type LogLevel = (typeof levels)[number]

/** The level of that name, or `undefined`. */
export function findLogLevel(name: string): LogLevel | undefined {
  return levels.find(level => level === name)
}

export interface LogOptions {
  readonly write: (line: string) => void
  readonly clock: Clock
  /** Messages below it are left out. */
  readonly level: LogLevel
  readonly format: 'json' | 'text'
}

/** A logger that writes a line for each message. */
export function createLogger({ write, clock, level, format }: LogOptions): Logger {
  const line = format === 'json' ? jsonLine : textLine
  const at = (own: LogLevel) =>
    levels.indexOf(own) < levels.indexOf(level)
      ? (): void => {}
      : (message: string, fields: LogFields = {}): void => {
          write(line({ time: new Date(clock.wallMs()).toISOString(), level: own, message, fields }))
        }
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

interface LogRecord {
  readonly time: string
  readonly level: LogLevel
  readonly message: string
  readonly fields: LogFields
}

function jsonLine({ time, level, message, fields }: LogRecord): string {
  return `${JSON.stringify({ time, level, message, ...fields })}\n`
}

function textLine({ time, level, message, fields }: LogRecord): string {
  const facts = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${textOf(value)}`)
  return `${time.slice(11, 19)} ${level.padEnd(5)} ${message}${facts.join('')}\n`
}

function textOf(value: LogFields[string]): string {
  const text = String(value)
  return /[\s"=]/.test(text) ? JSON.stringify(text) : text
}
