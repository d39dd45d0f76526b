/** Imported first by the processes of tests: V8 optimizes a function later than otherwise. Most tests end soon after it has done so, and
 *  that took a third of their time on the processor. */

import { setFlagsFromString } from 'node:v8'

// Node 22 and newer do not have it.
if (process.versions.v8.startsWith('11.')) setFlagsFromString('--interrupt-budget=400000')
