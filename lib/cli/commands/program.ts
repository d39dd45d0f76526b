/** The parts of this program that other threads and processes run. They differ where the program is
 *  one executable file: there is no script to name then. */

import { resolve } from 'node:path'
import { isSea } from 'node:sea'
import { assetText } from '@watchglass/base'

/** The script of a worker: its file, or its text in the one executable file. */
export function workerScript(): URL | string {
  if (isSea()) return assetText('worker.js')
  return new URL('./worker.js', import.meta.url)
}

/** The command line that runs this program again, before its arguments. */
export function ownCommand(): readonly string[] {
  if (isSea()) return [process.execPath]
  return [process.execPath, ...process.execArgv, resolve(process.argv[1] ?? '')]
}
