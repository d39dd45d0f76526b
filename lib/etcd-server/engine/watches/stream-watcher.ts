/** One watcher of a stream: what it wants to see, and its position. */

import { inRange, type Key, type KeyRange, type Revision, singleKey } from '@watchglass/base'
import { rangeFromWire } from '../kv.ts'
import {
  type HeaderMessage,
  type WatchCreateMessage,
  type WatchEvent,
  watchFilter,
} from '@watchglass/etcd'
import type { BatchEvents } from './batch-events.ts'
import type { ElsewhereWatch, BatchSource } from './batch-source.ts'

export interface StreamWatcher {
  readonly id: bigint
  readonly request: WatchCreateMessage
  readonly range: KeyRange
  /** Source of its events; none if nothing has all of its keys. */
  readonly source: BatchSource | undefined
  readonly wantsPuts: boolean
  readonly wantsDeletes: boolean
  /** As it was asked for; 0 for now. */
  readonly startRevision: number
  /** No events have been sent since progress was told the last time. */
  isProgressDue: boolean
  /** The next revision that it has not seen; above the source's by more than one when its start
   *  lies in the future. */
  position: Revision
  /** True while there are batches that the watcher has not seen. */
  isBehind: boolean
  /** True once the client was told that the position is compacted. The watcher keeps its id until
   *  it is canceled, and keeps progress from being told. */
  isCompacted: boolean
  /** The stream at etcd that serves the watcher for now. */
  elsewhere: ElsewhereWatch | undefined
  /** Up to here etcd has told it everything, when it is served by etcd; of the last time that it
   *  was asked. */
  provenElsewhere: number
  /** Header of etcd's last response. */
  headerElsewhere: HeaderMessage | undefined
}

/** A watcher that has seen nothing. */
export function createWatcher(
  request: WatchCreateMessage,
  parts: Pick<StreamWatcher, 'id' | 'range' | 'source' | 'startRevision' | 'position' | 'isBehind'>,
): StreamWatcher {
  return {
    ...parts,
    request,
    wantsPuts: !request.filters.includes(watchFilter.noPut),
    wantsDeletes: !request.filters.includes(watchFilter.noDelete),
    isProgressDue: request.progressNotify,
    isCompacted: false,
    elsewhere: undefined,
    provenElsewhere: -1,
    headerElsewhere: undefined,
  }
}

/** The range of a watcher. No key means the smallest one. */
export function watchedRange({ key, rangeEnd }: WatchCreateMessage): KeyRange {
  const start = key === '' ? ('\0' as Key) : key
  return rangeFromWire(start, rangeEnd) ?? singleKey(start)
}

/** The events of a batch that a watcher is told. */
export function eventsFor(
  watcher: StreamWatcher,
  batch: BatchEvents,
  compactRevision: number,
): WatchEvent[] {
  const found: WatchEvent[] = []
  const { events } = batch
  const hasPrevious = isToldPrevious(watcher, batch.revision, compactRevision)
  for (let i = 0; i < events.length; i++) {
    const { key, after } = events[i]!
    const isWanted = after === undefined ? watcher.wantsDeletes : watcher.wantsPuts
    if (!isWanted || !inRange(key, watcher.range)) continue
    found.push(hasPrevious ? batch.withPrevious(i) : batch.plain(i))
  }
  return found
}

/** Whether a watcher is told what was there before: as long as the revision before has not been
 *  compacted. */
export function isToldPrevious(
  { request }: StreamWatcher,
  revision: Revision,
  compactRevision: number,
): boolean {
  return request.previous && revision - 1 >= compactRevision
}
