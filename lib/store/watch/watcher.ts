/** One consumer of a watch: a position in the history, and an audience that it shares frames with.
 *
 *  ```
 *              caught up                   the sink is full
 *    lagging ─────────────▶ live    live ──────────────────▶ lagging    any ── end() ──▶ ended
 *  ```
 *
 *  A live watcher has been sent everything up to the history's revision, and gets new frames as
 *  they come. A lagging one is behind: it holds only its position, and catches up from the history
 *  when its sink accepts more. Its position may lie within a batch: a transaction may have changed
 *  more objects than a client takes at once. */

import { assert, type Revision } from '@watchglass/base'
import type { Batch } from '../event.ts'
import type { Audience, Concerned, FrameNeed } from './audience.ts'

/** The sink of a watcher's frames. */
export interface WatcherSink {
  /** Takes a frame. Returns false if it is full now: `Hub.resume` is called when it accepts
   *  more. */
  write(frame: Uint8Array): boolean
  /** The history no longer has the position: no more frames come. */
  expired(oldest: Revision): void
  /** The batch at `revision` cannot be shown exactly: no more frames come. Everything before it was
   *  written; and nothing of it, unless it `isBegun`: then a client that continues from what it
   *  has seen would miss the rest. */
  inexact(revision: Revision, isBegun: boolean): void
}

/** The history that a watcher reads. */
export interface WatchedHistory {
  readonly revision: Revision
  readonly oldest: Revision
  next(revision: Revision): Batch | 'expired' | undefined
}

export type WatcherState = 'lagging' | 'live' | 'ended'

/** Events of a batch that are looked at before the first is sent. A batch of no more is sent whole
 *  or not at all. */
export const lookAheadEvents = 16
/** Frames that are made for that. One of this size may take milliseconds. */
const lookAheadBytes = 256 * 1024

export class Watcher {
  readonly audience: Audience<Watcher>
  readonly #history: WatchedHistory
  readonly #sink: WatcherSink
  #state: WatcherState = 'lagging'
  /** Everything up to here was sent. Of a live watcher it is not kept up: the history's revision is
   *  its position, unless the watcher began beyond it. */
  #position: Revision
  /** Indexes of the events to look at in the batch above the position; undefined: all. */
  #indexes: readonly number[] | undefined = undefined
  /** Number of those that were passed. */
  #passed = 0
  /** A frame of that batch was sent. */
  #isBegun = false
  #isWaiting = true
  #isHeld = false
  #isStanding = false

  /** A watcher that has everything up to `position`. */
  constructor(
    audience: Audience<Watcher>,
    history: WatchedHistory,
    sink: WatcherSink,
    position: Revision,
  ) {
    this.audience = audience
    this.#history = history
    this.#sink = sink
    this.#position = position
  }

  get state(): WatcherState {
    return this.#state
  }

  /** The revision up to which everything was sent. */
  get position(): Revision {
    const { revision } = this.#history
    return this.#state === 'live' && revision > this.#position ? revision : this.#position
  }

  /** Lagging and not catching up, because the sink is full. `resume` ends that. */
  get isWaiting(): boolean {
    return this.#isWaiting
  }

  /** Waiting for a batch that cannot be shown yet. */
  get isHeld(): boolean {
    return this.#isHeld
  }

  /** The sink accepts more, or a batch that could not be shown may be shown now. Not before `go`
   *  where it stands. */
  resume(): boolean {
    if (this.#state !== 'lagging' || !this.#isWaiting || this.#isStanding) return false
    this.#isWaiting = false
    this.#isHeld = false
    return true
  }

  /** Writes the frames of the newest batch to a live watcher. */
  deliver(batch: Batch, { indexes, need }: Concerned): void {
    if (batch.revision <= this.#position) return
    this.#indexes = indexes
    this.#send(batch, indexes.length, need)
  }

  /** Makes a live watcher stand before the newest batch. False if it need not. */
  stand({ revision }: Batch): boolean {
    if (this.#state !== 'live' || revision <= this.#position) return false
    this.#moveTo((revision - 1) as Revision)
    this.#state = 'lagging'
    this.#isWaiting = true
    this.#isStanding = true
    return true
  }

  /** The events of the batch before which it stands that may concern it are known: none, if it is
   *  undefined. */
  go(batch: Batch, indexes: readonly number[] | undefined): void {
    this.#isStanding = false
    if (this.#state === 'ended') return
    if (indexes === undefined) this.#moveTo(batch.revision)
    else if (indexes.length < batch.events.length) this.#indexes = indexes
  }

  /** Passes up to so many events after the position; becomes live when none are left. */
  catchUp(maxEvents: number, need: FrameNeed = 'behind'): void {
    let left = maxEvents
    while (this.#state === 'lagging' && left > 0) {
      const batch = this.#history.next(this.#position)
      if (batch === 'expired') {
        this.expire()
      } else if (batch === undefined) {
        this.#state = 'live'
      } else {
        const before = this.#passed
        const count = this.#indexes?.length ?? batch.events.length
        const end = Math.min(count, before + left)
        if (!this.#send(batch, end, need)) break
        left -= end - before
      }
    }
  }

  /** Nothing is written from now on. */
  end(): void {
    this.#state = 'ended'
    this.#indexes = undefined
  }

  /** Tells the sink that its position has expired. */
  expire(): void {
    this.end()
    this.#sink.expired(this.#history.oldest)
  }

  /** Writes the frames of a batch that were not written yet, up to the event of that number. False
   *  if no more can be written for now, or ever. */
  #send(batch: Batch, end: number, need: FrameNeed): boolean {
    if (this.#passed === 0 && !this.#canBegin(batch, need)) return false
    while (this.#passed < end) {
      const framed = this.#frame(batch, this.#passed, need)
      if (framed === 'inexact' || framed === 'later') return this.#stop(batch, framed)
      this.#passed++
      if (framed === undefined) continue
      this.#isBegun = true
      if (!this.#sink.write(framed)) {
        this.#pause(batch)
        return false
      }
      // Writing a frame may end the watch.
      if (this.#state === 'ended') return false
    }
    if (this.#isPassed(batch)) this.#moveTo(batch.revision)
    return true
  }

  /** Whether the first frames of a batch can all be made. */
  #canBegin(batch: Batch, need: FrameNeed): boolean {
    const count = this.#indexes?.length ?? batch.events.length
    if (count === 1) return true
    let bytes = 0
    for (let i = 0; i < count && i < lookAheadEvents && bytes < lookAheadBytes; i++) {
      const framed = this.#frame(batch, i, need)
      if (framed === 'inexact' || framed === 'later') return this.#stop(batch, framed)
      bytes += framed?.length ?? 0
    }
    return true
  }

  #frame({ events, revision }: Batch, i: number, need: FrameNeed): ReturnType<Frame> {
    const event = events[this.#indexes?.[i] ?? i]
    assert(event !== undefined, 'a batch never changes')
    return this.audience.frameOf(event, revision, need)
  }

  #isPassed({ events }: Batch): boolean {
    return this.#passed === (this.#indexes?.length ?? events.length)
  }

  /** Ends, or starts to wait, before an event that cannot be shown, or not yet. */
  #stop({ revision }: Batch, reason: 'inexact' | 'later'): false {
    if (reason === 'inexact') {
      this.end()
      this.#sink.inexact(revision, this.#isBegun)
    } else {
      this.#lagBefore(revision)
      this.#isHeld = true
    }
    return false
  }

  /** Starts to lag: the sink is full. */
  #pause(batch: Batch): void {
    if (this.#isPassed(batch)) {
      this.#moveTo(batch.revision)
      if (this.#state !== 'ended') this.#state = 'lagging'
      this.#isWaiting = true
    } else this.#lagBefore(batch.revision)
  }

  /** Makes the watcher lag from just before a revision. The history holds no batch between the one
   *  before and this, so any revision in between is as good a position. */
  #lagBefore(revision: Revision): void {
    const before = (revision - 1) as Revision
    if (before > this.#position) this.#position = before
    if (this.#state !== 'ended') this.#state = 'lagging'
    this.#isWaiting = true
  }

  /** Everything up to there was sent. */
  #moveTo(position: Revision): void {
    assert(position >= this.#position, 'the position of a watcher never goes back')
    assert(position <= this.#history.revision, 'nothing is sent that is not applied')
    this.#position = position
    this.#indexes = undefined
    this.#passed = 0
    this.#isBegun = false
  }
}

type Frame = Audience<Watcher>['frameOf']
