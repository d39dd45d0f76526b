/** Items by the time when they are due, in buckets of a tenth of a second. Adding and removing cost
 *  O(1), and a removed item leaves nothing behind, although thousands are removed long before they
 *  are due. */

import { Heap } from '../base/heap.ts'

/** The precision of due times. */
const bucketMs = 100

export class Schedule<T> {
  readonly #buckets = new Map<number, Set<T>>()
  readonly #numbers = new Heap<number>((a, b) => a - b)

  /** Adds an item that is due at `atMs`, or up to one bucket later. */
  add(item: T, atMs: number): void {
    const number = bucketOf(atMs)
    const bucket = this.#buckets.get(number)
    if (bucket !== undefined) bucket.add(item)
    else {
      this.#buckets.set(number, new Set([item]))
      this.#numbers.add(number)
    }
  }

  /** Removes an item that was added for `atMs`, if it is still there. */
  delete(item: T, atMs: number): void {
    this.#buckets.get(bucketOf(atMs))?.delete(item)
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
    this.#buckets.delete(number)
    return bucket
  }
}

function bucketOf(atMs: number): number {
  return Math.ceil(atMs / bucketMs)
}
