/** Frames that were made lately, for whoever needs the same ones next: watchers with other selections, and those who catch up, each
 *  at a position of its own. Bounded in bytes; the frames of the event that was encoded first go first. */

import type { Event } from '../store/event.ts'

/** What keeping a frame costs beside its bytes. */
const overheadBytes = 200

/** The few forms in which one event was asked for. */
interface KeptFrames {
  readonly names: string[]
  readonly frames: Uint8Array[]
  bytes: number
}

export class FrameCache {
  readonly #maxBytes: number
  readonly #byEvent = new Map<Event, KeptFrames>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /** The frame of an event in the form of that name, if it is kept. */
  get(event: Event, name: string): Uint8Array | undefined {
    const kept = this.#byEvent.get(event)
    return kept?.frames[kept.names.indexOf(name)]
  }

  /** Keeps the frame of an event, for which there is none of that name. */
  set(event: Event, name: string, frame: Uint8Array): void {
    let kept = this.#byEvent.get(event)
    if (kept === undefined) this.#byEvent.set(event, (kept = { names: [], frames: [], bytes: 0 }))
    kept.names.push(name)
    kept.frames.push(frame)
    kept.bytes += frame.length + overheadBytes
    this.#bytes += frame.length + overheadBytes
    for (const [oldest, { bytes }] of this.#byEvent) {
      if (this.#bytes <= this.#maxBytes) return
      this.#byEvent.delete(oldest)
      this.#bytes -= bytes
    }
  }
}
