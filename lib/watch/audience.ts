/** Watchers that are sent the same frames: the same keys, the same filter, the same encoding. What a batch means to them, and the
 *  bytes that say so, are worked out once, however many they are. */

import { inRange, type KeyRange } from '../base/keys.ts'
import type { Revision } from '../base/revision.ts'
import type { Batch, Event } from '../store/event.ts'
import type { TermsOf } from '../store/index.ts'
import type { Watcher } from './watcher.ts'

/** What an event becomes: its frame, nothing when the filter leaves it out, or `'inexact'` when it cannot be told exactly. */
export type Framed = Uint8Array | 'inexact' | undefined

/** Terms of which an object must have one to concern an audience. */
export interface RequiredTerms {
  /** Names how terms are read: equal names mean equal `termsOf`. */
  readonly index: string
  readonly termsOf: TermsOf
  readonly terms: readonly string[]
}

export interface Selection {
  /** Equal for all watchers that may share frames, different for all others. */
  readonly id: string
  readonly range: KeyRange
  /** Narrows the events further, so that the others cost these watchers nothing. What it leaves out, `frameOf` must leave out. */
  readonly requires?: RequiredTerms | undefined
  /** Encodes what an event means to this audience. Pure. */
  readonly frameOf: (event: Event, revision: Revision) => Framed
}

export class Audience {
  readonly selection: Selection
  readonly watchers: Set<Watcher> = new Set()
  #batch: Batch | undefined
  #frames: readonly Uint8Array[] | 'inexact' = []

  constructor(selection: Selection) {
    this.selection = selection
  }

  /** The frames of a batch, or `'inexact'` when one of them cannot be made: a batch is sent whole or not at all. The last answer is
   *  kept, since watchers ask for the same batch one after the other. `events` may leave out what is known not to concern us. */
  framesOf(
    batch: Batch,
    events: readonly Event[] = batch.events,
  ): readonly Uint8Array[] | 'inexact' {
    if (this.#batch !== batch) {
      this.#frames = this.#encode(batch, events)
      this.#batch = batch
    }
    return this.#frames
  }

  #encode({ revision }: Batch, events: readonly Event[]): readonly Uint8Array[] | 'inexact' {
    const { range, frameOf } = this.selection
    const frames: Uint8Array[] = []
    for (const event of events) {
      if (!inRange(event.key, range)) continue
      const framed = frameOf(event, revision)
      if (framed === 'inexact') return framed
      if (framed !== undefined) frames.push(framed)
    }
    return frames
  }
}
