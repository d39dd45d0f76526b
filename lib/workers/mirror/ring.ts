/** A queue of records in shared memory, from one thread to one other.
 *
 *  ```
 *  words  | tail | head | sleeping | starved |
 *  bytes  | ...free... | length, record | length, record | ...free... |
 *                        head ─▶                      tail ─▶
 *  ```
 *
 *  Tail and head count bytes and wrap at 2^32; only the writer moves the tail, only the reader the
 *  head. A record is never split: one that does not fit before the end begins at the start, and the
 *  rest is skipped. Neither side ever waits for the other: a full queue is told to the writer, an
 *  empty one to the reader, and each leaves a mark by which the other sees that it wants to be
 *  told. */

import { assert } from '@watchglass/base'

const tail = 0
const head = 1
const sleeping = 2
const starved = 3
const headerBytes = 16

const lengthBytes = 4
/** In place of a length: the next record begins at the start. */
const skipped = 0xffff_ffff

/** Memory for a ring with room for `bytes`, which is a power of two. */
export function createRingMemory(bytes: number): SharedArrayBuffer {
  return new SharedArrayBuffer(headerBytes + bytes)
}

class Ring {
  protected readonly words: Int32Array
  /** The queue. */
  readonly bytes: Buffer
  protected readonly mask: number

  constructor(memory: SharedArrayBuffer) {
    this.words = new Int32Array(memory, 0, headerBytes / 4)
    this.bytes = Buffer.from(memory, headerBytes)
    this.mask = this.bytes.length - 1
  }

  protected load(word: number): number {
    return Atomics.load(this.words, word) >>> 0
  }

  protected store(word: number, value: number): void {
    Atomics.store(this.words, word, value | 0)
  }

  /** Takes a mark that the other side has left. */
  protected take(word: number): boolean {
    return Atomics.exchange(this.words, word, 0) === 1
  }
}

export class RingWriter extends Ring {
  #tail = this.load(tail)

  /** The longest record. Even when the queue is empty, a half of it may be lost to the end. */
  get recordMaxBytes(): number {
    return this.bytes.length / 4
  }

  /** Whether a record of that length can be added. If not, the reader says when there is room. */
  hasRoom(length: number): boolean {
    if (this.#fits(length)) return true
    this.store(starved, 1)
    // The reader may have made room before it could see the mark.
    if (!this.#fits(length)) return false
    this.store(starved, 0)
    return true
  }

  /** True if the reader sleeps: it must be woken, once. */
  takeSleeper(): boolean {
    return this.take(sleeping)
  }

  /** True if the reader has not read everything. */
  get isPending(): boolean {
    return this.load(head) !== this.#tail
  }

  /** Changes when the reader reads. */
  get readUpTo(): number {
    return this.load(head)
  }

  #fits(length: number): boolean {
    const used = (this.#tail - this.load(head)) >>> 0
    const needed = sizeOf(length)
    const untilEnd = this.bytes.length - (this.#tail & this.mask)
    return used + needed + (untilEnd < needed ? untilEnd : 0) <= this.bytes.length
  }

  /** Adds a record that there is room for. */
  append(record: Uint8Array): void {
    const needed = sizeOf(record.length)
    const untilEnd = this.bytes.length - (this.#tail & this.mask)
    if (untilEnd < needed) {
      this.bytes.writeUInt32LE(skipped, this.#tail & this.mask)
      this.#tail = (this.#tail + untilEnd) >>> 0
    }
    const at = this.#tail & this.mask
    this.bytes.writeUInt32LE(record.length, at)
    // `set` copies into shared memory byte by byte, ten times as slowly.
    const start = at + lengthBytes
    if (record.length > 0) this.bytes.fill(record, start, start + record.length)
    this.#tail = (this.#tail + needed) >>> 0
    this.store(tail, this.#tail)
  }
}

export class RingReader extends Ring {
  #head = this.load(head)
  #end = 0

  /** The window of the next record in `bytes`; undefined if there is none. It stays readable until
   *  `release`. */
  next(): { readonly start: number; readonly end: number } | undefined {
    if (this.#head === this.load(tail)) return undefined
    let at = this.#head & this.mask
    if (this.bytes.readUInt32LE(at) === skipped) {
      this.#head = (this.#head + this.bytes.length - at) >>> 0
      at = 0
    }
    const length = this.bytes.readUInt32LE(at)
    this.#end = (this.#head + sizeOf(length)) >>> 0
    return { start: at + lengthBytes, end: at + lengthBytes + length }
  }

  /** Frees the record that `next` gave. True if the writer waits for room and there is enough now:
   *  it must be told. */
  release(): boolean {
    const left = (this.load(tail) - this.#end) >>> 0
    assert(left <= this.bytes.length, 'the reader of a ring never passes its writer')
    this.#head = this.#end
    this.store(head, this.#head)
    if (this.load(starved) === 0) return false
    const used = (this.load(tail) - this.#head) >>> 0
    return used <= this.bytes.length / 2 && this.take(starved)
  }

  get isEmpty(): boolean {
    return this.#head === this.load(tail)
  }

  /** Asks to be woken by the next record; false if one has come meanwhile. */
  sleep(): boolean {
    this.store(sleeping, 1)
    if (this.isEmpty) return true
    this.store(sleeping, 0)
    return false
  }
}

/** Lengths lie at multiples of four, so that one always fits before the end. */
function sizeOf(length: number): number {
  return lengthBytes + ((length + 3) & ~3)
}
