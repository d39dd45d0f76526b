/** The time that a file of tests takes of the processors. It says what a suite costs, also on a
 *  machine that others work on, where seconds of wall time say how busy they are. */

import { readFileSync } from 'node:fs'

/** Milliseconds that this process has had of the processors, and those that it has started, once
 *  they have ended. Where there is no /proc, its own only. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage()
  return Math.round((user + system) / 1000) + endedChildrenMs()
}

/** `cutime` and `cstime` of proc(5), in ticks of a hundredth of a second. The name of the program
 *  comes before them, and may hold anything but is closed by the last parenthesis. */
function endedChildrenMs(): number {
  let stat: string
  try {
    stat = readFileSync('/proc/self/stat', 'utf8')
  } catch {
    return 0
  }
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) * 10
}

/** The comment that tells the runner, which it does not show. */
export function processorComment(): string {
  return `processor=${processorMs()}ms`
}

/** The milliseconds that such a line tells; undefined of any other. */
export function processorMsIn(line: string): number | undefined {
  const [, ms] = /^\s*# processor=(\d+)ms$/.exec(line) ?? []
  return ms === undefined ? undefined : Number(ms)
}
