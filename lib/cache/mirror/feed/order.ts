/** Checks the order of events instead of assuming it. Each watch stream has its own `OrderCheck`,
 *  which sees everything that the stream delivers before it is applied. After a violation the
 *  stream is not trusted any more: wrong data is never served. */

import type { Revision } from '@watchglass/base'
import type { ResponseHeader, RevisionChanges } from '@watchglass/etcd'

/** The guarantee that etcd broke. */
export type ViolationKind =
  | 'revision-went-back' // an event below one that this stream delivered before
  | 'revision-repeated' // a revision in two responses: split, or delivered twice
  | 'event-overtaken' // an event at or below a revision that was complete already
  | 'unknown-delete' // a delete of a key that does not exist: an event was lost
  | 'progress-went-back' // a progress mark below an event of the same stream
  | 'header-below-event' // a response whose header is older than its events
  | 'foreign-revision' // an entry that says it was changed at another revision than its event
  | 'stale-quorum-read' // a linearizable answer behind an earlier one

export interface Violation {
  readonly kind: ViolationKind
  /** The revision that was delivered. */
  readonly got: Revision
  /** The known revision that it contradicts. */
  readonly known: Revision
}

export class OrderCheck {
  /** The last revision of which this stream has delivered an event. */
  #lastEvent: Revision | undefined = undefined

  /** Whether `batch` may follow, when everything up to `progress` has been applied. */
  checkBatch(
    batch: RevisionChanges,
    header: ResponseHeader,
    progress: Revision,
  ): Violation | undefined {
    const got = batch.revision
    const last = this.#lastEvent
    if (last !== undefined && got < last) {
      return { kind: 'revision-went-back', got, known: last }
    }
    if (got === last) return { kind: 'revision-repeated', got, known: last }
    if (got <= progress) return { kind: 'event-overtaken', got, known: progress }
    if (header.revision < got) return { kind: 'header-below-event', got, known: header.revision }
    for (const change of batch.changes) {
      if (change.type === 'put' && change.entry.modRevision !== got) {
        return { kind: 'foreign-revision', got, known: change.entry.modRevision }
      }
    }
    this.#lastEvent = got
    return undefined
  }

  /** Whether a progress mark may follow. One below `progress` but above this stream's events only
   *  means that its member lags. */
  checkProgress(header: ResponseHeader): Violation | undefined {
    if (this.#lastEvent === undefined || header.revision >= this.#lastEvent) return undefined
    return { kind: 'progress-went-back', got: header.revision, known: this.#lastEvent }
  }
}
