/** Keeps V8's room for new objects small in a process with little to do.
 *
 *  V8 lets it grow from one megabyte to twice 16 as soon as some objects outlive it, as those of a
 *  start do, and hardly ever takes it back. Buffers that nobody needs live until it is collected,
 *  too: those that etcd's answers came in were there until the start was over, and the allocator
 *  keeps what they took. Together that was 35 to 80 MB of 200 with 10,000 pods.
 *
 *  A small room costs more collections, of half a millisecond each, and each copies what requests
 *  under way hold. So it may grow once collections are frequent for some time. */

import { setFlagsFromString } from 'node:v8'

/** The room may grow after so many collections in this time: they take 3 % of a processor then. A
 *  start with 10,000 pods has half as many. */
const collectionsMax = 300
const periodMs = 5_000

/** V8's own factor. */
const growing = 2
const staying = 1

/** The room does not grow from now on. For the beginning of a process: what it loads and reads at
 *  its start has grown it otherwise. */
export function keepYoungRoom(): void {
  grow(staying)
}

function grow(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`)
}

/** Lets the room grow while it is too small. */
export class YoungRoom {
  readonly #grow: (factor: number) => void
  #factor = staying
  #collections = 0
  #sinceMs = 0

  constructor(setFactor: (factor: number) => void = grow) {
    this.#grow = setFactor
    setFactor(staying)
  }

  /** New objects were collected at this time, in milliseconds of a clock that only rises. */
  collected(atMs: number): void {
    this.#collections++
    const isBusy = this.#collections > collectionsMax
    if (!isBusy && atMs - this.#sinceMs < periodMs) return
    if (isBusy !== (this.#factor === growing)) {
      this.#factor = isBusy ? growing : staying
      this.#grow(this.#factor)
    }
    // Where it is busy, the rest of the period counts anew.
    this.#collections = 0
    this.#sinceMs = atMs
  }

  /** V8 decides again. */
  end(): void {
    this.#grow(growing)
  }
}
