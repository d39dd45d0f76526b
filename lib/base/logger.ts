/** The messages of the layers to whoever runs them. Nothing in lib/ prints: a `Logger` is handed
 *  in, and a failure is logged once, where it is handled. Fields never hold secrets or object
 *  bodies. */

export interface Logger {
  debug(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  error(message: string, fields?: LogFields): void
}

/** The levels, the one that says most first. */
export const logLevels = ['debug', 'info', 'warn', 'error'] as const

export type LogLevel = (typeof logLevels)[number]

/** The level of that name, or `undefined`. */
export function findLogLevel(name: string): LogLevel | undefined {
  return logLevels.find(level => level === name)
}

/** A logger whose level can be changed while the program runs. */
export interface LevelledLogger extends Logger {
  /** Messages below it are left out. */
  level: LogLevel
}

/** Facts beside the sentence, by name. */
export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>

/** Says nothing. */
export const silentLogger: Logger = { debug() {}, info() {}, warn() {}, error() {} }
