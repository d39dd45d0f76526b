/** One consumer of a watch: a position in the history, and an audience that it shares frames with.
 *
 *  ```
 *              caught up                   the sink is full
 *    lagging ─────────────▶ live    live ──────────────────▶ lagging    any ── end() ──▶ ended
 *  ```
 *
 *  A live watcher has been sent everything up to the history's revision, and gets new frames as
 *  they come. A lagging one is behind: it holds only its position, and catches up from the history
 *  when its sink accepts more. */

import { assert } from '../base/assert.ts'
import type { Revision } from '../base/revision.ts'
import type { Batch } from '../store/event.ts'
import type { Audience } from './audience.ts'

/** The sink of a watcher's frames. */
export interface WatcherSink {
  /** Takes a frame. Returns false if it is full now: `Hub.resume` is called when it accepts
   *  more. */
  write(frame: Uint8Array): boolean
  /** The history no longer has the position: no more frames come. */
  expired(oldest: Revision): void
  /** The batch at `revision` cannot be shown exactly: no more frames come. Everything before it was
   *  written, and nothing of it. */
  inexact(revision: Revision): void
}

/** The history that a watcher reads. */
export interface WatchedHistory {
  readonly revision: Revision
  readonly oldest: Revision
  next(revision: Revision): Batch | 'expired' | undefined
}

export type WatcherState = 'lagging' | 'live' | 'ended'

export class Watcher {
  readonly audience: Audience<Watcher>
  readonly #history: WatchedHistory
  readonly #sink: WatcherSink
  #state: WatcherState = 'lagging'
  /** Everything up to here was sent. Of a live watcher it is not kept up: the history's revision is
   *  its position, unless the watcher began beyond it. */
  #position: Revision
  /** Number of frames of the batch above the position that were sent already. */
  #sentOfNext = 0
  #isWaiting = true
  #isHeld = false

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

  /** The sink accepts more, or a batch that could not be shown may be shown now. */
  resume(): void {
    this.#isWaiting = false
    this.#isHeld = false
  }

  /** Writes the frames of the newest batch to a live watcher. */
  deliver(batch: Batch): void {
    if (batch.revision > this.#position) this.#send(batch)
  }

  /** Sends events after the position, up to about `maxEvents` of the history; becomes live when
   *  none are left. */
  catchUp(maxEvents: number): void {
    let passed = 0
    while (this.#state === 'lagging' && passed < maxEvents) {
      const batch = this.#history.next(this.#position)
      if (batch === 'expired') {
        this.expire()
      } else if (batch === undefined) {
        this.#state = 'live'
      } else {
        passed += batch.events.length
        if (!this.#send(batch)) break
        this.#moveTo(batch.revision)
      }
    }
  }

  /** Nothing is written from now on. */
  end(): void {
    this.#state = 'ended'
  }

  /** Tells the sink that its position has expired. */
  expire(): void {
    this.#state = 'ended'
    this.#sink.expired(this.#history.oldest)
  }

  /** Writes the frames of a batch that were not written yet. False if no more can be written for
   *  now, or ever. */
  #send(batch: Batch): boolean {
    const frames = this.audience.framesOf(batch)
    if (frames === 'inexact') {
      this.#state = 'ended'
      this.#sink.inexact(batch.revision)
      return false
    }
    if (frames === 'later') {
      this.#hold(batch)
      return false
    }
    for (let i = this.#sentOfNext; i < frames.length; i++) {
      if (!this.#sink.write(frames[i]!)) {
        this.#pause(batch, i + 1 < frames.length ? i + 1 : 0)
        return false
      }
      // Writing a frame may end the watch.
      if (this.#state === 'ended') return false
    }
    this.#sentOfNext = 0
    return true
  }

  /** Starts to lag before a batch that cannot be shown yet. */
  #hold({ revision }: Batch): void {
    if (this.#state === 'live') this.#moveTo((revision - 1) as Revision)
    this.#state = 'lagging'
    this.#isWaiting = true
    this.#isHeld = true
  }

  /** Starts to lag after `sent` frames of a batch; 0 means all of them. */
  #pause(batch: Batch, sent: number): void {
    if (this.#state !== 'ended') this.#state = 'lagging'
    this.#isWaiting = true
    this.#sentOfNext = sent
    // There is no revision between the batch before and this one, as far as the history is
    // concerned.
    this.#moveTo(sent === 0 ? batch.revision : ((batch.revision - 1) as Revision))
  }

  #moveTo(position: Revision): void {
    assert(position >= this.#position, 'the position of a watcher never goes back')
    this.#position = position
  }
}
