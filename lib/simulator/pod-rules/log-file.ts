/** A log that a rule names: lines as a container runtime writes them, with their times, or any
 *  other text, whose lines were written when the container was started. */

export interface LogLine {
  /** As the file has it; undefined if it has none. */
  readonly at: string | undefined
  readonly text: string
}

export type LogFile = readonly LogLine[]

const linesMax = 100_000
/** The time, the stream, `F` for a whole line or `P` for a part of one, and the text. */
const runtimeLine =
  /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)) (?:stdout|stderr) ([FP])(?::\S*)? ?(.*)$/

export function logFileOf(text: string): LogFile {
  if (text === '') return []
  const lines = text.replace(/\r?\n$/, '').split(/\r?\n/)
  if (lines.length > linesMax) throw new Error(`it has more than ${String(linesMax)} lines`)
  const found: LogLine[] = []
  let part: LogLine | undefined
  for (const line of lines) {
    const [, at, tag, rest = ''] = runtimeLine.exec(line) ?? []
    if (at === undefined) {
      found.push({ at: undefined, text: line })
      continue
    }
    const whole: LogLine = { at: part?.at ?? at, text: (part?.text ?? '') + rest }
    part = tag === 'P' ? whole : undefined
    if (part === undefined) found.push(whole)
  }
  return part === undefined ? found : [...found, part]
}
