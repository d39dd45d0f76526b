/** Shows the progress of long work on one line of a terminal, which is rewritten. Writes nothing if
 *  the stream is not a terminal. */

import { systemClock } from '@watchglass/cache'

/** A stream that may be a terminal. */
export interface TerminalStream {
  readonly isTTY?: boolean | undefined
  write(text: string): unknown
}

export interface ProgressLine {
  /** Shows `text` in place of what was shown. */
  show(text: string): void
  /** Clears the line, so that what is printed next begins a clean one. */
  clear(): void
}

/** The shortest interval of updates: faster ones flicker. */
const redrawMs = 100

/** A line on `stream`. */
function createProgressLine(stream: TerminalStream, nowMs: () => number): ProgressLine {
  let shownAtMs = -Infinity
  let isShown = false
  return {
    show(text) {
      if (stream.isTTY !== true || nowMs() - shownAtMs < redrawMs) return
      shownAtMs = nowMs()
      isShown = true
      stream.write(`\r\u001b[K${text}`)
    },
    clear() {
      if (isShown) stream.write('\r\u001b[K')
      isShown = false
      shownAtMs = -Infinity
    },
  }
}

export function progressOnStderr(): ProgressLine {
  return createProgressLine(process.stderr, () => systemClock.monotonicMs())
}
