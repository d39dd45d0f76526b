/** A cache of recent frames, for watchers with other selectors that need the same ones, and for
 *  watchers that catch up, each at its own position. Bounded in bytes; the oldest frames are
 *  dropped first.
 *
 *  They are kept in two generations: the newer one takes what is made, and becomes the older one
 *  when it is full. One map that is added to and deleted from for ever would make a new table every
 *  so often, and V8 has each table refer to the next: once one has grown old, all that come after
 *  it do, with the frames in them, and only a full collection frees them. */

import type { Event } from '../store/event.ts'

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

export class FrameCache {
  readonly #generationMaxBytes: number
  #older = new Generation()
  #newer = new Generation()

  /** The limit in bytes; at least half as much is kept. */
  constructor(maxBytes: number) {
    this.#generationMaxBytes = maxBytes / 2
  }

  get bytes(): number {
    return this.#older.bytes + this.#newer.bytes
  }

  /** The frame of an event in the form of that name, if it is kept. */
  get(event: Event, name: string): Uint8Array | undefined {
    return this.#newer.get(event, name) ?? this.#older.get(event, name)
  }

  /** Keeps the frame of an event, for which none of that name is kept yet. A frame that would push
   *  out many others is not kept. */
  set(event: Event, name: string, frame: Uint8Array): void {
    const bytes = keptBytes(frame)
    if (bytes > this.#generationMaxBytes) return
    if (this.#newer.bytes + bytes > this.#generationMaxBytes) {
      this.#older = this.#newer
      this.#newer = new Generation()
    }
    this.#newer.set(event, name, frame)
  }
}
