/** The events that a watcher behind the others has missed: as much of it as one response holds. */

import { nextRevision, revision } from '@watchglass/base'
import type { Batch } from '@watchglass/store'
import { changesAtOnce } from '../at-once.ts'
import { responseMaxBytes } from '../fragments.ts'
import { eventLength, type WatchEvent } from '@watchglass/etcd'
import type { BatchSource } from './batch-source.ts'
import type { SharedBatches } from './shared-batches.ts'
import { eventsFor, type StreamWatcher } from './stream-watcher.ts'

/** As many revisions as etcd replays in one response. */
const replayMaxRevisions = 1000

/** As many events are collected: deletes have few bytes. */
const replayMaxEvents = changesAtOnce

/** As many events are looked at before others get their turn. */
const scanMaxEvents = 5000

/** The work of sending an event, beside that of looking at it. */
const sentWork = 4

export interface ReplayedEvents {
  readonly events: WatchEvent[]
  /** Number of events looked at; those that are sent are more work. */
  readonly work: number
  /** The batch that comes next, and is told in steps: the watcher's position is before it. */
  readonly large?: Batch
}

/** The events after the watcher's position, which moves past them. */
export function replay(
  watcher: StreamWatcher,
  source: BatchSource,
  shared: SharedBatches,
): ReplayedEvents {
  const events: WatchEvent[] = []
  let bytes = 0
  let revisions = 0
  let work = 0
  let isFull = false
  for (const batch of source.batches(watcher.position)) {
    if (isFull || batch.revision > source.revision) break
    const told = shared.eventsOf(batch)
    if (told.isLarge) {
      if (work === 0) return { events, work, large: batch }
      isFull = true
      break
    }
    const matching = eventsFor(watcher, told, source.compactRevision)
    if (matching.length > 0) revisions++
    for (const event of matching) {
      events.push(event)
      bytes += eventLength(event)
    }
    watcher.position = nextRevision(batch.revision)
    work += told.events.length + sentWork * matching.length
    isFull = revisions === replayMaxRevisions || bytes >= responseMaxBytes
    isFull ||= events.length >= replayMaxEvents || work >= scanMaxEvents
  }
  // The source may be behind what the watcher has been told.
  if (!isFull) watcher.position = revision(Math.max(watcher.position, source.revision + 1))
  watcher.isBehind = watcher.position <= source.revision
  return { events, work }
}
