/** The sources of a stream's events: a member of the engine, or parts of a mirror; and etcd itself,
 *  for what the mirror does not have. */

import type { CacheError, KeyRange, Revision } from '@watchglass/base'
import type { Batch } from '@watchglass/store'
import type { HeaderMessage, WatchCreateMessage, WatchResponseMessage } from '@watchglass/etcd'
import type { ResponsePart } from './response-part.ts'

/** Batches of some keys, in order. */
export interface BatchSource {
  /** Up to which revision batches are applied here. */
  readonly revision: Revision
  /** The newest revision that anybody was told of: a watcher of what comes next begins after it. */
  readonly newest: Revision
  readonly compactRevision: number
  /** The first revision whose batch may still be there. */
  readonly oldestBatch: number
  /** True while batches can be sent; otherwise watchers wait, or are served by etcd. */
  readonly isServed: boolean
  /** Nothing new comes for now. Whether etcd itself still has this history is not known. */
  readonly isCutOff: boolean
  /** True if etcd's progress is sound: watchers may be taken over at that. */
  readonly isProgressSound: boolean
  /** Up to which start a watcher is in sync before anything has happened. */
  readonly syncedStart: number
  /** The applied batches from `from` on. */
  batches(from: Revision): Iterable<Batch>
  /** Finds out how far etcd is, so that progress can be told. */
  refresh(): void
}

/** The owner of a stream. */
export interface WatchHome {
  readonly progressOvertakesEvents: boolean
  /** A progress request that cannot be answered yet is answered as soon as it can; etcd drops
   *  it. */
  readonly answersProgressLater: boolean
  header(revision: number): HeaderMessage
  /** The revision in the header of what concerns no source. */
  readonly revision: Revision
  /** The source of all keys of a range, if there is one. */
  sourceOf(range: KeyRange): BatchSource | undefined
  /** Whether a header is of the history that the sources have. If it may not be, they look
   *  again. */
  isSameHistory(header: HeaderMessage | undefined): boolean
  /** Whether the client may watch this. */
  mayWatch(request: WatchCreateMessage): boolean
  /** Serves watchers that no source can serve. */
  readonly elsewhere: ElsewhereStreams | undefined
}

/** Streams at etcd itself, for watchers that no source can serve. */
export interface ElsewhereStreams {
  /** Opens a stream with one watcher. Nothing is delivered before it returns. */
  open(request: WatchCreateMessage, sink: ElsewhereSink): ElsewhereWatch
}

export interface ElsewhereWatch {
  askProgress(): void
  /** Holds back what comes, or lets it come again. */
  pause(): void
  resume(): void
  /** Nothing is delivered after it. */
  close(): void
  /** Size of responses that have come and are held back. */
  readonly heldBytes: number
}

/** The events of a large response that pass as they have come. */
export interface UnreadEvents {
  readonly pieces: readonly Buffer[]
  /** Revision of the last event. */
  readonly lastRevision: Revision
}

export interface ElsewhereSink {
  /** A response with its events, or the first of them. */
  received(response: WatchResponseMessage, rest?: UnreadEvents): void
  /** The stream is over. Comes once, and nothing after it. */
  failed(failure: CacheError): void
}

/** The receiver of a stream's responses. */
export interface WatchConnection {
  /** Takes a response; false when it would rather have no more for now: `resume` is called then,
   *  some time. */
  send(response: WatchResponseMessage): boolean
  /** Like `send`, for a part of a response that is made in steps. Nothing else is sent before its
   *  last part. */
  sendPart(part: ResponsePart): boolean
  /** Like `send`, for progress that may overtake what has been sent before it: an old bug, for
   *  simulations. */
  sendFirst(response: WatchResponseMessage): void
  /** The stream takes requests again, after it has said that it takes none
   *  (`WatcherStream.takesRequests`). */
  readOn?(): void
  /** The stream has been ended from this side. Nothing comes after it. */
  end(failure: CacheError): void
}

/** The room for watchers: of a stream, of its client and in all. */
export interface WatcherRoom {
  /** False if there is no room for one more. */
  take(count: number): boolean
  give(count: number): void
}
