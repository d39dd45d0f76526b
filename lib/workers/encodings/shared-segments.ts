/** Encoded objects that all workers share: the side of the main thread, and that of a
 *  thread. */

import { type Clock, repeat } from '@watchglass/base'
import { SegmentLedger } from './ledger.ts'
import type { ToLedger, ToShelf } from './messages.ts'
import { createPlaceOf } from './shared-segment.ts'
import { SegmentShelf } from './shelf.ts'
import { SegmentUsage } from './usage.ts'
import type { WorkerThread, SharedWork } from '../process/worker-thread.ts'
import { ReleasedMemory, segmentsMaxBytes } from '@watchglass/cache'

/** Whole lists and pages are shared. The rest is for what each thread keeps for itself: single
 *  objects, selections, Tables, what is compressed. */
const sharedShare = 3 / 4

const periodMs = 1_000
/** Five minutes, as for what a thread keeps for itself (lib/cache/keepers/segment-keeper.ts). */
const periodsKept = 300
/** The number of segments, of a few tens of kilobytes each. To find the oldest takes a look at all,
 *  which takes a millisecond. */
const slots = 32_768

/** The shared memory that a worker is given at its start. */
export interface SharedUsage {
  readonly memory: SharedArrayBuffer
  readonly maxBytes: number
}

export class SharedSegmentsOfProcess {
  readonly ledger: SegmentLedger

  constructor() {
    const released = new ReleasedMemory()
    this.ledger = new SegmentLedger({
      maxBytes: segmentsMaxBytes * sharedShare,
      slots,
      periodsKept,
      onReleased: bytes => released.add(bytes),
    })
  }

  get usage(): SharedUsage {
    const { memory, maxBytes } = this.ledger.usage
    return { memory, maxBytes }
  }

  /** Lets go of what is not used. Call the returned function to stop. */
  start(clock: Clock): () => void {
    return repeat(clock, periodMs, () => this.ledger.nextPeriod())
  }

  /** A thread has begun. */
  attach(tell: (news: unknown) => void): SharedWork {
    const tellShelf = (message: ToShelf): void => tell(message)
    const detach = this.ledger.attach(tellShelf)
    return { take: news => this.ledger.take(news as ToLedger, tellShelf), end: detach }
  }
}

/** The bytes that a worker may keep for itself. */
export function ownSegmentsMaxBytes(count: number, shares: boolean): number {
  return Math.floor((segmentsMaxBytes * (shares ? 1 - sharedShare : 1)) / count)
}

/** In a worker. */
export function shareSegments(
  thread: WorkerThread,
  { memory, maxBytes }: SharedUsage,
): SegmentShelf {
  const released = new ReleasedMemory()
  const shelf = new SegmentShelf({
    placeOf: createPlaceOf(bytes => thread.slabOf(bytes)),
    usage: new SegmentUsage(memory, maxBytes),
    tell: message => thread.tell({ type: 'work', news: message }),
    soon: task => void setImmediate(task),
    onReleased: bytes => released.add(bytes),
  })
  thread.onWork(news => shelf.take(news as ToShelf))
  return shelf
}
