/** What falls due when, in buckets of a tenth of a second: adding and removing cost O(1), and an item that was removed leaves nothing
 *  behind, though thousands come and go long before their time. */

import { Heap } from '../base/heap.ts'

/** Nothing here is due more exactly. */
const bucketMs = 100

export class Schedule<T> {
  readonly #buckets = new Map<number, Set<T>>()
  readonly #numbers = new Heap<number>((a, b) => a - b)

  /** Adds an item that falls due at `atMs`, or up to a bucket later. */
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

  /** When something is due next; undefined if nothing is. */
  nextMs(): number | undefined {
    for (let first = this.#numbers.first; first !== undefined; first = this.#numbers.first) {
      const bucket = this.#buckets.get(first)
      if (bucket !== undefined && bucket.size > 0) return first * bucketMs
      this.#drop()
    }
    return undefined
  }

  /** Takes out what is due by now, in order. */
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
