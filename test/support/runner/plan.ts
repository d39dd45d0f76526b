/** Which processes run which test files, and in which order: the slowest first, so that none of them runs at the end alone, and quick
 *  ones together. */

import { ownProcess, slowest } from '../../budgets.ts'
import type { Job } from './run-files.ts'
import { ProcessUse } from './test-files.ts'

/** Quick files that share a process: enough to save most starts, few enough that the processes end at about the same time. */
const batchFiles = 14
/** The same of files that start processes or threads, and wait for these. */
const startingBatchFiles = 5

/** `node` is the program that runs them. */
export function jobsOf(files: readonly string[], node: string): Job[] {
  const use = new ProcessUse()
  const isSingle = (file: string): boolean => slowest.includes(file) || ownProcess.includes(file)
  const singles = files.filter(isSingle).sort((a, b) => order(a) - order(b))
  const together = files.filter(file => !isSingle(file))
  const starting = together.filter(file => use.startsProcesses(file))
  const quick = together.filter(file => !use.startsProcesses(file))
  return [
    ...singles.map(file => alone(file, node)),
    ...batchesOf(starting, startingBatchFiles, node),
    ...batchesOf(quick, batchFiles, node),
  ]
}

/** Neighbours are apart: files of a folder often wait for the same, and several that wait leave a processor idle. */
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
  const imports = ['late-compiler', 'without-hooks', 'source-lines'].map(
    name => `--import=./dist/test/support/runner/${name}.js`,
  )
  return [node, ...imports, ...program, ...files]
}

/** Where a file stands among the slowest; behind all of them if it is none. */
function order(file: string): number {
  const index = slowest.indexOf(file)
  return index === -1 ? slowest.length : index
}
