/** A cache of recent frames, for watchers with other selectors that need the same ones, and for
 *  watchers that catch up, each at its own position. Bounded in bytes; the oldest frames are
 *  dropped first.
 *
 *  The bound is low while all keep up, for frames that live long become garbage of the old
 *  generation. It doubles with each turn in which frames were made for who is behind, and halves
 *  with each other: where 100 watchers were some hundred changes behind, each had nearly every
 *  frame made again for itself, and a server that was asked for more than it carries carried half.
 *
 *  They are kept in two generations: the newer one takes what is made, and becomes the older one
 *  when it is full. One map that is added to and deleted from for ever would make a new table every
 *  so often, and V8 has each table refer to the next: once one has grown old, all that come after
 *  it do, with the frames in them, and only a full collection frees them. */

import type { Event } from '../event.ts'

/** The memory of a kept frame: its bytes and the objects around them. */
function keptBytes(frame: Uint8Array): number {
  return frame.length + 200
}

/** The frames of one event, in the few forms that were needed. */
interface KeptFrames {
  readonly names: string[]
  readonly frames: Uint8Array[]
}

class Generation {
  readonly #byEvent = new Map<Event, KeptFrames>()
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  get(event: Event, name: string): Uint8Array | undefined {
    const kept = this.#byEvent.get(event)
    return kept?.frames[kept.names.indexOf(name)]
  }

  set(event: Event, name: string, frame: Uint8Array): void {
    let kept = this.#byEvent.get(event)
    if (kept === undefined) this.#byEvent.set(event, (kept = { names: [], frames: [] }))
    kept.names.push(name)
    kept.frames.push(frame)
    this.#bytes += keptBytes(frame)
  }
}

/** The limits in bytes, of which at least half is kept. */
export interface FrameLimits {
  /** While all keep up. */
  readonly leastBytes: number
  /** While some are behind. */
  readonly mostBytes: number
}

export class FrameCache {
  readonly #generationLeastBytes: number
  readonly #generationMostBytes: number
  #generationMaxBytes: number
  /** A frame of the newer generation was made for who is behind. */
  #isAnyBehind = false
  #older = new Generation()
  #newer = new Generation()

  constructor({ leastBytes, mostBytes }: FrameLimits) {
    this.#generationLeastBytes = leastBytes / 2
    this.#generationMostBytes = mostBytes / 2
    this.#generationMaxBytes = this.#generationLeastBytes
  }

  get bytes(): number {
    return this.#older.bytes + this.#newer.bytes
  }

  /** The frame of an event in the form of that name, if it is kept. */
  get(event: Event, name: string): Uint8Array | undefined {
    return this.#newer.get(event, name) ?? this.#older.get(event, name)
  }

  /** Keeps the frame of an event, for which none of that name is kept yet. A frame that would push
   *  out many others is not kept. `isBehind`: it was made for a watcher that catches up. */
  set(event: Event, name: string, frame: Uint8Array, isBehind: boolean = false): void {
    const bytes = keptBytes(frame)
    this.#isAnyBehind ||= isBehind
    if (bytes > this.#generationMaxBytes) {
      if (isBehind) this.#grow()
      return
    }
    if (this.#newer.bytes + bytes > this.#generationMaxBytes) this.#turn()
    this.#newer.set(event, name, frame)
  }

  #turn(): void {
    if (this.#isAnyBehind) this.#grow()
    else {
      const half = this.#generationMaxBytes / 2
      this.#generationMaxBytes = Math.max(half, this.#generationLeastBytes)
    }
    this.#isAnyBehind = false
    this.#older = this.#newer
    this.#newer = new Generation()
  }

  #grow(): void {
    this.#generationMaxBytes = Math.min(2 * this.#generationMaxBytes, this.#generationMostBytes)
  }
}
