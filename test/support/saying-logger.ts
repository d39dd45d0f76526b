/** A logger that keeps what was said. */

import type { LogFields, Logger } from '../../lib/base/logger.ts'

export interface Said {
  readonly level: keyof Logger
  readonly text: string
  readonly fields: LogFields
}

export function sayingLogger(): { readonly logger: Logger; readonly said: Said[] } {
  const said: Said[] = []
  const at =
    (level: keyof Logger) =>
    (text: string, fields: LogFields = {}): void =>
      void said.push({ level, text, fields })
  const logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  return { logger, said }
}
