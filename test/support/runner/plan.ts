/** Which processes run which test files, and in which order: the slowest first, so that none of
 *  them runs at the end alone. */

import { ownProcess, slowest } from '../../budgets.ts'
import type { Job } from './run-files.ts'
import { ProcessUse } from './test-files.ts'

/** Files that share a process: its start, its modules and what V8 has compiled of them are paid
 *  once, which takes as long as a small file. Few enough that the processes end at about the same
 *  time. */
const slowBatchFiles = 3
/** The same of other files that start processes or threads, and wait for these. */
const startingBatchFiles = 9
/** And of those that do not. */
const quickBatchFiles = 26

/** `node` is the program that runs them. */
export function jobsOf(files: readonly string[], node: string): Job[] {
  const use = new ProcessUse()
  const isTogether = (file: string): boolean => !ownProcess.includes(file)
  const isSlow = (file: string): boolean => slowest.includes(file)
  const singles = files.filter(file => !isTogether(file))
  const others = files.filter(file => isTogether(file) && !isSlow(file))
  const isStarting = (file: string): boolean => use.startsProcesses(file)
  return [
    ...singles.filter(isSlow).map(file => alone(file, node)),
    ...batchesOf(
      files.filter(file => isTogether(file) && isSlow(file)),
      slowBatchFiles,
      node,
    ),
    ...batchesOf(others.filter(isStarting), startingBatchFiles, node),
    ...batchesOf(
      others.filter(file => !isStarting(file)),
      quickBatchFiles,
      node,
    ),
    ...singles.filter(file => !isSlow(file)).map(file => alone(file, node)),
  ]
}

/** Neighbours are apart: files of a folder often wait for the same, and several that wait leave a
 *  processor idle. */
function batchesOf(files: readonly string[], size: number, node: string): Job[] {
  const count = Math.ceil(files.length / size)
  return Array.from({ length: count }, (_, at) => {
    const batch = files.filter((_, i) => i % count === at)
    return { files: batch, command: commandOf(node, batch) }
  })
}

export function alone(file: string, node: string): Job {
  return { files: [file], command: commandOf(node, [file]) }
}

/** Several files share a process. */
export function commandOf(node: string, files: readonly string[]): string[] {
  const program = files.length > 1 ? ['dist/test/support/runner/batch.js'] : []
  const imports = ['late-compiler', 'without-hooks', 'source-lines', 'processor-at-end'].map(
    name => `--import=./dist/test/support/runner/${name}.js`,
  )
  return [node, ...imports, ...program, ...files]
}
