/** Text for people at the width of their terminal. */

/** The width for files and pipes. */
const widthElsewhere = 100
const narrowest = 60
const widest = 120

/** The columns of a terminal, within reason. */
export function terminalWidth({ isTTY, columns }: Partial<NodeJS.WriteStream>): number {
  if (isTTY !== true || columns === undefined) return widthElsewhere
  return Math.min(widest, Math.max(narrowest, columns))
}

export interface Columns {
  /** The beginning of the right column. */
  readonly indent: number
  readonly width: number
}

/** One row: the left part in its column (on lines of its own when it is too long), the right part
 *  wrapped beside it. */
export function wrapRow(left: string, right: string, { width, indent }: Columns): string[] {
  const lines = wrapCommand(left, { width, indent: 4 })
  const last = lines.pop() ?? ''
  if (last.length >= indent && left !== '') lines.push(last)
  let line = last.length < indent ? last.padEnd(indent) : ' '.repeat(indent)
  for (const word of right.split(' ')) {
    if (line.trim() !== '' && line.length + word.length + 1 > width) {
      lines.push(line.trimEnd())
      line = ' '.repeat(indent)
    }
    line += line === '' || line.endsWith(' ') ? word : ` ${word}`
  }
  return [...lines, line]
}

/** A command line that a shell takes, in as many lines as it needs: each but the last ends with a
 *  backslash. What stands in quotes stays together. */
export function wrapCommand(line: string, { width, indent }: Columns): string[] {
  const lines: string[] = []
  let now: string | undefined
  for (const word of line.split(/ (?=(?:[^']*'[^']*')*[^']*$)/)) {
    if (now === undefined) now = word
    else if (now.trim() === '' || now.length + word.length + 3 <= width) now += ` ${word}`
    else {
      lines.push(`${now} \\`)
      now = ' '.repeat(indent) + word
    }
  }
  return [...lines, now ?? '']
}
