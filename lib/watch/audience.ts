/** Watchers that get the same frames: they have the same keys, filter and encoding. The frames of a
 *  batch are made once for all of them, however many they are. */

import { inRange, type KeyRange } from '../base/keys.ts'
import type { Revision } from '../base/revision.ts'
import type { Batch, Event, KeyValue } from '../store/event.ts'
import type { TermsOf } from '../store/index-snapshot.ts'
import type { HighRange } from './shard-places.ts'

/** The result for an event: its frame; undefined if the filter excludes it; `'inexact'` if it
 *  cannot be shown exactly; or `'later'` if it cannot be shown yet: `Hub.resumeHeld` is called when
 *  it can be tried again. */
export type Framed = Uint8Array | 'inexact' | 'later' | undefined

/** Terms of which an object must have one to concern an audience. */
export interface RequiredTerms {
  /** Names how terms are read: equal names mean equal `termsOf`. */
  readonly index: string
  readonly termsOf: TermsOf
  readonly terms: readonly string[]
}

/** Shards of which an object must be in one to concern an audience. */
export interface RequiredShards {
  /** Names how hashes are made: equal names mean equal `highOf`. */
  readonly field: string
  /** The high 32 bits of an object's hash; undefined if they cannot be told. An object keeps them
   *  for life. */
  readonly highOf: (entry: KeyValue) => number | undefined
  readonly ranges: readonly HighRange[]
}

/** Properties that all watchers of one audience share. */
export interface AudienceSpec {
  /** Equal for all watchers that may share frames, different for all others. */
  readonly id: string
  readonly range: KeyRange
  /** Narrows the events, so that others cost these watchers nothing. `frameOf` must also exclude
   *  every event that it excludes. */
  readonly requires?: RequiredTerms | undefined
  /** The same, where no term is required. */
  readonly shards?: RequiredShards | undefined
  /** Encodes an event for this audience. Pure but for what it keeps. */
  readonly frameOf: (event: Event, revision: Revision, need: FrameNeed) => Framed
}

/** Who needs a frame: one watcher, as far as is known; several at once; or one that is behind, with
 *  others perhaps at other places. */
export type FrameNeed = 'alone' | 'together' | 'behind'

/** A batch that concerns an audience. */
export interface Concerned {
  /** May leave out events that are known not to concern it. */
  readonly events: readonly Event[]
  /** Who needs its frames: all of them have everything before it. */
  readonly need: Exclude<FrameNeed, 'behind'>
}

type Frames = readonly Uint8Array[] | 'inexact' | 'later'

const nothing: readonly Uint8Array[] = []

/** `W` is what a watcher is. */
export class Audience<W> {
  readonly spec: AudienceSpec
  readonly watchers: Set<W> = new Set()
  #batch: Batch | undefined
  #frames: Frames = nothing
  /** Frames of batches asked for before that one: those who catch up are at a few places at a
   *  time. */
  #others: Map<Batch, Frames> | undefined

  constructor(spec: AudienceSpec) {
    this.spec = spec
  }

  /** The frames of a batch, or why one of them cannot be made: a batch is sent whole or not at all.
   *  Results are kept until `forget`, because watchers need the same batches one after the
   *  other. */
  framesOf(batch: Batch, concerned?: Concerned): Frames {
    if (this.#batch === batch) return this.#frames
    const known = this.#others?.get(batch)
    if (known !== undefined) return known
    if (this.#batch !== undefined) (this.#others ??= new Map()).set(this.#batch, this.#frames)
    this.#frames = this.#encode(batch, concerned)
    this.#batch = batch
    return this.#frames
  }

  /** Drops the results. An audience may get no event for hours, and a batch holds all contents of
   *  its revision. */
  forget(): void {
    this.#batch = undefined
    this.#frames = nothing
    this.#others = undefined
  }

  #encode({ revision, events }: Batch, concerned: Concerned | undefined): Frames {
    const { range, frameOf } = this.spec
    const need = concerned?.need ?? 'behind'
    const frames: Uint8Array[] = []
    for (const event of concerned?.events ?? events) {
      if (!inRange(event.key, range)) continue
      const framed = frameOf(event, revision, need)
      if (framed === 'inexact' || framed === 'later') return framed
      if (framed !== undefined) frames.push(framed)
    }
    return frames
  }
}
