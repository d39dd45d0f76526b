/** The watch of a resource, as a mirror follows it: one long watch, the next one before its end,
 *  and short ones while progress is asked for, merged into one order.
 *
 *  ```
 *  long   ──e1──────────e3───────────e4───▶ ends
 *  long                          from e3 ──e4───────▶
 *  short        from e1 ──e3──B│        B: bookmark two seconds before the end: progress
 *  merged ──e1──────────e3────B──────e4─────────────▶
 *  ```
 *
 *  A Kubernetes API tells progress once a minute only, and not when it is asked for
 *  (kubernetes#127693). A watch that ends in three seconds gets its bookmark at once. */

import {
  CacheError,
  type CancelTimer,
  type Clock,
  LinkedAbort,
  type Random,
  repeat,
  type Revision,
  revision,
} from '@watchglass/base'
import type {
  ResponseHeader,
  RevisionChanges,
  WatchRequest,
  WatchSink,
  WatchStream,
} from '@watchglass/etcd'
import type { Change } from '@watchglass/store'
import type { ApiServer } from '../api/api-server.ts'
import type { FollowedResource } from '../api/followed-resource.ts'
import type { WatchLimits } from './limits.ts'
import type { FollowedEvent } from '../objects/watch-frames.ts'
import { MergedProgress } from './merged-progress.ts'
import { PartWatch } from './part-watch.ts'
import { ShortWatches } from './short-watches.ts'

/** The way in which progress came to be known. */
export type ProgressProof = 'event' | 'bookmark' | 'short-watch'

/** Watches at a time: a long one, the next one, and as many short ones as are open in their three
 *  seconds. A server that is slow, or has to be left alone, does not get more. */
const partsMax = 6
/** A successor that could not begin is tried again after this time, while the one before lives. */
const successorRetryMs = 2000

export interface ResourceWatchOptions {
  readonly server: Pick<ApiServer, 'watch'>
  readonly resource: FollowedResource
  readonly clock: Clock
  readonly random: Random
  readonly limits: WatchLimits
  /** Header of answers, but for the revision. */
  readonly header: () => Promise<Omit<ResponseHeader, 'revision'>>
  readonly onProof: (proof: ProgressProof) => void
  readonly signal: AbortSignal
}

interface Batch extends RevisionChanges {
  readonly changes: Change[]
}

type FollowedChange = Extract<FollowedEvent, { readonly type: 'change' }>

export class ResourceWatch implements WatchStream {
  readonly endpoint = 'upstream'
  readonly #options: ResourceWatchOptions
  readonly #sink: WatchSink
  readonly #abort: LinkedAbort
  readonly #merged: MergedProgress
  readonly #shorts: ShortWatches
  readonly #parts = new Set<PartWatch>()
  #long: PartWatch | undefined = undefined
  /** The next long one, which has not begun. */
  #successor: PartWatch | undefined = undefined
  #header: Omit<ResponseHeader, 'revision'> = { clusterId: 0n, memberId: 0n, raftTerm: 0n }
  #isHeld = false
  #isOver = false
  #heardMs: number
  /** The newest event that the long watch has not brought, and since when. */
  #missed: { readonly revision: Revision; readonly sinceMs: number } | undefined = undefined
  #cancelNext: CancelTimer = () => {}
  readonly #cancelLooking: CancelTimer

  constructor(options: ResourceWatchOptions, request: WatchRequest, sink: WatchSink) {
    const { clock, limits, signal } = options
    this.#options = options
    this.#sink = sink
    this.#abort = new LinkedAbort(signal)
    this.#heardMs = clock.monotonicMs()
    this.#merged = new MergedProgress(revision(Math.max(1, (request.startRevision ?? 1) - 1)))
    this.#shorts = new ShortWatches({ clock, limits, open: () => this.#openShort() })
    this.#cancelLooking = repeat(clock, limits.stuckMs / 2, () => this.#look())
  }

  /** Opens the first long watch. */
  async begin(): Promise<void> {
    try {
      this.#header = await this.#options.header()
      if (!this.#isOver) this.#successor = this.#openLong()
    } catch (error) {
      this.#end(CacheError.from(error, 'source_failed'))
    }
  }

  requestProgress(): void {
    if (!this.#isOver) this.#shorts.ask()
  }

  hold(isHeld: boolean): void {
    this.#isHeld = isHeld
    if (!isHeld) for (const part of this.#parts) part.resume()
  }

  cancel(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#cancelNext()
    this.#cancelLooking()
    this.#shorts.stop()
    for (const part of this.#parts) part.cancel()
    this.#parts.clear()
    this.#abort.abort()
  }

  #openLong(): PartWatch {
    const { watchSeconds, overlapMs } = this.#options.limits
    const { random } = this.#options
    const seconds = watchSeconds + Math.floor(random.next() * watchSeconds)
    this.#openNextIn(Math.max(1000, seconds * 1000 - overlapMs))
    return this.#open(seconds)
  }

  #openNextIn(delayMs: number): void {
    this.#cancelNext()
    this.#cancelNext = this.#options.clock.setTimer(delayMs, () => {
      if (!this.#isOver) this.#successor = this.#openLong()
    })
  }

  #openShort(): void {
    const isFull = this.#parts.size >= partsMax
    if (this.#isOver || this.#long === undefined || isFull) return
    this.#open(this.#options.limits.shortSeconds)
  }

  #open(timeoutSeconds: number): PartWatch {
    const { server, resource, clock } = this.#options
    const part = new PartWatch({
      server,
      resource,
      clock,
      after: this.#merged.position,
      timeoutSeconds,
      signal: this.#abort.signal,
      onStarted: one => this.#started(one),
      onEvents: (one, events) => this.#take(one, events),
      onEnded: (one, failure) => this.#partEnded(one, failure),
    })
    this.#parts.add(part)
    return part
  }

  #started(part: PartWatch): void {
    if (part !== this.#successor) return
    const isFirst = this.#long === undefined
    this.#long = part
    this.#successor = undefined
    this.#heardMs = this.#options.clock.monotonicMs()
    if (isFirst) this.#sink.created(this.#headerAt(this.#merged.position))
  }

  #take(part: PartWatch, events: readonly FollowedEvent[]): boolean {
    const { clock, onProof } = this.#options
    const isLong = part === this.#long
    if (isLong) this.#heardMs = clock.monotonicMs()
    const batches: Batch[] = []
    let proven: Revision | undefined
    let isTorn = false
    for (const event of events) {
      if (event.type === 'bookmark') {
        if (this.#merged.prove(event.revision)) proven = event.revision
      } else if (event.type === 'change') isTorn ||= !this.#add(batches, event)
    }
    const last = batches.at(-1)
    this.#noteLag(isLong ? undefined : last?.revision)
    if (last !== undefined) {
      onProof('event')
      this.#sink.changed(batches, this.#headerAt(last.revision))
    }
    if (proven !== undefined && proven >= (last?.revision ?? 0) && !this.#isOver) {
      this.#shorts.answered()
      onProof(isLong ? 'bookmark' : 'short-watch')
      this.#sink.progress(this.#headerAt(proven))
    }
    if (isTorn) this.#end(new CacheError('expired', 'a revision has come in several parts'))
    return !this.#isHeld
  }

  /** False for a change of a revision that was passed on already, which is taken whole, once. */
  #add(batches: Batch[], { revision: at, change }: FollowedChange): boolean {
    const key = change.type === 'put' ? change.entry.key : change.key
    const novelty = this.#merged.take(at, key)
    if (novelty === 'first') batches.push({ revision: at, changes: [change] })
    if (novelty !== 'further') return true
    const last = batches.at(-1)
    if (last?.revision !== at) return false
    last.changes.push(change)
    return true
  }

  /** Notes what another watch has brought first. Bookmarks say nothing: the long watch gets one in
   *  a minute. */
  #noteLag(brought: Revision | undefined): void {
    const { clock } = this.#options
    const seen = this.#long?.seen ?? 0
    if (this.#missed !== undefined && seen >= this.#missed.revision) this.#missed = undefined
    if (brought === undefined || brought <= seen || this.#missed !== undefined) return
    this.#missed = { revision: brought, sinceMs: clock.monotonicMs() }
  }

  #look(): void {
    const { clock, limits } = this.#options
    const long = this.#long
    if (long === undefined || this.#isOver || this.#isHeld) return
    const nowMs = clock.monotonicMs()
    const isSilent = long.hasMarked && nowMs - this.#heardMs > limits.silentMs
    const isBehind = this.#missed !== undefined && nowMs - this.#missed.sinceMs > limits.stuckMs
    if (!isSilent && !isBehind) return
    const what = isBehind ? 'what another one has brought' : 'anything'
    this.#end(new CacheError('source_failed', `a watch has not brought ${what} for too long`))
  }

  #partEnded(part: PartWatch, failure: CacheError | undefined): void {
    this.#parts.delete(part)
    if (this.#isOver) return
    const isNext = part === this.#successor
    if (isNext) this.#successor = undefined
    const isLong = part === this.#long
    if (!isNext && !isLong) return
    // The other one goes on.
    if (isLong && this.#successor !== undefined) return
    if (isNext && this.#long !== undefined && this.#parts.has(this.#long)) {
      this.#openNextIn(successorRetryMs)
      return
    }
    this.#end(failure ?? new CacheError('source_failed', 'the upstream has ended a watch'))
  }

  #end(failure: CacheError): void {
    if (this.#isOver) return
    this.cancel()
    this.#sink.ended(failure)
  }

  #headerAt(at: Revision): ResponseHeader {
    return { ...this.#header, revision: at }
  }
}
