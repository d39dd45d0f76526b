/** A thread that lists pods for the first time: it prepares the view of pods as the program does at
 *  its start, and then views them in slices, like a list. It reports how long each step held the
 *  thread. */

import { schemaOf } from '../../lib/codec/schema/schema.ts'
import { readFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { ByteWriter } from '../../lib/base/bytes/byte-writer.ts'
import { NotExact } from '../../lib/base/not-exact.ts'
import { appendView, prepareView } from '../../lib/codec/served/view.ts'
import { storedPods } from './pods.ts'

export interface ColdList {
  readonly stepsMs: readonly number[]
  readonly slicesMs: readonly number[]
}

/** A slice ends after so many pods, or so many milliseconds: code that has not been optimised yet
 *  takes twenty times as long. */
const slicePods = 64
const sliceMs = 4

const { pods } = workerData as { pods: number }
parentPort?.postMessage(coldList(oneSlab(storedPods(Math.min(pods, 500), 1))))

/** Runs a step and answers how long it held the thread: the time in which it ran. What the machine
 *  gave to other programs meanwhile, here or where the collector's helpers were to run, says
 *  nothing about the step. */
function held(step: () => void): number {
  const begin = ranMs()
  step()
  return ranMs() - begin
}

/** The time that this thread has run so far; where the system does not tell, an upper bound. */
function ranMs(): number {
  try {
    return Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')[0]) / 1e6
  } catch {
    return performance.now()
  }
}

function coldList(slab: Slab): ColdList {
  const stepsMs: number[] = []
  const steps = prepareView(schemaOf(), 'v1', 'Pod')
  for (let isDone = false; !isDone;) {
    stepsMs.push(
      held(() => {
        isDone = steps.next().done === true
      }),
    )
  }
  const slicesMs: number[] = []
  const out = new ByteWriter()
  for (let i = 0; i < pods;) {
    slicesMs.push(
      held(() => {
        i = listSlice(slab, out, i)
      }),
    )
  }
  return { stepsMs, slicesMs }
}

/** Views some pods from the one with this index on, and answers where the next slice begins. */
function listSlice(slab: Slab, out: ByteWriter, first: number): number {
  const begin = performance.now()
  const end = Math.min(pods, first + slicePods)
  let i = first
  out.clear()
  for (; i < end && performance.now() - begin < sliceMs; i++) {
    const place = i % slab.ends.length
    const value = {
      bytes: slab.bytes,
      start: slab.ends[place - 1] ?? 0,
      end: slab.ends[place] ?? 0,
    }
    const refused = appendView(out, value, {
      schema: schemaOf(),
      resourceVersion: String(1000 + i),
      isItem: true,
    })
    if (refused instanceof NotExact) throw new Error(refused.reason)
  }
  out.copy()
  return i
}

interface Slab {
  readonly bytes: Uint8Array
  readonly ends: readonly number[]
}

/** Values one after the other in one array, as in a slab. */
function oneSlab(values: readonly Uint8Array[]): Slab {
  let end = 0
  return { bytes: Buffer.concat(values), ends: values.map(value => (end += value.length)) }
}
