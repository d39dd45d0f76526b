/** Imported first by the processes of tests: V8 optimizes a function later than otherwise, there
 *  and in the programs that they start. Most tests end soon after it has done so, and that took a
 *  third of their time on the processor. */

import { setFlagsFromString } from 'node:v8'

// Node 22 and newer do not have it.
if (process.versions.v8.startsWith('11.')) {
  const flag = '--interrupt-budget=400000'
  setFlagsFromString(flag)
  process.env['PROGRAM_FLAGS'] ??= flag
}
