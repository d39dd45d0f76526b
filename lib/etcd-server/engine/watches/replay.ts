/** The events that a watcher behind the others has missed: as much of it as one response holds. */

import { nextRevision, revision } from '@watchglass/base'
import { responseMaxBytes, sizeOfEvent } from '../fragments.ts'
import type { WatchEvent } from '@watchglass/etcd'
import { BatchEvents } from './batch-events.ts'
import type { BatchSource } from './batch-source.ts'
import { eventsFor, type StreamWatcher } from './stream-watcher.ts'

/** As many revisions as etcd replays in one response. */
const replayMaxRevisions = 1000

/** As many batches are looked at before others get their turn. */
const scanMaxBatches = 5000

export interface ReplayedEvents {
  readonly events: WatchEvent[]
  /** Number of batches looked at. */
  readonly batches: number
}

/** The events after the watcher's position, which moves past them. */
export function replay(watcher: StreamWatcher, source: BatchSource): ReplayedEvents {
  const events: WatchEvent[] = []
  let bytes = 0
  let revisions = 0
  let scanned = 0
  for (const batch of source.batches(watcher.position)) {
    if (scanned === scanMaxBatches || revisions === replayMaxRevisions) break
    if (bytes >= responseMaxBytes || batch.revision > source.revision) break
    const matching = eventsFor(watcher, new BatchEvents(batch), source.compactRevision)
    if (matching.length > 0) revisions++
    for (const event of matching) {
      events.push(event)
      bytes += sizeOfEvent(event)
    }
    watcher.position = nextRevision(batch.revision)
    scanned++
  }
  if (revisions < replayMaxRevisions && scanned < scanMaxBatches && bytes < responseMaxBytes) {
    // The source may be behind what the watcher has been told.
    watcher.position = revision(Math.max(watcher.position, source.revision + 1))
  }
  watcher.isBehind = watcher.position <= source.revision
  return { events, batches: scanned }
}
