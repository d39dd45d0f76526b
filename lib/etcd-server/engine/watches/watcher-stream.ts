/** The watchers of one stream, with etcd's semantics, for both etcd servers.
 *
 *  A watcher is a position: the next revision that it has not seen. One that has seen everything
 *  its source has applied is in sync, and gets each batch as it is applied; one that is behind
 *  reads the history, up to 1,000 revisions a response, until it is in sync. When the client does
 *  not take what is sent, its watchers simply stay behind, and cost nothing. Progress is told only
 *  while every watcher of the stream is in sync, so it can never overtake an event.
 *
 *  A large batch is one response, or the fragments of one, as with etcd, but it is made and sent in
 *  parts, one in a turn: nothing else is sent on the stream before the last of them, and nothing is
 *  made while the client does not take what there is.
 *
 *  A client may ask for more than it takes: 170 KB of creates are 6,000 watchers and as many
 *  responses. While the client does not take them, its requests are not read either
 *  (`takesRequests`), as with etcd; and nothing that a request or a response causes walks through
 *  all watchers.
 *
 *  A mirror's history may begin after a watcher's position, and there may be keys that it does not
 *  have. Such watchers are served by etcd, each on a stream of its own, and taken over as soon as
 *  the history reaches back to their position. */

import {
  type CacheError,
  type CancelTimer,
  type Clock,
  nextRevision,
  type Random,
  revision,
  type Revision,
} from '@watchglass/base'
import type { Batch } from '@watchglass/store'
import { fragmentsOf, headBytesOf } from '../fragments.ts'
import type { Lane } from '../scheduler.ts'
import {
  noWatchId,
  type WatchCreateMessage,
  type WatchEvent,
  type WatchRequestMessage,
  type WatchResponseMessage,
} from '@watchglass/etcd'
import type { BatchEvents } from './batch-events.ts'
import { anotherHistory, ElsewhereWatchers } from './elsewhere-watchers.ts'
import { answerTo, partsOf, passedParts } from './large-response.ts'
import { replay } from './replay.ts'
import type { ResponseParts } from './response-part.ts'
import type { SharedBatches } from './shared-batches.ts'
import { StreamOutput } from './stream-output.ts'
import type {
  BatchSource,
  UnreadEvents,
  WatchConnection,
  WatcherRoom,
  WatchHome,
} from './batch-source.ts'
import { createWatcher, eventsFor, type StreamWatcher, watchedRange } from './stream-watcher.ts'

export interface WatchStreamParts {
  readonly home: WatchHome
  readonly connection: WatchConnection
  readonly clock: Clock
  readonly random: Random
  readonly progressIntervalMs: number
  /** The client wants the stream to end when the leader is lost. */
  readonly requiresLeader: boolean
  /** Batches as all streams share them. */
  readonly shared: SharedBatches
  /** Bounds its watchers; there is no bound if it is left out. */
  readonly room?: WatcherRoom | undefined
  /** Lane in which the stream's work waits for its turn. */
  readonly lane: Lane
  /** Called once, when the stream is over. */
  readonly closed: (stream: WatcherStream) => void
}

/** The bounds of a stream's work for watchers that are behind, before others get their turn: so
 *  many of them, and so many events looked at. */
const catchUpMax = { watchers: 256, work: 5000 }

/** Events of a large batch that are looked through in one step. */
const prepareMaxEvents = 10_000

/** A stream of so many watchers looks through them for progress only every so often, however often
 *  it is asked. */
const manyWatchers = 1000
const progressMinMs = 10

export class WatcherStream {
  readonly #parts: WatchStreamParts
  readonly #watchers = new Map<bigint, StreamWatcher>()
  readonly #elsewhere: ElsewhereWatchers
  readonly #output: StreamOutput
  /** The watchers that have not seen everything. */
  readonly #behind = new Set<StreamWatcher>()
  #nextId = 0n
  #isClosed = false
  #isCatchUpPosted = false
  /** A progress request waits until every watcher is in sync. */
  #isProgressOwed = false
  /** etcd may serve watchers that the history can serve now. */
  #isTakeOverDue = false
  #lookedAtMs = -Infinity
  #cancelLook: CancelTimer | undefined
  #progressTimer: CancelTimer | undefined

  constructor(parts: WatchStreamParts) {
    this.#parts = parts
    this.#output = new StreamOutput(parts.connection)
    this.#elsewhere = new ElsewhereWatchers(parts.home.elsewhere, {
      send: (response, rest) => this.#passOn(response, rest),
      isSameHistory: header => parts.home.isSameHistory(header),
      accepted: () => this.#readOn(),
      canceledAtCreation: watcher => this.#remove(watcher),
      told: watcher => this.#toldElsewhere(watcher),
      failed: failure => this.end(failure),
    })
  }

  get requiresLeader(): boolean {
    return this.#parts.requiresLeader
  }

  /** Whether requests of the client are to be read: not while it takes no responses, and not while
   *  etcd has not accepted a watcher. */
  get takesRequests(): boolean {
    return !this.#output.isBusy && !this.#elsewhere.isAccepting
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
    if (!this.#output.isBusy) return
    this.#output.resume()
    this.#goOn()
  }

  /** Bytes that etcd has sent, and the client does not take: there are none as long as it takes
   *  what is sent. */
  get heldBytes(): number {
    const { isBusy, heldBytes } = this.#output
    return isBusy ? heldBytes + this.#elsewhere.heldBytes : 0
  }

  /** A source has applied a batch. */
  applied(source: BatchSource, batch: BatchEvents): void {
    const next = nextRevision(batch.revision)
    let isBehind = false
    for (const watcher of this.#watchers.values()) {
      // A watcher in sync expects this revision, or a later one when its start lies in the future.
      if (watcher.source !== source || watcher.elsewhere !== undefined) continue
      if (watcher.isCompacted || watcher.position > batch.revision) continue
      if (watcher.isBehind || this.#output.isBusy || !batch.hasTime) {
        // One that was in sync has seen all before this batch, however long ago that was.
        if (!watcher.isBehind) watcher.position = batch.revision
        this.#fallBehind(watcher)
        isBehind = true
        continue
      }
      watcher.position = next
      const events = eventsFor(watcher, batch, source.compactRevision)
      batch.told(events.length)
      if (events.length > 0) this.#sendEvents(watcher, events, batch.revision)
    }
    if (isBehind) this.#postCatchUp()
    if (this.#isProgressOwed) this.#tellOwedProgress()
  }

  /** A source is proven further than its last batch. */
  progressed(): void {
    if (this.#isProgressOwed) this.#tellOwedProgress()
  }

  /** The history of a source has begun anew, after `seenBefore`: whatever comes after that must be
   *  found again. */
  lost(source: BatchSource, seenBefore: Revision): void {
    for (const watcher of this.#watchers.values()) {
      if (watcher.source !== source || watcher.elsewhere !== undefined) continue
      if (!watcher.isBehind) watcher.position = revision(Math.max(watcher.position, seenBefore + 1))
      this.#fallBehind(watcher)
    }
    this.#isTakeOverDue = true
    this.#postCatchUp()
  }

  /** False if all of its watchers have other sources. */
  concerns(source: BatchSource): boolean {
    const all = [...this.#watchers.values()]
    return all.length === 0 || all.some(watcher => (watcher.source ?? source) === source)
  }

  /** A source is served, or is not any more. */
  sourceChanged(source: BatchSource): void {
    if (!source.isServed) return
    this.#elsewhere.askProgress(source)
    this.#isTakeOverDue = true
    this.#postCatchUp()
  }

  /** Ends the stream from the client's side: nothing more is sent. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#output.close()
    this.#elsewhere.close()
    this.#parts.room?.give(this.#watchers.size)
    this.#watchers.clear()
    this.#behind.clear()
    this.#progressTimer?.()
    this.#cancelLook?.()
    this.#parts.lane.close()
    this.#parts.closed(this)
  }

  /** Ends the stream from this side. */
  end(failure: CacheError): void {
    if (this.#isClosed) return
    this.close()
    this.#parts.connection.end(failure)
  }

  #create(request: WatchCreateMessage): void {
    const { home } = this.#parts
    const refusal = this.#refusal(request)
    if (refusal !== undefined) {
      this.#send({ watchId: noWatchId, created: true, canceled: true, cancelReason: refusal })
      return
    }
    const range = watchedRange(request)
    const source = home.sourceOf(range)
    const start = Math.min(request.startRevision, Number.MAX_SAFE_INTEGER)
    const isReplay = start > 0 && source !== undefined && start <= source.revision
    const newest = source?.newest ?? home.revision
    const watcher = createWatcher(request, {
      id: this.#idFor(request.watchId),
      range,
      source,
      startRevision: start,
      position: revision(start > 0 ? start : newest + 1),
      isBehind: isReplay,
    })
    this.#watchers.set(watcher.id, watcher)
    if (isReplay) this.#behind.add(watcher)
    if (request.progressNotify) this.#setProgressTimer()
    if (source?.isServed !== true || start < 0) {
      this.#elsewhere.create(watcher)
      return
    }
    this.#send({ watchId: watcher.id, created: true }, newest)
    if (isReplay) this.#postCatchUp()
  }

  /** Why etcd refuses the watcher, if it does. */
  #refusal(request: WatchCreateMessage): string | undefined {
    if (!this.#parts.home.mayWatch(request)) {
      return 'rpc error: code = PermissionDenied desc = etcdserver: permission denied'
    }
    // Which versions refuse it is for etcd to say, where there is one.
    if (request.startRevision < 0 && this.#parts.home.elsewhere === undefined) {
      return 'etcdserver: mvcc: required revision has been compacted'
    }
    const { start, end } = watchedRange(request)
    if (end !== undefined && start >= end) return 'mvcc: watcher range is empty'
    if (request.watchId !== 0n && this.#watchers.has(request.watchId)) {
      return 'mvcc: duplicate watch ID provided on the WatchStream'
    }
    // etcd has no bound, but words for one.
    if (this.#parts.room?.take(1) === false) return 'etcdserver: too many requests'
    return undefined
  }

  #idFor(wanted: bigint): bigint {
    if (wanted !== 0n) return wanted
    while (this.#watchers.has(this.#nextId)) this.#nextId++
    return this.#nextId++
  }

  #cancel(id: bigint): void {
    const watcher = this.#watchers.get(id)
    if (watcher === undefined) return
    this.#remove(watcher)
    this.#send({ watchId: id, canceled: true })
  }

  #remove(watcher: StreamWatcher): void {
    this.#watchers.delete(watcher.id)
    this.#behind.delete(watcher)
    this.#elsewhere.leave(watcher)
    this.#parts.room?.give(1)
  }

  #fallBehind(watcher: StreamWatcher): void {
    watcher.isBehind = true
    this.#behind.add(watcher)
  }

  /** The client takes more, of the response under way first. */
  #goOn(): void {
    this.#postCatchUp()
    if (this.#output.isBusy) return
    this.#elsewhere.resume()
    this.#isTakeOverDue = true
    this.#readOn()
  }

  #readOn(): void {
    if (this.takesRequests) this.#parts.connection.readOn?.()
  }

  #answerProgress(): void {
    const { home, connection } = this.#parts
    if (this.#watchers.size === 0) return
    if (home.progressOvertakesEvents) {
      connection.sendFirst(this.#response({ watchId: noWatchId }, home.revision))
      return
    }
    if (home.answersProgressLater) {
      this.#elsewhere.askProgress()
      for (const source of this.#sources()) source.refresh()
    }
    this.#isProgressOwed = true
    this.#tellOwedProgress()
  }

  /** Tells it now; or soon, if it has been looked for just now. */
  #tellOwedProgress(): void {
    if (this.#watchers.size > manyWatchers && !this.#mayLook()) return
    this.#tellProgress()
    // A member drops what it cannot answer.
    if (!this.#parts.home.answersProgressLater) this.#isProgressOwed = false
  }

  #mayLook(): boolean {
    const { clock } = this.#parts
    const nowMs = clock.monotonicMs()
    if (nowMs - this.#lookedAtMs >= progressMinMs) {
      this.#lookedAtMs = nowMs
      return true
    }
    this.#cancelLook ??= clock.setTimer(progressMinMs, () => {
      this.#cancelLook = undefined
      if (this.#isProgressOwed) this.#tellOwedProgress()
    })
    return false
  }

  #tellProgress(): void {
    let proven = Infinity
    for (const watcher of this.#watchers.values()) {
      if (!this.#isInSync(watcher)) return
      const { source, elsewhere, provenElsewhere } = watcher
      const own = elsewhere === undefined ? (source?.revision ?? 0) : provenElsewhere
      if (source !== undefined && source.revision < source.newest) return
      proven = Math.min(proven, own)
    }
    this.#isProgressOwed = false
    if (proven === Infinity) return
    for (const watcher of this.#watchers.values()) seen(watcher, proven)
    this.#send({ watchId: noWatchId }, proven)
  }

  #sources(): Set<BatchSource> {
    const sources = new Set<BatchSource>()
    for (const { source } of this.#watchers.values()) if (source !== undefined) sources.add(source)
    return sources
  }

  #isInSync(watcher: StreamWatcher): boolean {
    const { isBehind, isCompacted, source, elsewhere, startRevision } = watcher
    if (isBehind || isCompacted || this.#output.isBusy) return false
    if (elsewhere !== undefined) return source === undefined && watcher.provenElsewhere >= 0
    // One whose start lies in the future has nothing to be in sync with. For etcd that is so even
    // when the start is the very next revision (3.4.38, 3.5.22 and later): a progress request after
    // a list is answered once something has happened.
    return source !== undefined && startRevision <= source.syncedStart
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
      if (!watcher.request.progressNotify) continue
      isWanted = true
      // What etcd serves, etcd tells of its progress.
      const isOurs = watcher.elsewhere === undefined && this.#isInSync(watcher)
      if (watcher.isProgressDue && isOurs) {
        const proven = watcher.source?.revision ?? 0
        seen(watcher, proven)
        this.#send({ watchId: watcher.id }, proven)
        watcher.source?.refresh()
      }
      watcher.isProgressDue = true
    }
    if (isWanted) this.#setProgressTimer()
  }

  #postCatchUp(): void {
    if (this.#isCatchUpPosted || this.#isClosed) return
    this.#isCatchUpPosted = true
    this.#parts.lane.post(() => {
      this.#isCatchUpPosted = false
      if (this.#output.hasPart) this.#sendPart()
      this.#takeOverAll()
      this.#catchUpSome()
      if (this.#isProgressOwed) this.#tellOwedProgress()
    })
  }

  /** Sends a part of the response under way; what follows has its turn later. */
  #sendPart(): void {
    this.#output.sendPart()
    if (this.#output.hasPart) this.#postCatchUp()
    else if (!this.#output.isBusy) this.#goOn()
  }

  #takeOverAll(): void {
    if (!this.#isTakeOverDue || this.#output.isBusy) return
    this.#isTakeOverDue = false
    for (const watcher of this.#elsewhere.watchers()) this.#takeOver(watcher)
  }

  /** Sends watchers that are behind what they have missed, each one response, as long as the client
   *  takes them. */
  #catchUpSome(): void {
    const unfinished: StreamWatcher[] = []
    let watchers = 0
    let work = 0
    let hasTime = true
    for (const watcher of this.#behind) {
      hasTime = watchers < catchUpMax.watchers && work < catchUpMax.work
      if (this.#output.isBusy || !hasTime) break
      if (mayCatchUp(watcher)) {
        work += this.#catchUp(watcher, watcher.source)
        watchers++
        if (mayCatchUp(watcher)) unfinished.push(watcher)
      } else if (waitsForSource(watcher)) continue
      this.#behind.delete(watcher)
    }
    // Whoever is not done comes after all others.
    for (const watcher of unfinished) this.#behind.add(watcher)
    if (!this.#output.isBusy && (!hasTime || unfinished.length > 0)) this.#postCatchUp()
  }

  /** Sends a watcher that is behind one response with what it has missed, or as much as one
   *  response holds. Returns how many events it has looked at. */
  #catchUp(watcher: StreamWatcher, source: BatchSource): number {
    if (watcher.position < source.compactRevision || watcher.position < source.oldestBatch) {
      this.#leaveBehind(watcher, source)
      return 0
    }
    const { events, work, large } = replay(watcher, source, this.#parts.shared)
    if (large !== undefined) return this.#beginLarge(watcher, source, large)
    if (events.length > 0) this.#sendEvents(watcher, events, source.revision)
    return work
  }

  /** Begins to tell a watcher of a large batch, once it has been looked through. Returns how much
   *  work it was, as `#catchUp`. */
  #beginLarge(watcher: StreamWatcher, source: BatchSource, batch: Batch): number {
    const large = this.#parts.shared.largeOf(batch)
    if (!large.prepare(prepareMaxEvents)) return prepareMaxEvents
    watcher.position = nextRevision(batch.revision)
    watcher.isBehind = watcher.position <= source.revision
    // Whoever was in sync is told with this revision by etcd, whatever has happened since.
    const response = this.#response({ watchId: watcher.id }, batch.revision)
    const answer = answerTo(watcher, large, { response, compactRevision: source.compactRevision })
    if (answer !== undefined) {
      watcher.isProgressDue = false
      this.#begin(partsOf(answer))
    }
    return large.runs
  }

  /** The source does not have what comes next: etcd may, or it is compacted. */
  #leaveBehind(watcher: StreamWatcher, source: BatchSource): void {
    if (this.#parts.home.elsewhere !== undefined) {
      this.#elsewhere.replay(watcher)
      return
    }
    watcher.isCompacted = true
    const compactRevision = Math.max(source.compactRevision, source.oldestBatch)
    this.#send({ watchId: watcher.id, canceled: true, compactRevision }, 0)
  }

  #toldElsewhere(watcher: StreamWatcher): void {
    this.#takeOver(watcher)
    if (this.#isProgressOwed) this.#tellOwedProgress()
  }

  /** Serves a watcher again that etcd has served, if the history has what it has not seen. */
  #takeOver(watcher: StreamWatcher): void {
    const { source, position, isCompacted } = watcher
    if (source?.isServed !== true || isCompacted || !this.#elsewhere.isAtRest(watcher)) return
    // etcd has served it since: it may have been restored meanwhile, in the term that it had.
    if (source.isCutOff) return
    if (position < source.compactRevision || position < source.oldestBatch) return
    if (!this.#parts.home.isSameHistory(watcher.headerElsewhere)) {
      this.end(anotherHistory())
      return
    }
    this.#elsewhere.leave(watcher)
    watcher.isBehind = position <= source.revision
    if (!watcher.isBehind) return
    this.#behind.add(watcher)
    this.#postCatchUp()
  }

  #sendEvents(watcher: StreamWatcher, events: WatchEvent[], headerRevision: number): void {
    watcher.isProgressDue = false
    const whole = this.#response({ watchId: watcher.id, events }, headerRevision)
    if (!watcher.request.fragment) {
      this.#sendResponse(whole)
      return
    }
    const parts = fragmentsOf(events, headBytesOf(whole))
    for (const [i, part] of parts.entries()) {
      this.#sendResponse({ ...whole, events: part, fragment: i < parts.length - 1 })
    }
  }

  #send(fields: ResponseFields, headerRevision: number = this.#parts.home.revision): void {
    this.#sendResponse(this.#response(fields, headerRevision))
  }

  /** Sends what etcd has sent. */
  #passOn(response: WatchResponseMessage, rest?: UnreadEvents): void {
    if (rest === undefined) this.#sendResponse(response)
    else this.#begin(passedParts(response, rest.pieces))
  }

  /** Begins a response that is sent in parts, in turns. */
  #begin(parts: ResponseParts): void {
    this.#output.begin(parts)
    this.#elsewhere.pause()
    this.#postCatchUp()
  }

  #sendResponse(response: WatchResponseMessage): void {
    const wasBusy = this.#output.isBusy
    this.#output.send(response)
    if (!wasBusy && this.#output.isBusy) this.#elsewhere.pause()
  }

  #response(fields: ResponseFields, headerRevision: number): WatchResponseMessage {
    return {
      header: this.#parts.home.header(headerRevision),
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

type ResponseFields = { readonly watchId: bigint } & Partial<Omit<WatchResponseMessage, 'header'>>

const noEvents: readonly WatchEvent[] = []

/** A watcher is told that nothing up to a revision is missing: it never asks for less again. */
function seen(watcher: StreamWatcher, proven: number): void {
  if (watcher.position <= proven) watcher.position = revision(proven + 1)
}

function waitsForSource({ isBehind, isCompacted, elsewhere }: StreamWatcher): boolean {
  return isBehind && !isCompacted && elsewhere === undefined
}

function mayCatchUp(
  watcher: StreamWatcher,
): watcher is StreamWatcher & { readonly source: BatchSource } {
  return waitsForSource(watcher) && watcher.source?.isServed === true
}
