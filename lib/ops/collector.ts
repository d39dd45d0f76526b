/** How long V8's garbage collector waits between full collections, and how gently it goes about them.
 *
 *  By itself it lets a heap of 50 MB grow by a tenth to a half, and expects to take 3 % of the time so. A history keeps what is new for
 *  a while and then lets go of it, so that most of what grows old is garbage soon after: at 2,000 changes a second there were two full
 *  collections a second, which took a fifth of the processor. What one costs goes with what is alive and not with what is found dead,
 *  so with more room there are fewer at the same price.
 *
 *  Too much room is no good either. What is allocated outside of the heap, which values and frames are, has a limit of its own: 64 MB
 *  after the last collection V8 begins to mark for 5 to 10 ms at every such allocation, and events waited for 100 to 200 ms. So the room
 *  is such that marking has begun before, in steps of less than a millisecond (bench/watch, November 2026). */

import {
  constants,
  type NodeGCPerformanceDetail,
  type PerformanceEntry,
  PerformanceObserver,
} from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'

/** A heap may grow by so much, with what belongs to it outside, or by a tenth if that is more. */
const roomBytes = 128 * 1024 ** 2
const roomMinShare = 0.1
/** But not by more: what is alive may have multiplied since it was last known, and V8 reads the figure of then. */
const roomMaxShare = 2
/** Marking begins when so much of the room is used. */
const markingPercent = 50

/** From now on the collector has room. The answer ends that. */
export function giveCollectorRoom(): () => void {
  setFlagsFromString(`--incremental-marking-hard-trigger=${markingPercent}`)
  giveRoom()
  const observer = new PerformanceObserver(list => {
    if (list.getEntries().some(isFull)) giveRoom()
  })
  observer.observe({ entryTypes: ['gc'] })
  return () => observer.disconnect()
}

/** The percentage by which a heap with so much alive may grow. In a process with little memory the room is small, too. */
export function growthPercent(aliveBytes: number, limitBytes: number): number {
  const share = Math.min(roomBytes, limitBytes / 8) / aliveBytes
  return Math.round(100 * Math.min(Math.max(share, roomMinShare), roomMaxShare))
}

/** V8 reads the flag when a full collection ends: the next one comes when what was alive then has grown so. */
function giveRoom(): void {
  const { used_heap_size: aliveBytes, heap_size_limit: limitBytes } = getHeapStatistics()
  setFlagsFromString(`--heap-growing-percent=${growthPercent(aliveBytes, limitBytes)}`)
}

function isFull(entry: PerformanceEntry): boolean {
  const { detail } = entry as PerformanceEntry & { readonly detail: NodeGCPerformanceDetail }
  return detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR
}
