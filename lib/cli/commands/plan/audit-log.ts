/** The audit log that `--audit-log` asks for. */

import { CacheError, type Logger } from '@watchglass/base'
import { LineFile, appendTo, appendToStandardOutput } from './line-file.ts'
import { systemClock } from '@watchglass/cache'

/** The file of audit lines. */
export interface AuditFile {
  /** Makes the log; `onLost` counts lines that could not be written. */
  readonly open: (onLost: (lines: number) => void) => LineFile
  /** Resolves when everything is written, or given up after a second. */
  close(): Promise<void>
}

/** Appends to a file, or to standard output for `-`. Fails if the file cannot be written, because
 *  later failures are only counted. */
export async function auditFile(file: string, logger: Logger): Promise<AuditFile> {
  if (file !== '-') await tryToAppend(file)
  let lines: LineFile | undefined
  return {
    open(onLost) {
      const append =
        file === '-' ? appendToStandardOutput(systemClock) : appendTo(file, systemClock)
      lines = new LineFile({ append, clock: systemClock, onLost })
      return lines
    },
    async close() {
      const lost = (await lines?.close()) ?? 0
      if (lost === 0) return
      const place = file === '-' ? 'standard output' : file
      logger.warn('the last events of the audit log were lost: nobody took them', { place, lost })
    },
  }
}

async function tryToAppend(file: string): Promise<void> {
  try {
    await appendTo(file, systemClock)(Buffer.alloc(0), AbortSignal.abort())
  } catch (error) {
    const { message } = CacheError.from(error, 'invalid_request')
    throw new CacheError('invalid_request', `--audit-log cannot be written: ${message}`, {
      cause: error,
    })
  }
}
