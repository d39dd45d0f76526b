/** Sets how often V8's garbage collector makes full collections.
 *
 *  By default V8 lets a heap of 50 MB grow by a tenth to a half, and plans 3 % of the time for
 *  collections. But the history keeps every change for a while and then drops it, so most objects
 *  of the old generation soon become garbage: at 2,000 changes a second there were two full
 *  collections a second, which took a fifth of the processor. The cost of a collection depends on
 *  live objects, not on garbage, so with more room there are fewer collections at the same cost
 *  each.
 *
 *  Too much room is bad, too. Memory outside of the heap, where values and frames are, has its own
 *  limit: 64 MB after the last collection V8 begins to mark for 5 to 10 ms at every such
 *  allocation, and events waited for 100 to 200 ms. So the room is chosen such that marking has
 *  begun before that, in steps of less than a millisecond (bench/watch, November 2026). */

import {
  constants,
  type NodeGCPerformanceDetail,
  type PerformanceEntry,
  PerformanceObserver,
} from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { HeapRoom, roomMostBytes } from './heap-room.ts'
import { YoungRoom } from './young-room.ts'

/** The heap may grow by a tenth if that is more than its room, memory outside of it included. */
const roomMinShare = 0.1
/** The most that it may grow in percent: live memory may have multiplied since V8 last read the
 *  figure. */
const roomMaxShare = 2
/** Marking begins when this share of the room is used. */
const markingPercent = 50

/** Starts to adjust the collector. Call the returned function to stop. Flags are for all threads,
 *  but only collections of this one are seen: with others the room for new objects is V8's. */
export function giveCollectorRoom(hasThreads = false): () => void {
  setFlagsFromString(`--incremental-marking-hard-trigger=${markingPercent}`)
  const room = new HeapRoom()
  giveRoom(room)
  const young = new YoungRoom()
  if (hasThreads) young.end()
  const observer = new PerformanceObserver(list => {
    for (const entry of list.getEntries()) {
      const kind = kindOf(entry)
      if (kind === constants.NODE_PERFORMANCE_GC_MAJOR) {
        room.collected(entry.startTime, getHeapStatistics().used_heap_size)
        giveRoom(room)
      }
      const isMinor = kind === constants.NODE_PERFORMANCE_GC_MINOR
      if (isMinor && !hasThreads) young.collected(entry.startTime)
    }
  })
  observer.observe({ entryTypes: ['gc'] })
  return () => {
    observer.disconnect()
    young.end()
  }
}

/** The percentage by which a heap with this much live memory may grow. In a process with little
 *  memory the room is small, too. */
export function growthPercent(
  aliveBytes: number,
  limitBytes: number,
  roomBytes: number = roomMostBytes,
): number {
  const share = Math.min(roomBytes, limitBytes / 8) / aliveBytes
  return Math.round(100 * Math.min(Math.max(share, roomMinShare), roomMaxShare))
}

/** V8 reads the flag when a full collection ends: the next one comes when the memory that was live
 *  then has grown by that percentage. */
function giveRoom(room: HeapRoom): void {
  const { used_heap_size: aliveBytes, heap_size_limit: limitBytes } = getHeapStatistics()
  setFlagsFromString(`--heap-growing-percent=${growthPercent(aliveBytes, limitBytes, room.bytes)}`)
}

function kindOf(entry: PerformanceEntry): number | undefined {
  return (entry as PerformanceEntry & { readonly detail: NodeGCPerformanceDetail }).detail.kind
}
