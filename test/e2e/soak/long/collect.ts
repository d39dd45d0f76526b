/** Loaded into each program before it starts (`--import`): in every thread, writes down now and then how much memory there is, where it is
 *  asked for right after a collection of garbage, for what the heap happens to hold between two says little about leaks. */

import { appendFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { threadId } from 'node:worker_threads'

/** A line of the file that the variable names. */
export interface HeapSample {
  readonly thread: number
  readonly atMs: number
  readonly bytes: number
}

export const fileVariable = 'SOAK_HEAP_FILE'
/** How often, in milliseconds. */
export const periodVariable = 'SOAK_HEAP_PERIOD'
/** Set where garbage is to be collected each time. */
export const collectVariable = 'SOAK_HEAP_COLLECT'

const file = process.env[fileVariable]
if (file !== undefined) {
  const collects = process.env[collectVariable] !== undefined
  if (collects) setFlagsFromString('--expose-gc')
  const collect = collects ? (runInNewContext('gc') as () => void) : () => undefined
  setInterval(() => {
    collect()
    // What is outside of the heap shows in the size of the process. V8 also counts what has addresses only (lib/ops/released-memory.ts).
    const bytes = process.memoryUsage().heapUsed
    const sample: HeapSample = { thread: threadId, atMs: Date.now(), bytes }
    appendFileSync(file, `${JSON.stringify(sample)}\n`)
  }, Number(process.env[periodVariable])).unref()
}
