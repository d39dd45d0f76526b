/** Watchers that get the same frames: they have the same keys, filter and encoding. The frames of a
 *  batch are made once for all of them, however many they are. */

import { inRange, type KeyRange, type Revision } from '@watchglass/base'
import type { Event, KeyValue } from '../event.ts'
import type { TermsOf } from '../index-snapshot.ts'
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
  /** Shards to which the events are narrowed, where no term is required. */
  readonly shards?: RequiredShards | undefined
  /** Encodes an event for this audience. Pure but for what it keeps. */
  readonly frameOf: (event: Event, revision: Revision, need: FrameNeed) => Framed
}

/** The watchers that need a frame: one, as far as is known; several at once; or one that is behind,
 *  with others perhaps at other places. */
export type FrameNeed = 'alone' | 'together' | 'behind'

/** A batch as it concerns an audience. */
export interface Concerned {
  /** Indexes of events, in order. They may leave out what is known not to concern it. */
  readonly indexes: readonly number[]
  /** The watchers that need its frames, all of which have everything before it. */
  readonly need: Exclude<FrameNeed, 'behind'>
}

/** `W` is what a watcher is. */
export class Audience<W> {
  readonly spec: AudienceSpec
  readonly watchers: Set<W> = new Set()
  #event: Event | undefined
  #framed: Framed = undefined
  /** Frames of events asked for before that one: those who catch up are at a few places at a
   *  time. */
  #others: Map<Event, Framed> | undefined

  constructor(spec: AudienceSpec) {
    this.spec = spec
  }

  /** The frame of an event. It is made when somebody comes to it, however many its batch has, and
   *  kept until `forget`, because watchers need the same ones one after the other. */
  frameOf(event: Event, revision: Revision, need: FrameNeed): Framed {
    if (this.#event === event) return this.#framed
    if (this.#others?.has(event) === true) return this.#others.get(event)
    const { range, frameOf } = this.spec
    if (!inRange(event.key, range)) return undefined
    if (this.#event !== undefined) (this.#others ??= new Map()).set(this.#event, this.#framed)
    this.#framed = frameOf(event, revision, need)
    this.#event = event
    return this.#framed
  }

  /** Drops the frames. An audience may get no event for hours, and an event holds values. */
  forget(): void {
    this.#event = undefined
    this.#framed = undefined
    this.#others = undefined
  }
}
