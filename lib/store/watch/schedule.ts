/** Items by the time when they are due, in buckets of a tenth of a second. Adding and removing cost
 *  O(1), and a removed item leaves nothing behind, although thousands are removed long before they
 *  are due. */

import { Heap } from '@watchglass/base'

/** The precision of due times. */
const bucketMs = 100
/** Empty buckets are dropped when there are more than this, and they are the majority. */
const emptyMin = 64

export class Schedule<T> {
  readonly #buckets = new Map<number, Set<T>>()
  readonly #numbers = new Heap<number>((a, b) => a - b)
  /** Buckets from which everything was removed. */
  #empty = 0

  /** Adds an item that is due at `atMs`, or up to one bucket later. */
  add(item: T, atMs: number): void {
    const number = bucketOf(atMs)
    const bucket = this.#buckets.get(number)
    if (bucket === undefined) {
      this.#buckets.set(number, new Set([item]))
      this.#numbers.add(number)
      return
    }
    if (bucket.size === 0) this.#empty--
    bucket.add(item)
  }

  /** Removes an item that was added for `atMs`, if it is still there. */
  delete(item: T, atMs: number): void {
    const bucket = this.#buckets.get(bucketOf(atMs))
    if (bucket?.delete(item) !== true || bucket.size > 0) return
    this.#empty++
    // A client says when its watch is due, if it likes in years: it would have a bucket until then.
    if (this.#empty > this.#buckets.size / 2 + emptyMin) this.#dropEmpty()
  }

  /** When the next item is due; undefined if there is none. */
  nextMs(): number | undefined {
    for (let first = this.#numbers.first; first !== undefined; first = this.#numbers.first) {
      const bucket = this.#buckets.get(first)
      if (bucket !== undefined && bucket.size > 0) return first * bucketMs
      this.#drop()
    }
    return undefined
  }

  /** Removes and returns the items that are due, in order. */
  take(nowMs: number): T[] {
    const due: T[] = []
    for (let next = this.nextMs(); next !== undefined && next <= nowMs; next = this.nextMs()) {
      for (const item of this.#drop() ?? []) due.push(item)
    }
    return due
  }

  #drop(): Set<T> | undefined {
    const number = this.#numbers.take()
    if (number === undefined) return undefined
    const bucket = this.#buckets.get(number)
    if (bucket?.size === 0) this.#empty--
    this.#buckets.delete(number)
    return bucket
  }

  #dropEmpty(): void {
    this.#numbers.retain(number => this.#buckets.get(number)?.size !== 0)
    for (const [number, { size }] of this.#buckets) if (size === 0) this.#buckets.delete(number)
    this.#empty = 0
  }
}

function bucketOf(atMs: number): number {
  return Math.ceil(atMs / bucketMs)
}
