/** Loaded into each program before it starts (`--import`): in every thread, writes down now and
 *  then what a collection of garbage has left of the heap, for what the heap happens to hold
 *  between two says little about leaks. */

import { appendFileSync } from 'node:fs'
import { GCProfiler, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { threadId } from 'node:worker_threads'

/** A line of the file that the variable names. */
export interface HeapSample {
  readonly thread: number
  readonly atMs: number
  readonly bytes: number
}

export const fileVariable = 'SOAK_HEAP_FILE'
/** The variable of the period of samples, in milliseconds. */
export const periodVariable = 'SOAK_HEAP_PERIOD'
/** Set where garbage is to be collected each time. Otherwise there is a sample only if V8 has
 *  collected the whole heap by itself. */
export const collectVariable = 'SOAK_HEAP_COLLECT'

const file = process.env[fileVariable]
if (file !== undefined) {
  const left = process.env[collectVariable] === undefined ? leftByItself() : leftWhenForced()
  setInterval(() => {
    const bytes = left()
    if (bytes === undefined) return
    const sample: HeapSample = { thread: threadId, atMs: Date.now(), bytes }
    appendFileSync(file, `${JSON.stringify(sample)}\n`)
  }, Number(process.env[periodVariable])).unref()
}

function leftWhenForced(): () => number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  return () => {
    collect()
    // What is outside of the heap shows in the size of the process. V8 also counts what has
    // addresses only (lib/cache/ops/released-memory.ts).
    return process.memoryUsage().heapUsed
  }
}

function leftByItself(): () => number | undefined {
  const profiler = new GCProfiler()
  profiler.start()
  return () => {
    const { statistics } = profiler.stop()
    profiler.start()
    const last = statistics.findLast(({ gcType }) => gcType === 'MarkSweepCompact')
    return last?.afterGC.heapStatistics.usedHeapSize
  }
}
