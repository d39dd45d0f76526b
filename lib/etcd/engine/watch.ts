/** The watchers of one stream at one member, with etcd's semantics.
 *
 *  A watcher is a position: the next revision that it has not seen. One that has seen everything its member has applied is in sync,
 *  and gets each batch as it is applied; one that is behind reads the history, up to 1,000 revisions a response, until it is in sync.
 *  When the client does not take what is sent, its watchers simply stay behind, and cost nothing. Progress is told only while every
 *  watcher of the stream is in sync, so it can never overtake an event. */

import type { CancelTimer, Clock } from '../../base/clock.ts'
import type { CacheError } from '../../base/errors.ts'
import { inRange, type Key, type KeyRange, singleKey } from '../../base/keys.ts'
import type { Random } from '../../base/random.ts'
import { nextRevision, type Revision, revision } from '../../base/revision.ts'
import type { Batch, Event } from '../../store/event.ts'
import type { WatchEvent } from '../proto/key-value.ts'
import type { HeaderMessage } from '../proto/kv-messages.ts'
import {
  noWatchId,
  type WatchCreateMessage,
  watchFilter,
  type WatchRequestMessage,
  type WatchResponseMessage,
} from '../proto/watch-messages.ts'
import { fragmentsOf, responseMaxBytes, sizeOfEvent } from './fragments.ts'
import { rangeFromWire } from './kv.ts'
import type { Lane } from './scheduler.ts'

/** Where a stream's responses go. */
export interface WatchConnection {
  /** Takes a response; false when it would rather have no more for now: `resume` is called then, some time. */
  send(response: WatchResponseMessage): boolean
  /** Like `send`, for progress that may overtake what has been sent before it: an old bug, for simulations. */
  sendFirst(response: WatchResponseMessage): void
  /** The member has ended the stream. Nothing comes after it. */
  end(failure: CacheError): void
}

/** What a stream needs of its member. */
export interface WatchedMember {
  /** Up to which revision batches are applied here. */
  readonly revision: Revision
  readonly compactRevision: number
  /** The first revision whose batch may still be there. */
  readonly oldestBatch: number
  readonly progressOvertakesEvents: boolean
  header(revision: number): HeaderMessage
  /** The applied batches from `from` on. */
  batches(from: Revision): Iterable<Batch>
}

export interface WatchStreamParts {
  readonly member: WatchedMember
  readonly connection: WatchConnection
  readonly clock: Clock
  readonly random: Random
  readonly progressIntervalMs: number
  /** The client wants the stream to end when the member has lost the leader. */
  readonly requiresLeader: boolean
  /** Where work of the stream waits for its turn. */
  readonly lane: Lane
  /** Called once, when the stream is over. */
  readonly closed: (stream: WatchStream) => void
}

/** As many revisions as etcd replays in one response. */
const replayMaxRevisions = 1000

/** As many batches are looked at before others get their turn. */
const scanMaxBatches = 5000

export class WatchStream {
  readonly #parts: WatchStreamParts
  readonly #watchers = new Map<bigint, Watcher>()
  #nextId = 0n
  #isBlocked = false
  #isClosed = false
  #isCatchUpPosted = false
  #progressTimer: CancelTimer | undefined

  constructor(parts: WatchStreamParts) {
    this.#parts = parts
  }

  get requiresLeader(): boolean {
    return this.#parts.requiresLeader
  }

  /** Takes a request of the client. */
  handle(request: WatchRequestMessage): void {
    if (this.#isClosed) return
    switch (request.type) {
      case 'create':
        this.#create(request.value)
        return
      case 'cancel':
        this.#cancel(request.value.watchId)
        return
      case 'progress':
        this.#answerProgress()
        return
    }
  }

  /** The client takes responses again. */
  resume(): void {
    this.#isBlocked = false
    this.#postCatchUp()
  }

  /** The member has applied a batch. */
  applied(batch: Batch): void {
    const next = nextRevision(batch.revision)
    let isBehind = false
    for (const watcher of this.#watchers.values()) {
      // A watcher in sync expects this revision, or a later one when its start lies in the future.
      if (watcher.isCompacted || watcher.position > batch.revision) continue
      if (watcher.isBehind || this.#isBlocked) {
        watcher.isBehind = true
        isBehind = true
        continue
      }
      watcher.position = next
      const events = this.#eventsFor(watcher, batch)
      if (events.length > 0) this.#sendEvents(watcher, events, batch.revision)
    }
    if (isBehind) this.#postCatchUp()
  }

  /** Ends the stream from the client's side: nothing more is sent. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#watchers.clear()
    this.#progressTimer?.()
    this.#parts.lane.close()
    this.#parts.closed(this)
  }

  /** Ends the stream from the member's side. */
  end(failure: CacheError): void {
    if (this.#isClosed) return
    this.close()
    this.#parts.connection.end(failure)
  }

  #create(request: WatchCreateMessage): void {
    const refusal = this.#refusal(request)
    if (refusal !== undefined) {
      this.#send({ watchId: noWatchId, created: true, canceled: true, cancelReason: refusal })
      return
    }
    const { member } = this.#parts
    const start = Math.min(request.startRevision, Number.MAX_SAFE_INTEGER)
    const isReplay = start > 0 && start <= member.revision
    const watcher: Watcher = {
      id: this.#idFor(request.watchId),
      range: watchedRange(request),
      wantsPuts: !request.filters.includes(watchFilter.noPut),
      wantsDeletes: !request.filters.includes(watchFilter.noDelete),
      wantsPrevious: request.previous,
      takesFragments: request.fragment,
      wantsProgress: request.progressNotify,
      isProgressDue: request.progressNotify,
      startRevision: start,
      position: revision(isReplay ? start : Math.max(start, member.revision + 1)),
      isBehind: isReplay,
      isCompacted: false,
    }
    this.#watchers.set(watcher.id, watcher)
    this.#send({ watchId: watcher.id, created: true })
    if (isReplay) this.#postCatchUp()
    if (watcher.wantsProgress) this.#setProgressTimer()
  }

  /** Why etcd refuses the watcher, if it does. */
  #refusal(request: WatchCreateMessage): string | undefined {
    if (request.startRevision < 0) {
      return 'etcdserver: mvcc: required revision has been compacted'
    }
    const { start, end } = watchedRange(request)
    if (end !== undefined && start >= end) return 'mvcc: watcher range is empty'
    if (request.watchId !== 0n && this.#watchers.has(request.watchId)) {
      return 'mvcc: duplicate watch ID provided on the WatchStream'
    }
    return undefined
  }

  #idFor(wanted: bigint): bigint {
    if (wanted !== 0n) return wanted
    while (this.#watchers.has(this.#nextId)) this.#nextId++
    return this.#nextId++
  }

  #cancel(id: bigint): void {
    if (!this.#watchers.delete(id)) return
    this.#send({ watchId: id, canceled: true })
  }

  #answerProgress(): void {
    const { member, connection } = this.#parts
    if (this.#watchers.size === 0) return
    if (member.progressOvertakesEvents) {
      connection.sendFirst(this.#response({ watchId: noWatchId }, member.revision))
      return
    }
    for (const watcher of this.#watchers.values()) if (!this.#isInSync(watcher)) return
    this.#send({ watchId: noWatchId })
  }

  #isInSync(watcher: Watcher): boolean {
    return (
      !watcher.isBehind &&
      !watcher.isCompacted &&
      !this.#isBlocked &&
      // One whose start lies in the future has nothing to be in sync with, not even when the start is the very next revision
      // (3.4.38, 3.5.22 and later): a progress request after a list is answered once something has happened.
      watcher.startRevision <= this.#parts.member.revision
    )
  }

  #setProgressTimer(): void {
    if (this.#progressTimer !== undefined || this.#isClosed) return
    const { clock, random, progressIntervalMs } = this.#parts
    const delayMs = progressIntervalMs * (1 + random.next() / 10)
    this.#progressTimer = clock.setTimer(delayMs, () => {
      this.#progressTimer = undefined
      this.#sendDueProgress()
    })
  }

  /** Tells each watcher that asked for it, and has had no events since the last time. */
  #sendDueProgress(): void {
    let isWanted = false
    for (const watcher of this.#watchers.values()) {
      if (!watcher.wantsProgress) continue
      isWanted = true
      if (watcher.isProgressDue && this.#isInSync(watcher)) this.#send({ watchId: watcher.id })
      watcher.isProgressDue = true
    }
    if (isWanted) this.#setProgressTimer()
  }

  #postCatchUp(): void {
    if (this.#isCatchUpPosted || this.#isClosed) return
    this.#isCatchUpPosted = true
    this.#parts.lane.post(() => {
      this.#isCatchUpPosted = false
      let isUnfinished = false
      for (const watcher of this.#watchers.values()) {
        if (this.#isBlocked) return
        if (!watcher.isBehind || watcher.isCompacted) continue
        this.#catchUp(watcher)
        if (watcher.isBehind && !watcher.isCompacted) isUnfinished = true
      }
      if (isUnfinished && !this.#isBlocked) this.#postCatchUp()
    })
  }

  /** Sends a watcher that is behind one response with what it has missed, or as much as one response holds. */
  #catchUp(watcher: Watcher): void {
    const { member } = this.#parts
    if (watcher.position < member.compactRevision || watcher.position < member.oldestBatch) {
      watcher.isCompacted = true
      const compactRevision = Math.max(member.compactRevision, member.oldestBatch)
      this.#send({ watchId: watcher.id, canceled: true, compactRevision }, 0)
      return
    }
    const events: WatchEvent[] = []
    let bytes = 0
    let revisions = 0
    let scanned = 0
    for (const batch of member.batches(watcher.position)) {
      if (scanned === scanMaxBatches || revisions === replayMaxRevisions) break
      if (bytes >= responseMaxBytes || batch.revision > member.revision) break
      const matching = this.#eventsFor(watcher, batch)
      if (matching.length > 0) revisions++
      for (const event of matching) {
        events.push(event)
        bytes += sizeOfEvent(event)
      }
      watcher.position = nextRevision(batch.revision)
      scanned++
    }
    if (revisions < replayMaxRevisions && scanned < scanMaxBatches && bytes < responseMaxBytes) {
      watcher.position = nextRevision(member.revision)
    }
    watcher.isBehind = watcher.position <= member.revision
    if (events.length > 0) this.#sendEvents(watcher, events, member.revision)
  }

  #eventsFor(watcher: Watcher, batch: Batch): WatchEvent[] {
    const found: WatchEvent[] = []
    for (const event of batch.events) {
      const isWanted = event.after === undefined ? watcher.wantsDeletes : watcher.wantsPuts
      if (!isWanted || !inRange(event.key, watcher.range)) continue
      found.push({
        key: event.key,
        revision: batch.revision,
        after: event.after,
        previous: watcher.wantsPrevious ? this.#previous(event, batch.revision) : undefined,
      })
    }
    return found
  }

  /** What was there before, as long as the revision before can be read. */
  #previous(event: Event, at: Revision): Event['before'] {
    return at - 1 < this.#parts.member.compactRevision ? undefined : event.before
  }

  #sendEvents(watcher: Watcher, events: WatchEvent[], headerRevision: number): void {
    watcher.isProgressDue = false
    const parts = watcher.takesFragments ? fragmentsOf(events) : [events]
    for (const [i, part] of parts.entries()) {
      const fragment = i < parts.length - 1
      this.#send({ watchId: watcher.id, events: part, fragment }, headerRevision)
    }
  }

  #send(fields: ResponseFields, headerRevision: number = this.#parts.member.revision): void {
    if (!this.#parts.connection.send(this.#response(fields, headerRevision))) this.#isBlocked = true
  }

  #response(fields: ResponseFields, headerRevision: number): WatchResponseMessage {
    return {
      header: this.#parts.member.header(headerRevision),
      watchId: fields.watchId,
      created: fields.created ?? false,
      canceled: fields.canceled ?? false,
      compactRevision: fields.compactRevision ?? 0,
      cancelReason: fields.cancelReason ?? '',
      fragment: fields.fragment ?? false,
      events: fields.events ?? noEvents,
    }
  }
}

interface Watcher {
  readonly id: bigint
  readonly range: KeyRange
  readonly wantsPuts: boolean
  readonly wantsDeletes: boolean
  readonly wantsPrevious: boolean
  readonly takesFragments: boolean
  readonly wantsProgress: boolean
  /** As it was asked for; 0 for now. */
  readonly startRevision: number
  /** No events have been sent since progress was told the last time. */
  isProgressDue: boolean
  /** The next revision that it has not seen; above the member's by more than one when its start lies in the future. */
  position: Revision
  /** There are batches that it has not seen. */
  isBehind: boolean
  /** It has been told that its position is compacted. It keeps its id until it is canceled, and keeps progress from being told. */
  isCompacted: boolean
}

type ResponseFields = { readonly watchId: bigint } & Partial<Omit<WatchResponseMessage, 'header'>>

const noEvents: readonly WatchEvent[] = []

/** The range of a watcher. No key means the smallest one. */
function watchedRange({ key, rangeEnd }: WatchCreateMessage): KeyRange {
  const start = key === '' ? ('\0' as Key) : key
  return rangeFromWire(start, rangeEnd) ?? singleKey(start)
}
