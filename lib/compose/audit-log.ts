/** The audit log that `--audit-log` asks for. */

import { LineFile, appendTo, appendToStandardOutput } from '../ops/line-file.ts'
import { systemClock } from '../ops/system.ts'

/** Where lines go. */
export interface AuditFile {
  /** Makes the log; `onLost` counts lines that could not be written. */
  readonly open: (onLost: (lines: number) => void) => LineFile
  /** Resolves when everything is written, or lost. */
  flush(): Promise<void>
}

/** Appends to a file, or to standard output for `-`. */
export function auditFile(file: string): AuditFile {
  let lines: LineFile | undefined
  return {
    open(onLost) {
      const append = file === '-' ? appendToStandardOutput(systemClock) : appendTo(file)
      lines = new LineFile({ append, clock: systemClock, onLost })
      return lines
    },
    async flush() {
      await lines?.flush()
    },
  }
}
