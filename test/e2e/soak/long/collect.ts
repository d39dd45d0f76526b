/** Loaded into each program before it starts (`--import`): in every thread, collects garbage now and then and writes down what is left,
 *  for what the heap happens to hold between two collections says nothing about leaks. */

import { appendFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { threadId } from 'node:worker_threads'

/** A line of the file that the variable names. */
export interface HeapSample {
  readonly thread: number
  readonly atMs: number
  readonly bytes: number
  /** Of the whole process. */
  readonly rss: number
}

export const fileVariable = 'SOAK_HEAP_FILE'
/** How often, in milliseconds. */
export const periodVariable = 'SOAK_HEAP_PERIOD'

const file = process.env[fileVariable]
if (file !== undefined) {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  setInterval(() => {
    collect()
    const { heapUsed, external, rss } = process.memoryUsage()
    const bytes = heapUsed + external
    const sample: HeapSample = { thread: threadId, atMs: Date.now(), bytes, rss }
    appendFileSync(file, `${JSON.stringify(sample)}\n`)
  }, Number(process.env[periodVariable])).unref()
}
