#!/usr/bin/env node
/** Begins the program. That is a module of its own: a Node that is older than it needs cannot link
 *  it, and would say so by a stack. */

import { oldNodeProblem } from './old-node.ts'

const problem = oldNodeProblem(process.version, process.execPath)
if (problem === undefined) await import('./main.ts')
else {
  process.stderr.write(`watchglass: ${problem}\n`)
  process.exitCode = 1
}
