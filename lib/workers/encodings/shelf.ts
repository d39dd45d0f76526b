/** In a worker: the encoded leaves that all threads share.
 *
 *  What this thread encodes is there at once, and told to the main thread, which passes it on
 *  (ledger.ts). Once all messages have come, the shelves of all threads hold what the ledger holds.
 *  While they are under way two threads may encode the same leaf: then the main thread keeps what
 *  came first. */

import type { Run, Segment, SharedSegments } from '@watchglass/codec'
import type { ToLedger, ToShelf } from './messages.ts'
import { identityOf, type PlaceOf, SharedSegment } from './shared-segment.ts'
import type { SegmentUsage } from './usage.ts'

export interface ShelfOptions {
  readonly placeOf: PlaceOf
  readonly usage: SegmentUsage
  readonly tell: (message: ToLedger) => void
  /** Calls the task a little later. */
  readonly soon: (task: () => void) => void
  /** Called with the bytes that are no longer held here. */
  readonly onReleased: (bytes: number) => void
}

/** A segment, and its slot once the main thread has said it. */
class Held {
  readonly name: string
  /** Undefined once it is not kept any more: leaves may remember it for longer. */
  segment: SharedSegment | undefined
  slot: number | undefined = undefined

  constructor(name: string, segment: SharedSegment) {
    this.name = name
    this.segment = segment
  }
}

/** The segments of so many leaves travel in one message. */
const toldAtOnce = 16

export class SegmentShelf implements SharedSegments {
  readonly #options: ShelfOptions
  /** By name and by the place of the first entry. */
  readonly #held = new Map<string, Map<number, Held>>()
  readonly #bySlot = new Map<number, Held>()
  /** Segments that the main thread has not answered about yet. */
  readonly #own = new Map<number, Held>()
  #made: { readonly id: number; readonly memory: SharedArrayBuffer }[] = []
  #madeName = ''
  #lastId = 0
  #isDue = false

  constructor(options: ShelfOptions) {
    this.#options = options
  }

  get maxBytes(): number {
    return this.#options.usage.maxBytes
  }

  /** Bytes that may still be kept without letting go of something. */
  get room(): number {
    return this.#options.usage.room
  }

  find(name: string, run: Run): Segment | undefined {
    const held = this.#foundLast(name, run) ?? this.#look(name, run)
    if (held?.slot !== undefined) this.#options.usage.use(held.slot)
    return held?.segment
  }

  /** A leaf never changes, so what was made of it once is so for ever: comparing its entries would
   *  be a sixth of a small page. */
  #foundLast(name: string, { leaf }: Run): Held | undefined {
    const held = leaf?.found
    return held instanceof Held && held.name === name && held.segment !== undefined
      ? held
      : undefined
  }

  #look(name: string, { entries, size, leaf }: Run): Held | undefined {
    const { placeOf } = this.#options
    const first = entries[0]
    const place = first === undefined ? undefined : placeOf(first)
    if (place === undefined || size === undefined) return undefined
    const held = this.#held.get(name)?.get(place)
    if (held?.segment?.isOf(entries, size, placeOf) !== true) return undefined
    if (leaf !== undefined) leaf.found = held
    return held
  }

  keep(name: string, { entries, size, leaf }: Run, { ends, bytes }: Segment): Segment | undefined {
    if (size === undefined || size === 0) return undefined
    const identity = identityOf(entries, size, this.#options.placeOf)
    if (identity === undefined) return undefined
    const segment = SharedSegment.write(identity, ends, bytes)
    const held = new Held(name, segment)
    this.#put(held, segment)
    if (leaf !== undefined) leaf.found = held
    const id = ++this.#lastId
    this.#own.set(id, held)
    if (this.#madeName !== name) this.#flush()
    this.#madeName = name
    this.#made.push({ id, memory: segment.memory })
    if (this.#made.length >= toldAtOnce) this.#flush()
    else this.#flushSoon()
    return segment
  }

  /** Tells what was made. */
  #flush(): void {
    if (this.#made.length === 0) return
    this.#options.tell({ type: 'made', name: this.#madeName, segments: this.#made })
    this.#made = []
  }

  /** Takes a message of the main thread. */
  take(message: ToShelf): void {
    switch (message.type) {
      case 'kept':
        for (const { slot, memory } of message.segments) {
          this.#place(new Held(message.name, new SharedSegment(memory)), slot)
        }
        return
      case 'placed':
        for (const { id, slot } of message.segments) this.#placed(id, slot)
        return
      case 'dropped':
        this.#drop(message.slots)
    }
  }

  #placed(id: number, slot: number | undefined): void {
    const held = this.#own.get(id)
    this.#own.delete(id)
    if (held === undefined) return
    if (slot !== undefined) this.#place(held, slot)
    else this.#remove(held)
  }

  #place(held: Held, slot: number): void {
    held.slot = slot
    this.#bySlot.set(slot, held)
    if (held.segment !== undefined) this.#put(held, held.segment)
  }

  /** Replaces a segment: the one before is of other entries, or was made twice. */
  #put(held: Held, { firstPlace }: SharedSegment): void {
    let byPlace = this.#held.get(held.name)
    if (byPlace === undefined) this.#held.set(held.name, (byPlace = new Map()))
    byPlace.set(firstPlace, held)
  }

  #drop(slots: readonly number[]): void {
    for (const slot of slots) {
      const held = this.#bySlot.get(slot)
      this.#bySlot.delete(slot)
      if (held !== undefined) this.#remove(held)
    }
  }

  #remove(held: Held): void {
    const { name, segment } = held
    if (segment === undefined) return
    held.segment = undefined
    this.#options.onReleased(segment.size)
    const byPlace = this.#held.get(name)
    if (byPlace?.get(segment.firstPlace) !== held) return
    byPlace.delete(segment.firstPlace)
    if (byPlace.size === 0) this.#held.delete(name)
  }

  #flushSoon(): void {
    if (this.#isDue) return
    this.#isDue = true
    this.#options.soon(() => {
      this.#isDue = false
      this.#flush()
    })
  }
}
