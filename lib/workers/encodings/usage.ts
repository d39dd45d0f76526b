/** A table in shared memory: when each segment was used last, and how much is kept. The main thread
 *  writes the period and what is kept; each thread notes what it uses. A note that comes late makes
 *  a segment look older or younger than it is, and nothing else. */

const periodWord = 0
const keptWord = 1
const firstSlotWord = 2
const kibibyte = 1024

export class SegmentUsage {
  readonly memory: SharedArrayBuffer
  readonly maxBytes: number
  readonly #words: Int32Array

  constructor(memory: SharedArrayBuffer, maxBytes: number) {
    this.memory = memory
    this.maxBytes = maxBytes
    this.#words = new Int32Array(memory)
  }

  /** A table of so many slots. */
  static create(slots: number, maxBytes: number): SegmentUsage {
    return new SegmentUsage(new SharedArrayBuffer((firstSlotWord + slots) * 4), maxBytes)
  }

  get slots(): number {
    return this.#words.length - firstSlotWord
  }

  get period(): number {
    return Atomics.load(this.#words, periodWord)
  }

  nextPeriod(): void {
    Atomics.add(this.#words, periodWord, 1)
  }

  use(slot: number): void {
    Atomics.store(this.#words, firstSlotWord + slot, this.period)
  }

  /** The period in which the segment in a slot was used last. */
  usedIn(slot: number): number {
    return Atomics.load(this.#words, firstSlotWord + slot)
  }

  keep(bytes: number): void {
    Atomics.store(this.#words, keptWord, Math.ceil(bytes / kibibyte))
  }

  /** Bytes that may still be kept without letting go of something. What other threads are just
   *  adding is not counted yet. */
  get room(): number {
    return this.maxBytes - Atomics.load(this.#words, keptWord) * kibibyte
  }
}
